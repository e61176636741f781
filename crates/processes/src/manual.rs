//! Formats manual pages with the operator's `man`.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use super::command_output::CommandRequest;
use super::search::{find, path_outside};

/// Time limit for `man`.
const PATIENCE: Duration = Duration::from_secs(10);

/// Formats roff as text. `path` is the value of `PATH`. Programs inside `untrusted` are never run.
///
/// # Errors
/// Why it cannot be set, in words.
pub fn set_manual(path: Option<&OsStr>, untrusted: &[PathBuf], page: &str) -> Result<String, String> {
    let path = path_outside(path, untrusted);
    let man = find("man".as_ref(), &path, untrusted).ok_or("man is not installed")?;
    let asked = CommandRequest {
        name: "man",
        program: &man,
        path: &path,
        patience: PATIENCE,
        bare: false,
    };
    asked.ask(&["-l", "-"], Some(page.as_bytes().to_vec()))
}
