//! What jackin writes down of its own containers, below its home. The text is the test's: it may be damaged, or of a later jackin.

use std::fs;
use std::path::PathBuf;

use super::sandbox::Sandbox;

/// A container's own file about itself.
pub(crate) fn write_instance(sandbox: &Sandbox, container: &str, text: &str) -> PathBuf {
    write(sandbox, &format!("{container}/.jackin/instance.json"), text)
}

/// A container's own file about the copies that it works in.
pub(crate) fn write_isolation(sandbox: &Sandbox, container: &str, text: &str) -> PathBuf {
    write(sandbox, &format!("{container}/.jackin/isolation.json"), text)
}

/// The index of all containers.
pub(crate) fn write_index(sandbox: &Sandbox, text: &str) -> PathBuf {
    write(sandbox, "instances.json", text)
}

fn write(sandbox: &Sandbox, below: &str, text: &str) -> PathBuf {
    let path = sandbox.home().join(".jackin/data").join(below);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}
