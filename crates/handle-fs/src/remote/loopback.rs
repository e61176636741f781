//! Another machine that is this one, for tests: an agent in this process, on another thread. What it is asked goes over the same wire.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::connection::{Channel, Listener, Patience};
use super::{Address, Transports, serve};

/// The listener of an end that is this program.
pub const AGENT: &str = "agent";
/// An agent whose connection is lost as soon as a path exists ([`cut_when`]).
pub const CUT: &str = "cut";

/// Returns connections to the ends that addresses of [`through`] name.
#[must_use]
pub fn transports() -> Transports {
    let connect = |address: &Address, _: &Arc<AtomicBool>| {
        let Address::Docker { container } = address else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        match container.split_once('-').map(|(end, _)| end) {
            Some(AGENT) => agent(),
            Some(CUT) => agent().map(|channel| Channel {
                from: Box::new(CutReader(channel.from)),
                ..channel
            }),
            Some(_) => Err(io::ErrorKind::Unsupported.into()),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    };
    Transports::new(Box::new(connect), Box::new(|_, _| None))
}

/// Returns the address of a path of this machine, reached through another end. Each `machine` has a connection of its own.
#[must_use]
pub fn through(end: &str, machine: &str, path: &Path) -> PathBuf {
    let container = format!("{end}-{machine}");
    Address::Docker { container }.with(path)
}

/// The address of a path of this machine, reached through an agent.
pub fn through_agent(machine: &str, path: &Path) -> PathBuf {
    through(AGENT, machine, path)
}

static CUT_WHEN: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Once `path` exists, the answer that comes next through [`CUT`] is lost, with the connection.
pub fn cut_when(path: PathBuf) {
    *CUT_WHEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(path);
}

struct CutReader(Box<dyn io::Read + Send>);

impl io::Read for CutReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        let is_cut = CUT_WHEN
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take_if(|path| path.exists())
            .is_some();
        Ok(if is_cut { 0 } else { count })
    }
}

/// Answers of test agents to questions above the calls of files.
static KNOWS: std::sync::OnceLock<Answering> = std::sync::OnceLock::new();

type Answering = fn(&[u8]) -> Option<Vec<u8>>;

/// Sets how agents of tests answer such questions.
pub fn set_knows(answer: Answering) {
    let _ = KNOWS.set(answer);
}

fn patience() -> Arc<Patience> {
    Arc::new(Patience::new(Duration::from_secs(60), "the test"))
}

pub(super) fn agent() -> io::Result<Channel> {
    let (ours, theirs) = UnixStream::pair()?;
    let again = theirs.try_clone()?;
    let knows = |question: &[u8]| KNOWS.get().and_then(|answer| answer(question));
    std::thread::spawn(move || serve(again, theirs, &knows));
    Ok(Channel {
        only: Vec::new(),
        listener: Listener::Agent,
        from: Box::new(ours.try_clone()?),
        to: Box::new(ours),
        patience: patience(),
        cut: Box::new(|| ()),
        why: Box::new(|| None),
        backings: Vec::new(),
        storages: Vec::new(),
        helper: None,
        copied: None,
        end: None,
    })
}
