//! The images that containers of the tests are made of, from this machine's own tools.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::support::machine::{binary, run_tool, tool};

/// The tools of the image with GNU tools.
const TOOLS: [&str; 29] = [
    "sh",
    "bash",
    "find",
    "tar",
    "stat",
    "mktemp",
    "cat",
    "chmod",
    "rm",
    "sleep",
    "mkdir",
    "mv",
    "ln",
    "sha256sum",
    "chown",
    "touch",
    "cp",
    "ls",
    "head",
    "sort",
    "dd",
    "id",
    "date",
    "readlink",
    "rmdir",
    "mkfifo",
    "sync",
    "uname",
    "flock",
];

/// The image that containers are made of, from this machine's own tools; made once.
pub(super) fn gnu() -> Result<&'static str, String> {
    const NAME: &str = "jackin-recovery-test-gnu:2";
    static MADE: OnceLock<Result<(), String>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        imported(NAME, |root| {
            let mut files = vec![binary()];
            for name in TOOLS {
                let from = tool(name).ok_or_else(|| format!("{name} is not installed"))?;
                fs::copy(&from, root.join("bin").join(name)).unwrap();
                files.push(from);
            }
            for library in files.iter().flat_map(|file| libraries(file)) {
                let to = root.join(library.strip_prefix("/").unwrap());
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::copy(&library, to).unwrap();
            }
            Ok(())
        })
    });
    made.clone().map(|()| NAME)
}

/// The image that has nothing but busybox.
pub(crate) fn busybox() -> Result<&'static str, String> {
    const NAME: &str = "jackin-recovery-test-busybox:1";
    static MADE: OnceLock<Result<(), String>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        imported(NAME, |root| {
            let from = tool("busybox").ok_or("busybox is not installed")?;
            if !libraries(&from).is_empty() {
                return Err("this busybox is not one file".to_owned());
            }
            fs::copy(&from, root.join("bin/busybox")).unwrap();
            let names = run_tool(Command::new(&from).arg("--list"));
            for name in String::from_utf8_lossy(&names)
                .lines()
                .filter(|name| *name != "busybox")
            {
                std::os::unix::fs::symlink("busybox", root.join("bin").join(name)).unwrap();
            }
            Ok(())
        })
    });
    made.clone().map(|()| NAME)
}

/// Has docker an image of a directory that `furnish` fills, unless it has it already.
fn imported(name: &str, furnish: impl Fn(&Path) -> Result<(), String>) -> Result<(), String> {
    if tool("docker").is_none() {
        return Err("docker is not installed".to_owned());
    }
    let told = Command::new("docker").arg("version").output().unwrap();
    if !told.status.success() {
        return Err("no docker daemon answers".to_owned());
    }
    let asked = Command::new("docker").args(["image", "inspect", name]).output();
    if asked.unwrap().status.success() {
        return Ok(());
    }
    let root = TempDir::with_prefix("jr-image-").unwrap();
    for directory in ["bin", "tmp", "etc", "root", "usr/bin"] {
        fs::create_dir_all(root.path().join(directory)).unwrap();
    }
    fs::set_permissions(root.path().join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
    fs::write(root.path().join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").unwrap();
    furnish(root.path())?;
    let mut packed = Command::new("tar")
        .arg("-C")
        .arg(root.path())
        .args(["-c", "."])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let imported = Command::new("docker")
        .args(["import", "-", name])
        .stdin(packed.stdout.take().unwrap())
        .output()
        .unwrap();
    packed.wait().unwrap();
    match imported.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&imported.stderr).into_owned()),
    }
}

/// What a program is linked with.
fn libraries(program: &Path) -> Vec<PathBuf> {
    // Of one that is linked with nothing `ldd` says so, and fails.
    let told = Command::new("ldd").arg(program).output().unwrap().stdout;
    let told = String::from_utf8_lossy(&told).into_owned();
    let path = |line: &str| {
        line.split_whitespace()
            .find(|word| word.starts_with('/'))
            .map(PathBuf::from)
    };
    told.lines().filter_map(path).collect()
}
