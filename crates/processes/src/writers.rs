//! Files that processes can write to right now: through an open descriptor, or through a shared mapping (proc(5)).

#[cfg(target_os = "linux")]
pub use linux::{WriterSearch, writers_of};
#[cfg(not(target_os = "linux"))]
pub use other::{WriterSearch, writers_of};

/// Process that has a file open for writing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Writer {
    /// Inode number of the file.
    pub ino: u64,
    /// Path of the file, as the process sees it.
    pub path: std::path::PathBuf,
    /// Number of the process.
    pub pid: u32,
    /// Name that the process gives itself, which proves nothing.
    pub name: String,
}

/// Result of one part of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// A process can write to a file, or that cannot be determined.
    Found,
    /// No process can.
    Nothing,
    /// It was stopped, and can go on.
    Stopped,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{BTreeSet, HashSet};
    use std::ffi::OsStr;
    use std::fs::{self, Metadata};
    use std::io;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::{Path, PathBuf};

    use super::{Search, Writer};
    use crate::linux::{all, list};

    /// Access modes of open(2) that allow to write.
    const WRITABLE: u32 = 3;
    /// Times that the path of an open file is looked up: it can be renamed or removed at any moment.
    const LOOKS: usize = 4;

    /// Search for a process, other than this one, that has a file open for writing or mapped as shared. A process that this user may not
    /// examine is taken to have none.
    #[derive(Debug)]
    pub struct WriterSearch {
        devices: Vec<u64>,
        /// Processes that were examined.
        examined: HashSet<(u32, u64)>,
    }

    impl WriterSearch {
        /// Begins a search for files on the file systems of these directories.
        ///
        /// # Errors
        /// The system's error.
        pub fn begin(roots: &[PathBuf]) -> io::Result<Self> {
            let devices = roots.iter().map(|root| Ok(fs::metadata(root)?.dev()));
            Ok(Self {
                devices: devices.collect::<io::Result<_>>()?,
                examined: HashSet::new(),
            })
        }

        /// Goes on until `stops`. Only files count for which `counts` is true.
        pub fn go_on(&mut self, counts: &dyn Fn(&Path) -> bool, stops: &dyn Fn() -> bool) -> Search {
            let own = std::process::id();
            loop {
                let Ok(all) = list() else {
                    return Search::Found;
                };
                // A process that began meanwhile may have a file of one that has closed it since.
                let mut rest = all
                    .into_iter()
                    .filter(|one| !self.examined.contains(one))
                    .peekable();
                if rest.peek().is_none() {
                    return match is_disk(counts) {
                        true => Search::Found,
                        false => Search::Nothing,
                    };
                }
                let sought = Sought {
                    counts,
                    devices: &self.devices,
                };
                let mut examined = Vec::new();
                let mut end = None;
                for (pid, identity) in rest {
                    if stops() {
                        end = Some(Search::Stopped);
                        break;
                    }
                    if pid != own && (sought.is_open(pid) || sought.is_mapped(pid)) {
                        end = Some(Search::Found);
                        break;
                    }
                    examined.push((pid, identity));
                }
                self.examined.extend(examined);
                if let Some(end) = end {
                    return end;
                }
            }
        }
    }

    /// Returns the processes, other than this one, that have one of the files with these inode numbers open for writing, on the file system
    /// of `root`, or a file below one of `places`. A process that this user may not examine is taken to have none, and so is one that has
    /// only mapped a file.
    #[must_use]
    pub fn writers_of(root: &Path, inodes: &BTreeSet<u64>, places: &[PathBuf]) -> Vec<Writer> {
        let own = std::process::id();
        let Ok(device) = fs::metadata(root).map(|facts| facts.dev()) else {
            return Vec::new();
        };
        let mut found = BTreeSet::new();
        let living = all().unwrap_or_default().into_iter();
        for seen in living.filter(|seen| !seen.dead && seen.pid != own) {
            let Ok(handles) = fs::read_dir(format!("/proc/{}/fd", seen.pid)) else {
                continue;
            };
            for handle in handles.flatten() {
                let Ok(facts) = fs::metadata(handle.path()) else {
                    continue;
                };
                if !facts.is_file() || facts.dev() != device {
                    continue;
                }
                let path = || fs::read_link(handle.path()).unwrap_or_default();
                let is_below = || {
                    let path = path();
                    facts.nlink() > 0 && places.iter().any(|place| path.starts_with(place))
                };
                let is_sought = inodes.contains(&facts.ino()) || (!places.is_empty() && is_below());
                if is_sought && is_writable(seen.pid, &handle.file_name()) {
                    found.insert(Writer {
                        ino: facts.ino(),
                        path: path(),
                        pid: seen.pid,
                        name: seen.name.clone(),
                    });
                }
            }
        }
        found.into_iter().collect()
    }

    /// Returns true if a file that counts is the disk of a loop device (loop(4)): the kernel writes to it.
    fn is_disk(counts: &dyn Fn(&Path) -> bool) -> bool {
        let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let files = devices.filter_map(|device| fs::read(device.path().join("loop/backing_file")).ok());
        let mut paths = files.map(|path| PathBuf::from(OsStr::from_bytes(path.trim_ascii_end())));
        paths.any(|path| counts(&path))
    }

    struct Sought<'a> {
        counts: &'a dyn Fn(&Path) -> bool,
        devices: &'a [u64],
    }

    impl Sought<'_> {
        /// Returns true if a descriptor of the process can write to such a file.
        fn is_open(&self, pid: u32) -> bool {
            // It ended, or another user's is not shown.
            let Ok(handles) = fs::read_dir(format!("/proc/{pid}/fd")) else {
                return false;
            };
            handles.flatten().any(|handle| {
                let Ok(facts) = fs::metadata(handle.path()) else {
                    return false;
                };
                facts.is_file()
                    && self.devices.contains(&facts.dev())
                    && is_writable(pid, &handle.file_name())
                    && self.counts_open(&handle.path())
            })
        }

        /// Returns true if the file of this descriptor counts, or may do so. Its path can change while it is looked at.
        fn counts_open(&self, handle: &Path) -> bool {
            for _ in 0..LOOKS {
                let Ok(facts) = fs::metadata(handle) else {
                    return false;
                };
                if facts.nlink() == 0 {
                    return false;
                }
                let path = fs::read_link(handle).unwrap_or_default();
                if is_at(&path, &facts) {
                    return (self.counts)(&path);
                }
            }
            true
        }

        /// Returns true if the process shares such a file through a mapping. One that can only be read now may be made writable.
        fn is_mapped(&self, pid: u32) -> bool {
            let Ok(table) = fs::read(format!("/proc/{pid}/maps")) else {
                return false;
            };
            table
                .split(|byte| *byte == b'\n')
                .any(|line| self.is_shared(line).unwrap_or(false))
        }

        /// Judges a line: addresses, rights, offset, device, inode, path.
        fn is_shared(&self, line: &[u8]) -> Option<bool> {
            let mut fields = line.splitn(6, |byte| *byte == b' ');
            let (rights, device, ino) = (fields.nth(1)?, fields.nth(1)?, fields.next()?);
            if rights.last() != Some(&b's') || ino == b"0" {
                return Some(false);
            }
            let ino: u64 = std::str::from_utf8(ino).ok()?.parse().ok()?;
            // A line break is shown as `\012`.
            let path = handle_fs::unescaped(fields.next()?.trim_ascii_start());
            let path = Path::new(OsStr::from_bytes(&path));
            match fs::metadata(path) {
                Ok(facts) if facts.ino() == ino => Some((self.counts)(path)),
                // It is deleted, or has another path for this process.
                _ => {
                    let mut all = self.devices.iter();
                    Some(all.any(|one| device == shown(*one).as_bytes()))
                }
            }
        }
    }

    /// Returns true if this file has this path here.
    fn is_at(path: &Path, facts: &Metadata) -> bool {
        fs::metadata(path).is_ok_and(|named| (named.dev(), named.ino()) == (facts.dev(), facts.ino()))
    }

    fn is_writable(pid: u32, handle: &OsStr) -> bool {
        let path = Path::new("/proc")
            .join(pid.to_string())
            .join("fdinfo")
            .join(handle);
        let flags = fs::read_to_string(path).ok().and_then(|text| {
            let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
            u32::from_str_radix(flags.trim(), 8).ok()
        });
        flags.is_none_or(|flags| flags & WRITABLE != 0)
    }

    /// Returns a device as the table of mappings shows it.
    fn shown(device: u64) -> String {
        let major = (device >> 8) & 0xfff | (device >> 32) & !0xfff;
        let minor = device & 0xff | (device >> 12) & !0xff;
        format!("{major:02x}:{minor:02x}")
    }

    #[cfg(test)]
    mod tests {
        use super::shown;

        #[test]
        fn a_device_is_shown_as_the_kernel_shows_it() {
            for (device, text) in [(0x0801, "08:01"), (0x1_0315, "103:15"), (0x0010_0023, "00:123")] {
                assert_eq!(shown(device), text, "{device:x}");
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::collections::BTreeSet;
    use std::io;
    use std::path::{Path, PathBuf};

    use super::{Search, Writer};

    /// Returns no process: this system shows no open files.
    #[must_use]
    pub fn writers_of(_: &Path, _: &BTreeSet<u64>, _: &[PathBuf]) -> Vec<Writer> {
        Vec::new()
    }

    /// Search for a process that has a file open for writing: none on this system.
    #[derive(Debug)]
    pub struct WriterSearch;

    impl WriterSearch {
        /// Begins a search.
        ///
        /// # Errors
        /// None.
        pub fn begin(_: &[PathBuf]) -> io::Result<Self> {
            Ok(Self)
        }

        /// Returns that it cannot be determined.
        pub fn go_on(&mut self, _: &dyn Fn(&Path) -> bool, _: &dyn Fn() -> bool) -> Search {
            Search::Found
        }
    }
}
