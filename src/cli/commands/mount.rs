//! `mount`: snapshots as a read-only file system.

use std::ffi::OsString;
#[cfg(all(target_os = "linux", feature = "mount"))]
use std::path::Path;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, Unlock, some_path, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
#[cfg(all(target_os = "linux", feature = "mount"))]
use crate::cli::exit_code::ExitCode;
use crate::cli::exit_code::Status;
#[cfg(all(target_os = "linux", feature = "mount"))]
use crate::cli::identity_arg::identities;
#[cfg(all(target_os = "linux", feature = "mount"))]
use crate::cli::mount;
#[cfg(not(all(target_os = "linux", feature = "mount")))]
use crate::features::{Feature, NotBuilt};
#[cfg(all(target_os = "linux", feature = "mount"))]
use crate::recovery::BrowseRequest;

/// Show snapshots as a read-only directory
#[derive(Clone, Debug, Args)]
pub struct MountArgs {
    /// An empty directory, outside of all directories that sessions protect
    #[arg(value_name = "DIR", value_parser = some_path(), value_hint = ValueHint::DirPath)]
    pub directory: OsString,
    /// Only this session: an id or its prefix, a name, a workspace, a container, or @latest or @1, @2 to count back
    #[arg(long, value_name = "INSTANCE", value_parser = some_text())]
    pub session: Option<String>,
    /// Let other users look, as far as the modes of files allow
    #[arg(long)]
    pub allow_other: bool,
    /// Show files that are likely to hold secrets
    #[arg(long)]
    pub show_secrets: bool,
    /// Private key for encrypted content.
    #[command(flatten)]
    pub unlock: Unlock,
}

impl Command for MountArgs {
    const NAME: &'static str = "mount";
    const GROUP: Option<Group> = Some(Group::Sessions);
    const LONG: &'static str = "\
        Each file of each snapshot is at DIR/SESSION/SNAPSHOT/MOUNT/PATH, with its content, type, mode, owner and times. SESSION is \
        an id or a name, SNAPSHOT a checkpoint's name, a kind for the newest of its kind, or an id, and MOUNT the name of the \
        protected directory. DIR/here leads to the latest session that covers the current directory, and `latest` in each \
        session to its newest snapshot. New snapshots appear, and deleted ones disappear. Reads unpack only the parts of archives that \
        they need. Files that `cat` does not print without --show-secrets cannot be opened without it either; of a text \
        of more than 4 MiB only each megabyte with a login in it. Runs until Ctrl-C, SIGTERM or `umount DIR`, and leaves no mount. \
        Only you can look into DIR, not even root. An ordinary user needs the package `fuse3`.";
    const EXAMPLES: &'static [Example] = &[
        (
            "All snapshots, for ls, grep -r, diff -r and cp -a in another terminal:",
            "jackin recovery mount /tmp/snapshots",
        ),
        (
            "Only those of the latest session here, with all their files:",
            "jackin recovery mount --session @latest --show-secrets /tmp/snapshots",
        ),
    ];

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        run(&context, self)
    }
}

#[cfg(all(target_os = "linux", feature = "mount"))]
pub(super) fn run(context: &Context<'_>, args: &MountArgs) -> Result<Status, CliError> {
    let engine = context.engine();
    let browser = engine.browse(&BrowseRequest {
        session: args.session.as_deref(),
        show_secrets: args.show_secrets,
        keys: &|| identities(context, &args.unlock),
    })?;
    let directory = Path::new(&args.directory);
    let mut point = engine.mount_point(directory)?;
    if point.is_left {
        mount::remove_left(context, &point)?;
        point = engine.mount_point(directory)?;
    }
    mount::serve(context, browser, &point, args.allow_other)?;
    Ok(ExitCode::Done.into())
}

#[cfg(not(all(target_os = "linux", feature = "mount")))]
pub(super) fn run(_: &Context<'_>, _: &MountArgs) -> Result<Status, CliError> {
    Err(NotBuilt(Feature::Mount).into())
}
