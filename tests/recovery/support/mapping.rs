//! Another program that writes to a file through a shared mapping, which leaves the file's times as they are while its pages are
//! dirty.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::machine::{skip, tool};

/// Maps a file and obeys: `OFFSET TEXT` stores bytes and answers; `spin` rewrites all of it until it is ended, each byte of one
/// round the same.
const PROGRAM: &str = "
import mmap, os, sys
size = os.path.getsize(sys.argv[1])
f = open(sys.argv[1], 'r+b')
m = mmap.mmap(f.fileno(), size)
print('mapped', flush=True)
for line in sys.stdin:
    words = line.split()
    if words[0] == 'spin':
        print('spins', flush=True)
        n = 0
        while True:
            n = n % 250 + 1
            m[:] = bytes([n]) * size
    at = int(words[0])
    m[at:at + len(words[1])] = words[1].encode()
    print('stored', flush=True)
";

/// The program; it ends with the value.
pub(crate) struct Mapping {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Mapping {
    /// Maps a file that is there. `None` without Python, which the test then says.
    pub(crate) fn of(file: &Path) -> Option<Self> {
        let Some(python) = tool("python3") else {
            skip(
                "a program that writes through a mapping",
                "python3 is not installed",
            );
            return None;
        };
        let mut child = Command::new(python)
            .args(["-c", PROGRAM])
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut mapping = Self {
            child,
            orders,
            answers,
        };
        mapping.answer("mapped");
        Some(mapping)
    }

    /// Stores bytes through the mapping.
    #[track_caller]
    pub(crate) fn store(&mut self, at: usize, text: &str) {
        writeln!(self.orders, "{at} {text}").unwrap();
        self.answer("stored");
    }

    /// Rewrites the file through the mapping from now on.
    #[track_caller]
    pub(crate) fn spin(&mut self) {
        writeln!(self.orders, "spin").unwrap();
        self.answer("spins");
    }

    #[track_caller]
    fn answer(&mut self, wanted: &str) {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), wanted);
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
