//! Real processes: small shells and sleepers that do what agents do. What changes a whole process (signals, adopted
//! orphans) runs in a process of its own: the test starts itself again.

mod identity;
mod ignored;
mod launch;
mod probe;
#[cfg(target_os = "linux")]
mod rows;
mod signals;
mod table;
#[cfg(target_os = "linux")]
mod writers;

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// Set in the process that a test starts for itself.
const INSIDE: &str = "PROCESS_TEST_INSIDE";

/// A process that ends with its test, however that ends.
struct Scratch(Child);

impl Scratch {
    fn start(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).envs(environment.iter().copied());
        Self(
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }

    fn shell(script: &str, environment: &[(&str, &str)]) -> Self {
        Self::start("sh", &["-c", script], environment)
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Ends a process that is nobody's child.
struct Orphan(u32);

impl Drop for Orphan {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_raw(self.0.cast_signed()).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// The variable by which processes of a test belong together.
const VARIABLE: &str = "PROCESS_TEST_NAME";

/// Returns a value of [`VARIABLE`] that no other process has.
fn value(letters: &str) -> String {
    format!("p-{letters}-test")
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if condition() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("waited two minutes for: {what}");
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Waits until a script has written a whole line, and gives it.
fn line_of(path: &Path) -> String {
    until("a line in a file", || {
        std::fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n'))
    });
    lines(path).first().unwrap().clone()
}

/// Starts this test again in a process and a process group of its own, behind `wrapper`, and gives how it ended. `None`
/// inside. The signals have their default effect there, also when the tests run as a background job.
fn in_own_process(test: &str, wrapper: &[&str]) -> Option<ExitStatus> {
    if std::env::var_os(INSIDE).is_some() {
        return None;
    }
    let test = test.split_once("::").unwrap().1;
    let executable = std::env::current_exe().unwrap();
    let mut command = Command::new("env");
    command
        .arg("--default-signal=INT,QUIT,TERM,HUP")
        .args(wrapper)
        .arg(executable);
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, OsStr::new("1"));
    command
        .process_group(0)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        !output.status.success() || said.contains("1 passed"),
        "the name of the test is wrong: {said}"
    );
    Some(output.status)
}

/// Runs the rest of the test in its own process, and fails when that one fails.
macro_rules! own_process {
    ($test:ident $(, $wrapper:expr)*) => {
        let test = concat!(module_path!(), "::", stringify!($test));
        if let Some(status) = $crate::tests::in_own_process(test, &[$($wrapper),*]) {
            assert!(status.success(), "{status}");
            return;
        }
    };
}
use own_process;
