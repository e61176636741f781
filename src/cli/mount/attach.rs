//! Mounts and unmounts: as root by the kernel's own calls, for an ordinary user by `fusermount3`.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::process::Fusermount;
use crate::product::FILE_SYSTEM;
use crate::session::recorded_mounts;
use crate::terminal::sanitize;
use handle_fs::{FUSE_DEVICE, FuseOptions};

/// A file system that is mounted. Dropped, it is unmounted.
pub(super) struct Attached {
    path: PathBuf,
    /// Descriptor through which it is served, until that begins.
    device: Option<OwnedFd>,
    way: Way,
    is_mounted: bool,
}

/// Way to mount.
enum Way {
    /// By the kernel's own calls.
    Direct,
    By(Fusermount),
}

impl Way {
    fn of(context: &Context<'_>) -> Result<Self, CliError> {
        if handle_fs::is_privileged() {
            return Ok(Self::Direct);
        }
        let mounts = recorded_mounts(context.environment).map_err(|error| {
            CliError::new(ErrorKind::Io, "the recorded mounts cannot be read").because(error)
        })?;
        match Fusermount::find(context.environment.get("PATH"), &mounts) {
            Some(program) => Ok(Self::By(program)),
            None => {
                let error = CliError::new(ErrorKind::Failed, "only root can mount without fusermount3");
                Err(error.hint("install the package `fuse3`, which has it"))
            }
        }
    }

    fn unmount(&self, path: &Path, lazily: bool) -> Result<(), String> {
        match self {
            Self::Direct => handle_fs::unmount(path, lazily).map_err(|error| error.to_string()),
            Self::By(program) => program.unmount(path, lazily),
        }
    }
}

impl Attached {
    /// Mounts.
    pub(super) fn new(context: &Context<'_>, path: &Path, for_others: bool) -> Result<Self, CliError> {
        if let Ok(None) = handle_fs::stat_path(Path::new(FUSE_DEVICE)) {
            return Err(without_device());
        }
        let options = FuseOptions {
            name: FILE_SYSTEM,
            for_others,
        };
        let way = Way::of(context)?;
        let failed = |why: String| {
            let shown = sanitize::path(path);
            let message = format!("nothing can be mounted on {shown}: {}", sanitize::text(&why));
            let error = CliError::new(ErrorKind::Failed, message);
            if why.contains("user_allow_other") {
                error
                    .hint("let root add the line `user_allow_other` to /etc/fuse.conf, or omit --allow-other")
            } else if why.contains(FUSE_DEVICE) {
                error.hint(format!(
                    "let root open it for all users, as most systems do: chmod 666 {FUSE_DEVICE}"
                ))
            } else {
                error
            }
        };
        let device = match &way {
            Way::Direct => handle_fs::mount_fuse(path, options).map_err(|error| {
                let made = failed(error.to_string());
                match error.kind() {
                    io::ErrorKind::PermissionDenied => made.hint(
                        "a container may mount only with the device and the right to do so: \
                        docker run --device /dev/fuse --cap-add SYS_ADMIN",
                    ),
                    _ => made,
                }
            }),
            Way::By(program) => {
                let words = format!(
                    "ro,nosuid,nodev,fsname={FILE_SYSTEM},subtype={FILE_SYSTEM}{}",
                    options.shared()
                );
                program.mount(path, &words).map_err(failed)
            }
        }?;
        Ok(Self {
            path: path.to_path_buf(),
            device: Some(device),
            way,
            is_mounted: true,
        })
    }

    /// Returns the descriptor through which the file system is served.
    pub(super) fn take_device(&mut self) -> io::Result<OwnedFd> {
        self.device
            .take()
            .ok_or_else(|| io::Error::other("it is served already"))
    }

    /// Notes that it was unmounted by another program: something else may be mounted there now.
    pub(super) fn is_over(&mut self) {
        self.is_mounted = false;
    }

    /// Unmounts, and returns true if it was in use.
    pub(super) fn detach(&mut self, context: &Context<'_>) -> Result<bool, CliError> {
        self.is_mounted = false;
        if self.way.unmount(&self.path, false).is_ok() {
            return Ok(false);
        }
        self.way.unmount(&self.path, true).map_err(|why| {
            let shown = sanitize::path(&self.path);
            let message = format!("{shown} cannot be unmounted: {}", sanitize::text(&why));
            context.terminal.detail(&message);
            CliError::new(ErrorKind::Failed, message)
        })?;
        Ok(true)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if self.is_mounted {
            let _ = self.way.unmount(&self.path, true);
        }
    }
}

/// Unmounts what a killed process left.
pub(super) fn detach_left(context: &Context<'_>, path: &Path) -> Result<(), CliError> {
    Way::of(context)?.unmount(path, true).map_err(|why| {
        let shown = sanitize::path(path);
        let message = format!(
            "a mount is left on {shown}, and cannot be removed: {}",
            sanitize::text(&why)
        );
        CliError::new(ErrorKind::Failed, message)
    })
}

fn without_device() -> CliError {
    let error = CliError::new(ErrorKind::Failed, format!("there is no {FUSE_DEVICE} here"));
    error.hint("let root load the kernel's module with `modprobe fuse`; in a container, run it with --device /dev/fuse")
}
