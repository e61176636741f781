//! Another program that writes through shared mappings and keeps them. One serves all cases of a test.

use std::cell::RefCell;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// `PATH NUMBER`, the path in hex, stores a byte at the start of a file; an empty line gives all mappings up.
const PROGRAM: &str = "
import mmap, os, sys
maps = {}
for line in sys.stdin:
    words = line.split()
    if not words:
        maps.clear()
    else:
        f = open(bytes.fromhex(words[0]), 'r+b')
        key = os.fstat(f.fileno()).st_ino
        if key not in maps:
            maps[key] = mmap.mmap(f.fileno(), 0)
        maps[key][0] = 65 + int(words[1])
    print('done', flush=True)
";

struct Mapper {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Drop for Mapper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Mapper {
    fn start() -> io::Result<Self> {
        let mut child = Command::new("python3")
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (orders, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Ok(Self {
            child,
            orders,
            answers: BufReader::new(answers),
        })
    }

    fn order(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.orders, "{line}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        assert_eq!(answer, "done\n", "{line}");
        Ok(())
    }
}

thread_local! {
    static MAPPER: RefCell<Option<Mapper>> = const { RefCell::new(None) };
}

/// Stores a byte in a file that is not empty; the mapping stays.
pub(super) fn store(file: &Path, number: u8) -> io::Result<()> {
    MAPPER.with_borrow_mut(|mapper| {
        if mapper.is_none() {
            *mapper = Some(Mapper::start()?);
        }
        let bytes = file.as_os_str().as_bytes().iter();
        let path: String = bytes.map(|byte| format!("{byte:02x}")).collect();
        mapper
            .as_mut()
            .map_or(Ok(()), |mapper| mapper.order(&format!("{path} {number}")))
    })
}

/// Gives the mappings of the case before up.
pub(super) fn forget() {
    MAPPER.with_borrow_mut(|mapper| {
        if let Some(mapper) = mapper {
            mapper.order("").unwrap();
        }
    });
}
