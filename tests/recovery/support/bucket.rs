//! A real server that speaks like S3, on disk, which a test starts, kills and starts again; and a door before it that lets through,
//! slows down or breaks what goes through.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, Ordering};
use std::time::{Duration, Instant};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;

use super::invocation::Invocation;
use super::machine::workplace;

/// Who signs in.
pub(crate) const USER: &str = "canary-access-key";
pub(crate) const SECRET: &str = "canary-secret-access-key";

/// The directory of the buckets that a process serves.
const SERVED: &str = "JACKIN_TEST_SERVED";

/// The file below that with the port of the server. The server chooses one itself: a port that a test found free could be another test's
/// by the time the server asks for it.
const PORT: &str = "port";

/// [`Bucket`] starts this test again in a process of its own, which serves the store until it is killed.
#[test]
fn the_object_store_lets_in_only_what_is_signed() {
    if let Some(root) = std::env::var_os(SERVED) {
        return serve(Path::new(&root));
    }
    let bucket = Bucket::start();
    let mut connection = TcpStream::connect(("127.0.0.1", bucket.at)).unwrap();
    let request = "GET /bucket?list-type=2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

fn serve(root: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut service = S3ServiceBuilder::new(FileSystem::new(root).unwrap());
    service.set_auth(SimpleAuth::from_single(USER, SECRET));
    let service = service.build();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        fs::write(root.join("port.new"), port.to_string()).unwrap();
        fs::rename(root.join("port.new"), root.join(PORT)).unwrap();
        loop {
            let Ok((connection, _)) = listener.accept().await else {
                continue;
            };
            let service = service.clone();
            tokio::spawn(async move {
                let connection = TokioIo::new(connection);
                // A connection that breaks is the client's matter.
                drop(
                    Builder::new(TokioExecutor::new())
                        .serve_connection(connection, service)
                        .await,
                );
            });
        }
    });
}

/// What the door does with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Door {
    /// It is open.
    Open,
    /// Nobody is let in.
    Shut,
    /// The service is busy: 503.
    Busy,
    /// What was asked for is done, and the answer is lost.
    Deaf,
    /// It is cut after some bytes.
    Torn,
    /// Everybody is let in and listened to, and hears no word until it does something else.
    Silent,
}

const DOORS: [Door; 6] = [
    Door::Open,
    Door::Shut,
    Door::Busy,
    Door::Deaf,
    Door::Torn,
    Door::Silent,
];

/// A server with one bucket, and its door.
pub(crate) struct Bucket {
    root: tempfile::TempDir,
    /// Port of the server; 0 while none runs.
    port: Arc<AtomicU16>,
    server: Option<Child>,
    door: Arc<AtomicU8>,
    over: Arc<AtomicBool>,
    at: u16,
}

impl Bucket {
    /// Starts one, with an empty bucket.
    pub(crate) fn start() -> Self {
        let root = tempfile::TempDir::with_prefix_in("jr-bucket-", workplace()).unwrap();
        fs::create_dir(root.path().join("bucket")).unwrap();
        let mut bucket = Self {
            root,
            port: Arc::default(),
            server: None,
            door: Arc::new(AtomicU8::new(0)),
            over: Arc::default(),
            at: 0,
        };
        bucket.revive();
        bucket.open_door();
        bucket
    }

    /// The bytes on the server's disk.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Where an object lies on the server's disk.
    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        let all = walkdir::WalkDir::new(self.root.path().join("bucket"));
        let files = all
            .into_iter()
            .map(Result::unwrap)
            .filter(|entry| entry.file_type().is_file());
        files.map(walkdir::DirEntry::into_path).collect()
    }

    /// `kill -9` to the server.
    pub(crate) fn kill(&mut self) {
        self.port.store(0, Ordering::Relaxed);
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    /// Starts it again on what it left.
    pub(crate) fn revive(&mut self) {
        self.kill();
        let told = self.root.path().join(PORT);
        drop(fs::remove_file(&told));
        let server = Command::new(std::env::current_exe().unwrap())
            .args([
                "support::bucket::the_object_store_lets_in_only_what_is_signed",
                "--exact",
                "--quiet",
            ])
            .env(SERVED, self.root.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.server = Some(server);
        let begun = Instant::now();
        let port = loop {
            if let Ok(port) = fs::read_to_string(&told) {
                break port.parse().unwrap();
            }
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "the server does not start"
            );
            std::thread::sleep(Duration::from_millis(5));
        };
        self.port.store(port, Ordering::Relaxed);
    }

    /// What the door does from now on.
    pub(crate) fn door(&self, door: Door) {
        self.door.store(door as u8, Ordering::Relaxed);
    }

    /// The address for `AWS_ENDPOINT_URL`.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.at)
    }

    /// A run that signs in here.
    pub(crate) fn signed<'a>(&self, invocation: Invocation<'a>) -> Invocation<'a> {
        invocation
            .with("AWS_ENDPOINT_URL", self.endpoint())
            .with("AWS_ACCESS_KEY_ID", USER)
            .with("AWS_SECRET_ACCESS_KEY", SECRET)
            .with("AWS_REGION", "us-east-1")
            .with("AWS_EC2_METADATA_DISABLED", "true")
    }

    fn open_door(&mut self) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        self.at = listener.local_addr().unwrap().port();
        let (door, over, port) = (
            Arc::clone(&self.door),
            Arc::clone(&self.over),
            Arc::clone(&self.port),
        );
        std::thread::spawn(move || {
            for guest in listener.incoming() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(guest) = guest else { continue };
                let (door, port) = (Arc::clone(&door), Arc::clone(&port));
                std::thread::spawn(move || drop(let_in(&guest, &door, &port)));
            }
        });
    }
}

/// One connection through the door.
fn let_in(guest: &TcpStream, does: &AtomicU8, port: &AtomicU16) -> std::io::Result<()> {
    let door = DOORS[usize::from(does.load(Ordering::Relaxed))];
    let close = || guest.shutdown(Shutdown::Both);
    match door {
        Door::Shut => return close(),
        Door::Busy => {
            let mut head = [0; 4096];
            let _ = (&*guest).read(&mut head)?;
            let busy = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            (&*guest).write_all(busy.as_bytes())?;
            return close();
        }
        Door::Silent => {
            while does.load(Ordering::Relaxed) == Door::Silent as u8 {
                std::thread::sleep(Duration::from_millis(20));
            }
            return close();
        }
        Door::Open | Door::Deaf | Door::Torn => {}
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", port.load(Ordering::Relaxed))) else {
        return close();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let limit = if door == Door::Torn { 3000 } else { usize::MAX };
            drop(carry(guest, &server, limit));
            drop(server.shutdown(Shutdown::Write));
            if door == Door::Torn {
                drop(guest.shutdown(Shutdown::Both));
            }
        });
        if door == Door::Deaf {
            // It is heard that there is an answer, and nothing of it goes on.
            let mut first = [0; 1];
            drop((&server).read(&mut first));
        } else {
            drop(carry(&server, guest, usize::MAX));
        }
        drop(guest.shutdown(Shutdown::Both));
        drop(server.shutdown(Shutdown::Both));
    });
    Ok(())
}

fn carry(mut from: &TcpStream, mut to: &TcpStream, most: usize) -> std::io::Result<()> {
    let mut bytes = [0; 16 << 10];
    let mut left = most;
    loop {
        let room = bytes.len().min(left);
        let count = from.read(&mut bytes[..room])?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&bytes[..count])?;
        left -= count;
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // The door wakes up.
        drop(TcpStream::connect(("127.0.0.1", self.at)));
        self.kill();
    }
}
