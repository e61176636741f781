//! Builds trees for tests: every type and attribute, any name, parents made on the way.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, XattrFlags, lsetxattr, utimensat};

use super::machine::{run_tool, skip, tool};

/// Builds below one directory. Each step panics with the path that it failed on.
pub(crate) struct Build {
    root: PathBuf,
}

impl Build {
    /// Below `root`, which is made when it is missing.
    #[track_caller]
    pub(crate) fn at(root: &Path) -> Self {
        fs::create_dir_all(root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
        Self {
            root: root.to_path_buf(),
        }
    }

    /// The host path of `path`, its parent made.
    #[track_caller]
    pub(crate) fn place(&self, path: impl AsRef<[u8]>) -> PathBuf {
        let place = self.root.join(OsStr::from_bytes(path.as_ref()));
        let parent = place.parent().expect("it lies below a directory");
        fs::create_dir_all(parent).unwrap_or_else(|error| panic!("{}: {error}", parent.display()));
        place
    }

    /// A regular file, 0644 whatever the umask; what was there is overwritten.
    #[track_caller]
    pub(crate) fn file(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> &Self {
        let place = self.place(&path);
        fs::write(&place, content).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
        self.mode(path, 0o644)
    }

    /// A directory, 0755 whatever the umask.
    #[track_caller]
    pub(crate) fn dir(&self, path: impl AsRef<[u8]>) -> &Self {
        let place = self.place(&path);
        fs::create_dir_all(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
        self.mode(path, 0o755)
    }

    /// Sets the mode, set-id and sticky bits included.
    #[track_caller]
    pub(crate) fn mode(&self, path: impl AsRef<[u8]>, mode: u32) -> &Self {
        let place = self.place(path);
        fs::set_permissions(&place, fs::Permissions::from_mode(mode))
            .unwrap_or_else(|error| panic!("{}: {error}", place.display()));
        self
    }

    /// A symbolic link with exactly this target.
    #[track_caller]
    pub(crate) fn symlink(&self, path: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> &Self {
        let place = self.place(path);
        std::os::unix::fs::symlink(OsStr::from_bytes(target.as_ref()), &place)
            .unwrap_or_else(|error| panic!("{}: {error}", place.display()));
        self
    }

    /// One more name for the file at `old`.
    #[track_caller]
    pub(crate) fn hard_link(&self, path: impl AsRef<[u8]>, old: impl AsRef<[u8]>) -> &Self {
        let place = self.place(path);
        fs::hard_link(self.place(old), &place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
        self
    }

    /// A named pipe.
    #[track_caller]
    pub(crate) fn fifo(&self, path: impl AsRef<[u8]>) -> &Self {
        self.node(path, |place| handle_fs::make_fifo(CWD, place.as_os_str()))
    }

    /// A socket without a listener. Made at the top, for an address has at most 104 bytes and a path more.
    #[track_caller]
    pub(crate) fn socket(&self, path: impl AsRef<[u8]>) -> &Self {
        let made = self.place(".s");
        self.node(path, |place| {
            std::os::unix::net::UnixListener::bind(&made)?;
            fs::rename(&made, place)
        })
    }

    /// A character device; needs root.
    #[track_caller]
    pub(crate) fn device(&self, path: impl AsRef<[u8]>, major: u32, minor: u32) -> &Self {
        self.node(path, |place| {
            handle_fs::make_device(CWD, place.as_os_str(), false, major, minor)
        })
    }

    #[track_caller]
    fn node(&self, path: impl AsRef<[u8]>, make: impl FnOnce(&Path) -> std::io::Result<()>) -> &Self {
        let place = self.place(&path);
        make(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
        self.mode(path, 0o640)
    }

    /// An extended attribute. Says so when the file system has none.
    #[track_caller]
    pub(crate) fn attribute(&self, path: impl AsRef<[u8]>, name: &str, value: impl AsRef<[u8]>) -> &Self {
        let place = self.place(path);
        match lsetxattr(&place, name, value.as_ref(), XattrFlags::empty()) {
            Ok(()) => {}
            Err(rustix::io::Errno::NOTSUP) => skip("extended attributes", "the file system has none"),
            Err(error) => panic!("{}: {name}: {error}", place.display()),
        }
        self
    }

    /// An access control list entry, in `setfacl`'s words.
    #[track_caller]
    pub(crate) fn acl(&self, path: impl AsRef<[u8]>, entry: &str) -> &Self {
        if tool("setfacl").is_none() {
            skip("access control lists", "setfacl is not installed");
            return self;
        }
        run_tool(
            Command::new("setfacl")
                .args(["-m", entry, "--"])
                .arg(self.place(path)),
        );
        self
    }

    /// A file of `size` bytes with holes everywhere but at the given offsets.
    #[track_caller]
    pub(crate) fn sparse(&self, path: impl AsRef<[u8]>, size: u64, data: &[(u64, &[u8])]) -> &Self {
        use std::os::unix::fs::FileExt as _;
        let file = fs::File::create(self.place(&path)).unwrap();
        file.set_len(size).unwrap();
        for (offset, bytes) in data {
            file.write_all_at(bytes, *offset).unwrap();
        }
        self.mode(path, 0o644)
    }

    /// A file of `size` bytes, each 4096 of them different from all others, and cheap to compress.
    #[track_caller]
    pub(crate) fn big(&self, path: impl AsRef<[u8]>, size: u64) -> &Self {
        use std::io::Write as _;
        let mut file =
            std::io::BufWriter::with_capacity(1 << 20, fs::File::create(self.place(&path)).unwrap());
        for block in 0..size.div_ceil(4096) {
            let length = usize::try_from((size - block * 4096).min(4096)).expect("it is at most 4096");
            let page = format!("{block:016x}").repeat(256);
            file.write_all(&page.as_bytes()[..length]).unwrap();
        }
        file.flush().unwrap();
        self.mode(path, 0o644)
    }

    /// Sets the modification time in seconds and nanoseconds; a link's own one.
    #[track_caller]
    pub(crate) fn time(&self, path: impl AsRef<[u8]>, seconds: i64, nanoseconds: u32) -> &Self {
        set_time(&self.place(path), seconds, nanoseconds);
        self
    }

    /// Gives everything a modification time in the past, each path its own, down to the nanosecond: so no test
    /// depends on how coarse the clock of the file system is, and a lost nanosecond shows.
    #[track_caller]
    pub(crate) fn aged(&self) -> &Self {
        let paths = walkdir::WalkDir::new(&self.root)
            .contents_first(true)
            .sort_by_file_name();
        for (second, entry) in paths.into_iter().enumerate() {
            let second = i64::try_from(second).expect("it is small");
            let nanosecond = u32::try_from(second % 1000).expect("it is small") * 1_000_003 + 7;
            // Directories that may not be listed were listed as themselves; they cannot be looked into.
            if let Ok(entry) = entry {
                set_time(entry.path(), 1_700_000_000 + second, nanosecond % 1_000_000_000);
            }
        }
        self
    }
}

/// So many bytes that nothing compresses; the same for the same seed.
pub(crate) fn noise(seed: &str, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    blake3::Hasher::new()
        .update(seed.as_bytes())
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

#[track_caller]
fn set_time(path: &Path, seconds: i64, nanoseconds: u32) {
    let time = Timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds.into(),
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
