//! The operator's editor: started on the terminal, and waited for.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Command;

use super::search::absolute_path;

/// Runs the operator's editor on a file, and returns true if it ended well: `VISUAL`, else `EDITOR`, else `vi`. Only `variables` are
/// asked, never a file.
///
/// # Errors
/// When the shell cannot be started.
pub fn edit(variables: &BTreeMap<OsString, OsString>, path: &Path) -> io::Result<bool> {
    let asked = ["VISUAL", "EDITOR"].into_iter().find_map(|name| {
        let line = variables.get(OsStr::new(name));
        line.filter(|line| !line.is_empty()).cloned()
    });
    let mut line = asked.unwrap_or_else(|| "vi".into());
    line.push(" \"$@\"");
    let path_variable = variables.get(OsStr::new("PATH")).map(OsString::as_os_str);
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line).arg("sh").arg(path);
    command.env("PATH", absolute_path(path_variable));
    Ok(command.status()?.success())
}
