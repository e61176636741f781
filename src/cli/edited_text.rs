//! A text that the operator edits in a temporary file.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;
use std::slice::from_ref;

use super::context::Context;
use super::error::CliError;
use super::tool::{PrivateDirectory, editor, exit_of, unwritable};
use crate::process::Exit;

/// Most bytes that are read back.
const MOST: u64 = 16 << 20;

/// Opens the operator's editor, else `vi`, on a text, and returns what it holds afterwards; `None` if the editor failed or removed it.
pub(super) fn edited(context: &Context<'_>, text: &[u8]) -> Result<Option<Vec<u8>>, CliError> {
    let directory = PrivateDirectory::make(context)?;
    let (mut file, path) = directory.file(Path::new("hunk.diff"), 0o600)?;
    file.write_all(text).map_err(unwritable)?;
    drop(file);
    let tool = editor(context, None).unwrap_or_else(|| "vi".into());
    if exit_of(context, tool, &directory, from_ref(&path))? != Exit::Code(0) {
        return Ok(None);
    }
    let mut text = Vec::new();
    // An editor may have replaced the file.
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(unwritable)?,
    };
    file.take(MOST).read_to_end(&mut text).map_err(unwritable)?;
    Ok(Some(text))
}
