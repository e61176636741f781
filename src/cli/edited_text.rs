//! A text that the operator edits in a temporary file.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::context::Context;
use super::error::{CliError, ErrorKind};
use crate::clock::{letters, random};
use crate::process::edit;
use crate::terminal::sanitize;

/// Most bytes that are read back.
const MOST: u64 = 16 << 20;

/// Opens the operator's editor on a text, and returns what it holds afterwards; `None` if the editor failed.
pub(super) fn edited(context: &Context<'_>, text: &[u8]) -> Result<Option<Vec<u8>>, CliError> {
    let environment = context.environment;
    let directory = environment.get("TMPDIR").filter(|name| !name.is_empty());
    let directory = environment.absolute(Path::new(directory.unwrap_or("/tmp".as_ref())));
    let name = format!(
        "jackin-recovery-{}.diff",
        letters(random(context.world().entropy))
    );
    let path = directory.join(name);
    let failed = |source: io::Error| {
        let message = format!(
            "{} cannot be edited: {source}; nothing was changed",
            sanitize::path(&path)
        );
        CliError::new(ErrorKind::Failed, message)
    };
    let file = Temporary::create(path.clone(), text).map_err(failed)?;
    let is_done = edit(environment, &file.0).map_err(failed)?;
    match is_done {
        true => file.read().map(Some).map_err(failed),
        false => Ok(None),
    }
}

/// A file for the owner alone, which is removed in the end.
struct Temporary(PathBuf);

impl Temporary {
    fn create(path: PathBuf, text: &[u8]) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // A file or link of this name is another user's.
        let mut file = options.write(true).create_new(true).mode(0o600).open(&path)?;
        let made = Self(path);
        file.write_all(text)?;
        Ok(made)
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        fs::File::open(&self.0)?.take(MOST).read_to_end(&mut text)?;
        Ok(text)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
