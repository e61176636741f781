//! The floors: what the machine needs for the bare work, on all cores, with no bookkeeping at all. Nothing that keeps
//! the same promises can be faster. Prints the seconds of the work alone.
//!
//! usage: floor walk DIR | floor pack DIR OUT | floor write DIR OUT

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Instant;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Directories that wait, and how many threads are still at work.
struct Queue {
    state: Mutex<(Vec<PathBuf>, usize)>,
    changed: Condvar,
}

/// Lists every directory and asks for the facts of every entry, on all cores. Gives the files.
fn walk(root: &Path) -> Vec<PathBuf> {
    let queue = Queue {
        state: Mutex::new((vec![root.to_owned()], 0)),
        changed: Condvar::new(),
    };
    let files = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..cores() {
            scope.spawn(|| {
                let mut own = Vec::new();
                loop {
                    let mut state = queue.state.lock().unwrap();
                    let directory = loop {
                        if let Some(next) = state.0.pop() {
                            state.1 += 1;
                            break Some(next);
                        }
                        if state.1 == 0 {
                            break None;
                        }
                        state = queue.changed.wait(state).unwrap();
                    };
                    drop(state);
                    let Some(directory) = directory else { break };
                    let mut below = Vec::new();
                    for entry in fs::read_dir(&directory).unwrap() {
                        let entry = entry.unwrap();
                        let facts = entry.metadata().unwrap();
                        if facts.is_dir() {
                            below.push(entry.path());
                        } else if facts.is_file() {
                            own.push(entry.path());
                        }
                    }
                    let mut state = queue.state.lock().unwrap();
                    state.0.append(&mut below);
                    state.1 -= 1;
                    queue.changed.notify_all();
                }
                files.lock().unwrap().append(&mut own);
            });
        }
    });
    files.into_inner().unwrap()
}

/// Reads every file and gives the bytes to one `zstd -1` a core.
fn pack(root: &Path, out: &Path) -> io::Result<()> {
    let files = walk(root);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..cores() {
            let (files, next) = (&files, &next);
            scope.spawn(move || {
                let mut zstd = Command::new("zstd")
                    .args(["-1", "-q", "-f", "-o"])
                    .arg(out.join(format!("{number}.zst")))
                    .stdin(Stdio::piped())
                    .spawn()
                    .unwrap();
                let mut pipe = zstd.stdin.take().unwrap();
                let mut buffer = Vec::new();
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    buffer.clear();
                    File::open(path).unwrap().read_to_end(&mut buffer).unwrap();
                    pipe.write_all(&buffer).unwrap();
                }
                drop(pipe);
                assert!(zstd.wait().unwrap().success());
            });
        }
    });
    Ok(())
}

/// Writes the same files, from memory, into a new tree.
fn write(root: &Path, out: &Path) -> io::Result<f64> {
    let mut contents = Vec::new();
    for path in walk(root) {
        let place = out.join(path.strip_prefix(root).unwrap());
        contents.push((place, fs::read(&path)?));
    }
    let began = Instant::now();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..cores() {
            scope.spawn(|| {
                while let Some((path, bytes)) = contents.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if fs::write(path, bytes).is_err() {
                        fs::create_dir_all(path.parent().unwrap()).unwrap();
                        fs::write(path, bytes).unwrap();
                    }
                }
            });
        }
    });
    Ok(began.elapsed().as_secs_f64())
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let began = Instant::now();
    let seconds = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["walk", root] => {
            walk(Path::new(root));
            began.elapsed().as_secs_f64()
        }
        ["pack", root, out] => {
            pack(Path::new(root), Path::new(out))?;
            began.elapsed().as_secs_f64()
        }
        ["write", root, out] => write(Path::new(root), Path::new(out))?,
        _ => {
            eprintln!("usage: floor walk DIR | floor pack DIR OUT | floor write DIR OUT");
            std::process::exit(2);
        }
    };
    println!("{seconds:.6}");
    Ok(())
}
