//! A file that the operator named for output: checked before the work, put in place in one step after it. It replaces only what
//! jackin itself wrote.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions, Permissions, canonicalize, symlink_metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::clock::{letters, random};
use crate::config::settle_path;
use crate::features::Feature;
use crate::model::Time;
use crate::recovery::refuse_address;
use crate::report::ReportDocument;
use crate::terminal::{sanitize, shell};

/// Reason to leave a file alone that could be replaced a moment ago.
const MEANWHILE: &str = "another file took its name in the meantime";

/// First bytes of each page, by which `--html` recognizes a page it may replace.
pub(super) const PAGE_MARK: &str = "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
    <meta name=\"generator\" content=\"jackin recovery\">";

/// A file that may be written: its directory is there, it is no directory itself, and it does not lie in the store.
pub(super) struct NamedFile {
    pub(super) path: PathBuf,
    /// For a terminal.
    pub(super) shown: String,
}

impl NamedFile {
    /// Resolves the path. Fails before the work if the file cannot be written.
    pub(super) fn settle(context: &Context<'_>, path: &Path) -> Result<Self, CliError> {
        let usage = |message: String| CliError::new(ErrorKind::Usage, message);
        if path.as_os_str().is_empty() {
            return Err(usage("the name of a file is empty".to_owned()).hint("name a file"));
        }
        let path = settle_path(context.environment, path);
        refuse_address(&path)?;
        let shown = sanitize::path(&path);
        if path.is_dir() {
            return Err(usage(format!("{shown} is a directory")).hint("name a file in it"));
        }
        if let Some(above) = path.parent().filter(|above| !above.is_dir()) {
            let message = format!(
                "{shown} cannot be written: there is no directory {}",
                sanitize::path(above)
            );
            return Err(usage(message).hint(format!(
                "make it first:\n  mkdir -p {}",
                shell::word(above.as_os_str())
            )));
        }
        let store = context.store_directory().ok();
        let store = store.map(|store| canonicalize(&store).unwrap_or(store));
        if store.is_some_and(|store| path.starts_with(store)) {
            let message = format!("{shown} is in the store, which takes no other files");
            return Err(usage(message).hint("choose a file elsewhere"));
        }
        Ok(Self { path, shown })
    }
}

/// The kind of file that may be replaced: only one that jackin wrote, which its first bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A page of `diff --html` or `show --html`.
    Page,
    /// A report of `launch --report`.
    Report,
    /// Content of a stored file: nothing shows that jackin wrote it, so it is never replaced.
    Content,
}

impl Kind {
    /// Bytes that are read of a file to recognize it; a mark stands within them.
    const LOOKED_AT: u64 = 512;

    fn is_begun_by(self, first: &[u8]) -> bool {
        match self {
            Self::Page => first.starts_with(PAGE_MARK.as_bytes()),
            Self::Report => ReportDocument::is_begun_by(first),
            Self::Content => false,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Report => "report",
            Self::Content => "file",
        }
    }
}

/// The file that exists under the name.
enum Found {
    Nothing,
    /// A file that jackin wrote; its inode and time of birth.
    Replaceable((u64, Option<Time>)),
    /// Anything else; why it may not be replaced.
    Foreign(String),
}

/// Destination of a page or a report.
pub(super) enum Output {
    /// `-`.
    Stdout,
    /// A file that is not there, or one that jackin wrote before.
    File(NamedFile, Kind),
}

impl Output {
    /// Checks the place before the work.
    pub(super) fn settle(context: &Context<'_>, path: &OsStr, kind: Kind) -> Result<Self, CliError> {
        if kind == Kind::Page {
            CliError::require(Feature::Html)?;
        }
        if path == "-" {
            return Ok(Self::Stdout);
        }
        let file = NamedFile::settle(context, path.as_ref())?;
        let found = look(&file.path, kind).map_err(|error| file.unwritable(kind).because(error))?;
        match found {
            Found::Nothing | Found::Replaceable(_) => Ok(Self::File(file, kind)),
            Found::Foreign(why) => {
                let word = shell::word(file.path.as_os_str());
                let message = format!("{} cannot be replaced: {why}", file.shown);
                let error = CliError::new(ErrorKind::Usage, message);
                // A device or a pipe may be what the system works with.
                let is_file = symlink_metadata(&file.path).is_ok_and(|meta| meta.is_file());
                Err(error.hint(match is_file {
                    true => format!("move it away first:\n  mv -- {word} {word}.old"),
                    false => "choose another name, or - for the standard output".to_owned(),
                }))
            }
        }
    }

    /// Prints a page, or writes it and says where it is.
    pub(super) fn write_page(&self, context: &Context<'_>, page: &str) -> Result<Status, CliError> {
        match self {
            Self::Stdout => context.terminal.out(page),
            Self::File(file, kind) => {
                file.replace(context, *kind, |file| file.write_all(page.as_bytes()))
                    .map_err(|error| file.unwritable(*kind).because(error))?;
                context
                    .terminal
                    .note(&format!("wrote {} (readable only by you)", file.shown));
            }
        }
        Ok(ExitCode::Done.into())
    }

    /// Prints a document on one line, or writes it indented.
    pub(super) fn write_document(
        &self,
        context: &Context<'_>,
        document: &impl Serialize,
    ) -> Result<(), CliError> {
        match self {
            Self::Stdout => context.terminal.json(document),
            Self::File(file, kind) => {
                let written = file.replace(context, *kind, |file| {
                    serde_json::to_writer_pretty(&mut *file, document)?;
                    file.write_all(b"\n")
                });
                written.map_err(|error| file.unwritable(*kind).because(error))?;
            }
        }
        Ok(())
    }
}

impl NamedFile {
    /// Creates the file, which must not exist, with what `write` writes. Nothing is left of it if that fails.
    pub(super) fn create(
        &self,
        context: &Context<'_>,
        write: impl FnOnce(&mut File) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        if symlink_metadata(&self.path).is_ok() {
            let error = CliError::new(ErrorKind::Usage, format!("{} already exists", self.shown));
            return Err(error.hint("choose another name, or move it away"));
        }
        let mut failure = None;
        let written = self.replace(context, Kind::Content, |file| {
            write(file).map_err(|error| {
                failure = Some(error);
                io::ErrorKind::Other.into()
            })
        });
        match failure {
            Some(error) => Err(error),
            None => written.map_err(|error| self.unwritable(Kind::Content).because(error)),
        }
    }

    fn unwritable(&self, kind: Kind) -> CliError {
        let message = format!("the {} {} cannot be written", kind.name(), self.shown);
        CliError::new(ErrorKind::Io, message)
    }

    /// Readable by the operator only, whatever the umask, for what is written names files. Written beside its name and renamed:
    /// a name that is free is taken without replacing, and a page of before is exchanged and looked at again, so that nothing that
    /// came there in the meantime is lost.
    fn replace(
        &self,
        context: &Context<'_>,
        kind: Kind,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let (Some(above), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut beside = name.to_owned();
        beside.push(".");
        beside.push(letters(random(context.world().entropy)));
        let directory = File::open(above)?;
        let mut options = OpenOptions::new();
        let draft = above.join(&beside);
        let mut file = options.write(true).create_new(true).mode(0o600).open(&draft)?;
        let written = write(&mut file)
            .and_then(|()| match context.environment.operator {
                Some(owner) => fchown(&file, Some(owner.uid), Some(owner.gid)),
                None => Ok(()),
            })
            .and_then(|()| file.set_permissions(Permissions::from_mode(0o600)))
            .and_then(|()| file.sync_all())
            .and_then(|()| self.take_name(&directory, &beside, kind));
        if written.is_err() {
            // The error that led here is the one to report.
            let _ = handle_fs::remove_file(&directory, &beside);
        }
        written
    }

    /// Gives the new file its name. What lies under `beside` afterwards is the new file or nothing, unless the name cannot be given back.
    fn take_name(&self, directory: &File, beside: &OsStr, kind: Kind) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default();
        let old = match look(&self.path, kind)? {
            Found::Nothing => return handle_fs::rename_new(directory, beside, directory, name),
            Found::Foreign(why) => return Err(io::Error::new(io::ErrorKind::AlreadyExists, why)),
            Found::Replaceable(old) => old,
        };
        match handle_fs::exchange(directory, beside, directory, name) {
            Ok(()) => {
                // Something else may have taken the name after the look; then it gets it back.
                let draft = self.path.with_file_name(beside);
                match look(&draft, kind) {
                    Ok(Found::Replaceable(now)) if now == old => handle_fs::remove_file(directory, beside),
                    _ => {
                        handle_fs::exchange(directory, beside, directory, name)?;
                        Err(io::Error::new(io::ErrorKind::AlreadyExists, MEANWHILE))
                    }
                }
            }
            // The file system cannot exchange names: the old page steps aside, and what came instead gets its name back.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
            {
                let mut aside = beside.to_owned();
                aside.push(".old");
                handle_fs::rename_new(directory, name, directory, &aside)?;
                match look(&self.path.with_file_name(&aside), kind) {
                    Ok(Found::Replaceable(now)) if now == old => {}
                    _ => {
                        handle_fs::rename_new(directory, &aside, directory, name)?;
                        return Err(io::Error::new(io::ErrorKind::AlreadyExists, MEANWHILE));
                    }
                }
                handle_fs::rename_new(directory, beside, directory, name)?;
                handle_fs::remove_file(directory, &aside)
            }
            Err(error) => Err(error),
        }
    }
}

/// Looks at what lies under a name, of which only the first bytes are read.
fn look(path: &Path, kind: Kind) -> io::Result<Found> {
    let meta = match symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        other => other?,
    };
    if meta.is_symlink() {
        return Ok(Found::Foreign("it is a link".to_owned()));
    }
    if !meta.is_file() {
        return Ok(Found::Foreign("it is not a regular file".to_owned()));
    }
    let foreign = || format!("it already exists and is no {} that jackin wrote", kind.name());
    // A link or a pipe that came there just now is not followed and not waited for.
    let file = match handle_fs::open_path(path, handle_fs::Opening::Read) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Ok(Found::Foreign(foreign()));
        }
        other => other?,
    };
    let stat = file.stat()?;
    let mut first = Vec::new();
    file.take(Kind::LOOKED_AT).read_to_end(&mut first)?;
    Ok(match kind.is_begun_by(&first) {
        true => Found::Replaceable((stat.ino, stat.born)),
        false => Found::Foreign(foreign()),
    })
}
