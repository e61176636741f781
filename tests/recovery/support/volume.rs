//! A file system of any kind, mounted for the life of the value.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::folding::{self, Rules};
use super::machine::{is_root, run_tool, skip, tool};
use super::patience::await_that;

/// What is mounted; a test that cannot have it here says so and is `None`.
pub(crate) struct Volume {
    at: PathBuf,
}

impl Volume {
    /// A file system in memory.
    pub(crate) fn tmpfs(at: &Path) -> Option<Self> {
        Self::mount(at, &["-t", "tmpfs", "none"])
    }

    /// One in memory with these limits.
    pub(crate) fn tmpfs_of(at: &Path, limits: &str) -> Option<Self> {
        Self::mount(at, &["-t", "tmpfs", "-o", limits, "none"])
    }

    /// A new file system of this kind in a file of so many bytes; `make` is what makes it, with its flags.
    pub(crate) fn image(at: &Path, kind: &str, bytes: u64, make: &[&str]) -> Option<Self> {
        let image = Self::made(at, bytes, make)?;
        Self::mount(at, &["-t", kind, "-o", "loop", image.to_str().unwrap()])
    }

    /// An ext4 file system that a process serves (`fuse2fs`): it can neither exchange two names nor refuse to replace one.
    pub(crate) fn served(at: &Path) -> Option<Self> {
        if tool("fuse2fs").is_none() {
            return Self::none(at, "fuse2fs is not installed");
        }
        let image = Self::made(at, 64 << 20, &["mkfs.ext4", "-q"])?;
        Self::done(at, Command::new("fuse2fs").arg(&image).arg(at))
    }

    /// One in memory that does not tell case apart, with or without the exchange of names.
    pub(crate) fn folding(at: &Path, exchanges: bool) -> Option<Self> {
        Self::ruled(at, Rules::folding(exchanges))
    }

    /// One in memory with these rules.
    pub(crate) fn ruled(at: &Path, rules: Rules) -> Option<Self> {
        if !is_root() {
            return Self::none(at, "only root can mount");
        }
        fs::create_dir_all(at).unwrap();
        match folding::mount(at, rules) {
            Ok(()) => Some(Self { at: at.to_path_buf() }),
            Err(why) => Self::none(at, &why),
        }
    }

    /// An overlay of `lower` and a new upper layer; `layers` is where that lies, `more` holds further options, each
    /// behind a comma.
    pub(crate) fn overlay(at: &Path, lower: &Path, layers: &Path, more: &str) -> Option<Self> {
        if super::machine::is_portable("there is no overlay") {
            return None;
        }
        let [upper, work] = ["upper", "work"].map(|name| layers.join(name));
        for directory in [&upper, &work] {
            fs::create_dir_all(directory).unwrap();
        }
        let options = format!(
            "lowerdir={},upperdir={},workdir={}{more}",
            lower.display(),
            upper.display(),
            work.display()
        );
        Self::mount(at, &["-t", "overlay", "-o", &options, "none"])
    }

    /// One in a file of so many bytes that turns read-only at its first error, as most systems mount ext4.
    pub(crate) fn careful(at: &Path, bytes: u64) -> Option<Self> {
        let image = Self::made(at, bytes, &["mkfs.ext4", "-q", "-m0"])?;
        let options = "loop,errors=remount-ro";
        Self::mount(at, &["-t", "ext4", "-o", options, image.to_str().unwrap()])
    }

    /// Whether it could be mounted read-only now; not while a file is open for writing.
    pub(crate) fn try_read_only(&self) -> bool {
        self.remounted("remount,ro")
    }

    /// Makes the kernel find an error in it: it is read-only from now on, whatever is open. `false` where that is not to be had.
    pub(crate) fn fail(&self) -> bool {
        let found = run_tool(Command::new("findmnt").args(["-n", "-o", "SOURCE"]).arg(&self.at));
        let device = String::from_utf8(found).unwrap();
        let name = device.trim().trim_start_matches("/dev/");
        fs::write(format!("/sys/fs/ext4/{name}/trigger_fs_error"), "1").is_ok()
    }

    /// As when the power goes: what is not on the disk by now never gets there, and nothing works any more. `false` where that is
    /// not to be had.
    pub(crate) fn cut(&self) -> bool {
        let done = Command::new("xfs_io")
            .args(["-x", "-c", "shutdown"])
            .arg(&self.at)
            .output();
        done.is_ok_and(|output| output.status.success())
    }

    /// Writable again after [`Volume::try_read_only`].
    #[track_caller]
    pub(crate) fn writable(&self) {
        assert!(
            self.remounted("remount,rw"),
            "{} stays read-only",
            self.at.display()
        );
    }

    pub(crate) fn remounted(&self, how: &str) -> bool {
        let mut mount = Command::new("mount");
        let done = mount
            .args(["-o", how])
            .arg(&self.at)
            .stderr(Stdio::null())
            .status();
        done.is_ok_and(|status| status.success())
    }

    /// Unmounts what is in an image, does something to that, and mounts it again.
    #[track_caller]
    pub(crate) fn offline(&self, work: impl FnOnce(&Path)) {
        let image = self.released();
        work(&image);
        run_tool(
            Command::new("mount")
                .args(["-o", "loop"])
                .arg(&image)
                .arg(&self.at),
        );
    }

    /// Unmounts what is in an image, repairs an ext4 that was found wrong, and mounts it again: the next boot.
    #[track_caller]
    pub(crate) fn again(&self) {
        let kind = run_tool(Command::new("findmnt").args(["-n", "-o", "FSTYPE"]).arg(&self.at));
        let image = self.released();
        if kind.starts_with(b"ext4") {
            // What the error was made of is nothing that somebody would have to be asked about.
            let output = Command::new("e2fsck").arg("-fy").arg(&image).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.code().is_some_and(|code| code < 2), "{said}");
        }
        let words = ["-o", "loop,errors=remount-ro"];
        let words = if kind.starts_with(b"ext4") {
            words
        } else {
            ["-o", "loop"]
        };
        run_tool(Command::new("mount").args(words).arg(&image).arg(&self.at));
    }

    /// Unmounts what is in an image, and waits until it is mounted nowhere: a mount namespace that another test makes keeps it for a while.
    #[track_caller]
    fn released(&self) -> PathBuf {
        unmount(&self.at);
        let image = self.at.with_extension("image");
        let is_held = || {
            let devices = fs::read_dir("/sys/block").unwrap().flatten();
            let mut files =
                devices.filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
            files.any(|file| Path::new(file.trim_end()) == image)
        };
        await_that("the end of all mounts of the image", || !is_held());
        image
    }

    fn made(at: &Path, bytes: u64, make: &[&str]) -> Option<PathBuf> {
        if !is_root() {
            Self::none(at, "only root can mount")?;
        }
        let (program, flags) = make.split_first().unwrap();
        if tool(program).is_none() {
            Self::none(at, &format!("{program} is not installed"))?;
        }
        let image = at.with_extension("image");
        // The mount of an earlier one may still write to its file.
        let _ = fs::remove_file(&image);
        fs::File::create_new(&image).unwrap().set_len(bytes).unwrap();
        // It looks at the loop devices of all mounts, and fails when one of another test goes away meanwhile.
        let is_raced = || {
            let output = Command::new(program).args(flags).arg(&image).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let is_raced = said.contains("cannot check mount status");
            assert!(output.status.success() || is_raced, "{program}: {said}");
            !output.status.success()
        };
        await_that("a look of mkfs at the other mounts", || !is_raced());
        Some(image)
    }

    fn mount(at: &Path, words: &[&str]) -> Option<Self> {
        if !is_root() {
            return Self::none(at, "only root can mount");
        }
        Self::done(at, Command::new("mount").args(words).arg(at))
    }

    fn done(at: &Path, command: &mut Command) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let output = command.stdin(Stdio::null()).output();
        match output {
            Ok(output) if output.status.success() => Some(Self { at: at.to_path_buf() }),
            Ok(output) => Self::none(at, String::from_utf8_lossy(&output.stderr).trim()),
            Err(error) => Self::none(at, &error.to_string()),
        }
    }

    fn none(at: &Path, because: &str) -> Option<Self> {
        skip(&at.display().to_string(), because);
        None
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        // Lazily, so that a process which a failed test left behind cannot keep the mount.
        // A sandbox that went first has done it.
        if self.at.exists() {
            let _ = Command::new("umount").arg("-l").arg(&self.at).status();
        }
    }
}

/// Unmounts a file system. A child that another test has just started holds for a moment what this process had open in it.
#[track_caller]
pub(crate) fn unmount(at: &Path) {
    await_that(&format!("the end of the mount at {}", at.display()), || {
        Command::new("umount").arg(at).output().unwrap().status.success()
    });
}
