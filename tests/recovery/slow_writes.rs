//! One `write(2)` that is under way while a snapshot is taken: its times moved when it began, and its bytes come later.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::support::build::Build;
use crate::support::folding::Rules;
use crate::support::machine::{skip, tool};
use crate::support::patience::await_that;
use crate::support::rows::rows;
use crate::support::sandbox::Sandbox;
use crate::support::volume::Volume;

/// As large as a file can be that is read at once; the kernel takes up to 2 MiB of a call before it stores them.
const SIZE: usize = 4 << 20;
const ANSWERED: u64 = 3 << 20;
/// From so many files on, the whole file system is written back before they are read.
const MANY: usize = 300;
const FEW: usize = 20;

/// Writes the bytes of one file over another one with a single call.
const PROGRAM: &str = "
import mmap, os, sys
source = open(sys.argv[1], 'rb')
data = mmap.mmap(source.fileno(), 0, prot=mmap.PROT_READ)
os.pwrite(os.open(sys.argv[2], os.O_WRONLY), data, 0)
";

/// The call; it goes on when this is dropped, and has ended then.
struct Call {
    child: Child,
    rules: Rules,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.rules.held.store(0, Ordering::SeqCst);
        drop(self.child.wait());
    }
}

/// The last quarter of what the call writes lies on a disk that does not answer yet.
fn captured_whole(files: usize, mount: impl Fn(&Path) -> Option<Volume>) {
    let Some(python) = tool("python3") else {
        skip("a write that takes long", "python3 is not installed");
        return;
    };
    let sandbox = Sandbox::new();
    let disk = sandbox.sources().join("disk");
    let Some(_volume) = mount(&disk) else { return };
    let rules = Rules::default();
    let slow = sandbox.sources().join("slow");
    let Some(_slow) = Volume::ruled(&slow, rules.clone()) else {
        return;
    };
    Build::at(&slow).file("source", vec![b'B'; SIZE]);
    let project = disk.join("project");
    Build::at(&project).file("image", vec![b'A'; SIZE]).aged();
    let id = sandbox.begin(&project);
    for number in 0..files {
        fs::write(project.join(format!("new-{number}")), number.to_string()).unwrap();
    }
    rules.held.store(ANSWERED, Ordering::SeqCst);
    let image = project.join("image");
    let mut python = Command::new(python);
    let words = [&slow.join("source"), &image];
    let child = python.args(["-c", PROGRAM]).args(words).spawn().unwrap();
    let call = Call { child, rules };
    await_that("a part of it to be written", || {
        let now = fs::read(&image).unwrap();
        now.first() == Some(&b'B') && now.last() == Some(&b'A')
    });
    std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| sandbox.jackin(["checkpoint", &id, "--name", "amid"]).ok());
        // As long as the capture takes if it does not wait for the call.
        let until = Instant::now() + Duration::from_secs(3);
        while !checkpoint.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(call);
        checkpoint.join().unwrap();
    });
    sandbox.jackin(["end", &id]).ok();
    assert!(fs::read(&image).unwrap() == vec![b'B'; SIZE]);
    for snapshot in ["amid", "closing"] {
        let run = sandbox.jackin(["cat", &format!("{id}:{snapshot}"), "image"]).ok();
        let last = run.stdout.last().copied();
        assert!(
            run.stdout == vec![b'B'; SIZE],
            "{snapshot} is torn: ends with {last:?}"
        );
    }
}

rows! {
    captured_whole:
    a_file_that_one_call_is_filling_is_captured_whole(MANY, |at| Volume::image(at, "ext4", 64 << 20, &["mkfs.ext4", "-q"]));
    a_file_that_one_call_is_filling_beside_few_is_captured_whole(FEW, |at| Volume::image(at, "ext4", 64 << 20, &["mkfs.ext4", "-q"]));
    a_file_that_one_call_is_filling_in_memory_is_captured_whole(MANY, Volume::tmpfs);
}
