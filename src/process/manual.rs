//! Has the operator's `man` set a manual page as text.

use std::path::PathBuf;
use std::time::Duration;

use super::asking::Asked;
use super::search::{find, path_outside};
use crate::environment::Environment;

/// How long setting a page may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A page in the language of manual pages, as text. What lies in one of `mounts` is never started.
///
/// # Errors
/// Why it cannot be set, in words.
pub fn set_manual(environment: &Environment, mounts: &[PathBuf], page: &str) -> Result<String, String> {
    let path = path_outside(environment, mounts);
    let man = find("man".as_ref(), &path, mounts).ok_or("man is not installed")?;
    let asked = Asked {
        name: "man",
        program: &man,
        path: &path,
        patience: PATIENCE,
        bare: false,
    };
    asked.ask(&["-l", "-"], Some(page.as_bytes().to_vec()))
}
