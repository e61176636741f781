//! Work in a process of its own: this test binary runs one of its tests again, so that a umask or a kill -9
//! is real.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::*;

const ROOT: &str = "JACKIN_TEST_STORE";
const JOB: &str = "JACKIN_TEST_JOB";

fn command(umask: &str, root: &Path, job: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "store::tests::children::work", "--nocapture"])
        .env(ROOT, root)
        .env(JOB, job);
    command
}

/// Runs a job to its end.
pub(super) fn run(umask: &str, root: &Path, job: &str) {
    let out = command(umask, root, job).output().unwrap();
    assert!(
        out.status.success(),
        "{}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
}

/// Starts a job and returns when it says that it holds what it is to hold.
pub(super) fn hold(root: &Path, job: &str) -> Child {
    let mut child = command("022", root, job)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(
        lines.any(|line| line.unwrap().contains("holding")),
        "the child ended early"
    );
    child
}

/// Ends it as a crash does.
pub(super) fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn wait_for_the_end() {
    println!("\nholding");
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read(&mut [0]);
}

/// Runs the job of a child process. Without a job, runs the one that ends by itself, and checks what it leaves.
#[test]
fn work() {
    if let (Some(root), Ok(job)) = (std::env::var_os(ROOT), std::env::var(JOB)) {
        let store = Store::open_write(Path::new(&root)).unwrap();
        return run_job(&store, &job);
    }
    let place = Place::new();
    let store = place.write();
    run_job(&store, "everything");
    let record = store.record(&snapshot(1)).unwrap();
    assert_eq!(record.archives, [archive_ref(snapshot(1).archive())]);
    assert_eq!(
        fs::read(store.layout().archive(&snapshot(1).archive())).unwrap(),
        b"abc"
    );
    assert!(
        store.layout().draft(&snapshot(2)).is_dir(),
        "the second draft is left"
    );
}

fn run_job(store: &Store, job: &str) {
    match job {
        "everything" => {
            let draft = store.draft(snapshot(1)).unwrap();
            draft
                .archive_file(&draft.id().archive())
                .unwrap()
                .write_all(b"abc")
                .unwrap();
            draft.publish_archive(&snapshot(1).archive()).unwrap();
            let mut record = record(1);
            record.archives.push(archive_ref(snapshot(1).archive()));
            draft.publish(&record).unwrap();
            store.append(at(1), 0, &instance(1), begin("/srv/one")).unwrap();
            let _left = store.draft(snapshot(2)).unwrap();
            std::mem::forget((_left, store.lock_instance(&instance(1)).unwrap()));
        }
        "draft" => {
            let draft = store.draft(snapshot(1)).unwrap();
            draft
                .archive_file(&draft.id().archive())
                .unwrap()
                .write_all(b"abc")
                .unwrap();
            draft.publish_archive(&snapshot(1).archive()).unwrap();
            wait_for_the_end();
        }
        "published" => {
            let draft = store.draft(snapshot(1)).unwrap();
            draft
                .archive_file(&draft.id().archive())
                .unwrap()
                .write_all(b"abc")
                .unwrap();
            draft.publish_archive(&snapshot(1).archive()).unwrap();
            // As publish does it, with the kill before the draft's directory goes.
            let mut record = record(1);
            record.archives.push(archive_ref(snapshot(1).archive()));
            let bytes = serde_json::to_vec(&record).unwrap();
            fs::write(store.layout().record(&snapshot(1)), bytes).unwrap();
            wait_for_the_end();
        }
        "instance" => {
            let _lock = store.lock_instance(&instance(1)).unwrap();
            // A child of the holder outlives it and must not hold the lock on.
            let mut sleep = Command::new("sleep");
            let mut grandchild = sleep
                .arg("3")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            wait_for_the_end();
            grandchild.wait().unwrap();
        }
        other => panic!("no job {other}"),
    }
}
