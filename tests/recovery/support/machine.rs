//! What this machine offers to a test: privilege, tools, mounts. A test that cannot run here says so and returns.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

pub(crate) use super::workplace::{is_nightly, workplace};

/// The user that stands for "not root" when the tests run as root. It owns nothing on any usual machine.
pub(crate) const NOBODY: u32 = 65534;

/// The program to test: the one that was built with the tests, or what `JACKIN_BINARY` names.
pub(crate) fn binary() -> PathBuf {
    let other = std::env::var_os("JACKIN_BINARY").map(PathBuf::from);
    other.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_jackin")))
}

/// Whether the program dies at points by name: only one that was built with the tests does, and only with debug assertions.
pub(crate) fn has_points() -> bool {
    cfg!(debug_assertions) && std::env::var_os("JACKIN_BINARY").is_none()
}

/// Whether the tests run as root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Where the program `name` lies in `PATH`.
pub(crate) fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|file| {
            fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        })
}

/// Returns the path of a program, once looked for. With another `PATH` for the child, the library copies this whole process to start a
/// program by its name alone, which took a tenth of the time of all tests.
pub(crate) fn by_path(name: &'static str) -> PathBuf {
    static FOUND: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let path = found
        .entry(name)
        .or_insert_with(|| tool(name).unwrap_or_else(|| name.into()));
    path.clone()
}

/// Says that a test, or a part of one, does not run here. The summary at the end of `cargo test` names it.
pub(crate) fn skip(what: &str, because: &str) {
    super::skipped::skipped(&format!("{what}: {because}"));
}

/// Reason why a test of holes is skipped with the calls of macOS.
pub(crate) const NO_HOLES: &str = "what the system says of holes is not believed";
/// Reason why a test of who holds a file is skipped with the calls of macOS.
pub(crate) const NO_HOLDERS: &str = "nothing shows who has a file open";

/// Returns true if the program makes only the calls that macOS has: on macOS, and built with the feature `portable`. Then the test is skipped that
/// needs more, and the reason recorded.
pub(crate) fn is_portable(because: &str) -> bool {
    let portable = cfg!(any(feature = "portable", not(target_os = "linux")));
    if portable {
        skip("calls of macOS", because);
    }
    portable
}

/// Runs a tool that the test itself needs and insists on its success.
#[track_caller]
pub(crate) fn run_tool(command: &mut Command) -> Vec<u8> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\nstdout: {}\nstderr: {}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// Copies a program. Another process writes it: a handle of this one could live on in a child that another test starts at the same
/// moment, and what is open for writing cannot be executed (ETXTBSY).
pub(crate) fn copy_program(from: &Path, to: &Path) {
    run_tool(Command::new("cp").arg("-p").args([from, to]));
}

/// Lays the program to test into a directory, as if it were installed there, under this name.
pub(crate) fn install_program(directory: &Path, name: &str) -> PathBuf {
    fs::create_dir_all(directory).unwrap();
    let program = directory.join(name);
    if !program.exists() && fs::hard_link(binary(), &program).is_err() {
        copy_program(&binary(), &program);
    }
    program
}

/// Writes a script that is executed afterwards, through another process for the reason that `copy_program` gives.
pub(crate) fn write_script(at: &Path, text: &str) {
    let write = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    run_tool(Command::new("sh").args(["-c", write]).arg(at).arg(text));
}

/// A small file system in memory, mounted for the life of the value.
pub(crate) struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    /// Mounts a tmpfs of so many bytes at `at`; `None` when that is not allowed here.
    pub(crate) fn mount(at: &Path, bytes: u64) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        if !is_root() {
            return None;
        }
        let options = format!("size={bytes},mode=0755");
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "none"])
            .arg(at)
            .output();
        done.is_ok_and(|output| output.status.success())
            .then(|| Self { at: at.to_path_buf() })
    }

    /// Leaves it the number of inodes that it has by now.
    pub(crate) fn limit_inodes(&self) {
        let used = walkdir::WalkDir::new(&self.at).into_iter().count();
        let options = format!("remount,nr_inodes={used}");
        run_tool(Command::new("mount").args(["-o", &options]).arg(&self.at));
    }

    /// Fills the disk to its last byte with a file and gives that file.
    pub(crate) fn fill(&self) -> PathBuf {
        use std::io::Write as _;
        let path = self.at.join("ballast");
        let mut file = fs::File::create(&path).unwrap();
        let block = [0x5a_u8; 4096];
        while file.write_all(&block).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, so that a process which a failed test left behind cannot keep the mount.
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}
