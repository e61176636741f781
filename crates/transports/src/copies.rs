//! The copy of the program on another machine: it removes itself when it starts, or is kept for later connections.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

/// Name of the copy in its directory.
const AGENT: &str = "agent";
/// File of the running program, also once its name is removed.
const OWN: &str = "/proc/self/exe";
/// Command with which a later connection compares the copy.
const DIGEST: &str = "sha256sum";
/// Rights that only the user has.
const PRIVATE: u32 = 0o700;

/// The copy that runs here.
#[derive(Debug)]
pub struct RunningCopy {
    /// Directory in which directories of copies are made; `None` if it is only known by a relative path.
    beside: Option<PathBuf>,
}

impl RunningCopy {
    /// Removes the copy in `directory`, which runs, and the directory.
    ///
    /// # Errors
    /// The system's error.
    pub fn temporary(directory: &Path) -> io::Result<Self> {
        std::fs::remove_file(directory.join(AGENT))?;
        std::fs::remove_dir(directory)?;
        Ok(Self::kept(directory))
    }

    /// Runs from `directory`, where an earlier connection kept it.
    #[must_use]
    pub fn kept(directory: &Path) -> Self {
        let beside = directory.parent().filter(|parent| parent.is_absolute());
        Self {
            beside: beside.map(Path::to_path_buf),
        }
    }

    /// Keeps the copy in the directory `name`, unless that would lie below one of `roots`, or nothing could compare it there.
    ///
    /// # Errors
    /// The system's error; `AlreadyExists` if the directory belongs to another user, or others may enter it.
    pub fn keep(&self, name: &str, roots: &[PathBuf]) -> io::Result<()> {
        let beside = self.beside.as_ref().ok_or(io::ErrorKind::InvalidInput)?;
        let real = beside.canonicalize()?;
        if !is_name(name) || roots.iter().any(|root| real.starts_with(root)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if !is_installed(DIGEST) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let directory = beside.join(name);
        match DirBuilder::new().mode(PRIVATE).create(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => ensure_private(&directory)?,
        }
        let copy = directory.join(AGENT);
        if is_running(&copy) {
            return Ok(());
        }
        let unfinished = directory.join(format!("{AGENT}.{}", std::process::id()));
        let written = write(&unfinished).and_then(|()| std::fs::rename(&unfinished, copy));
        if written.is_err() {
            // A full disk: what was written of it is in the way.
            let _ = std::fs::remove_file(&unfinished);
            let _ = std::fs::remove_dir(&directory);
        }
        written
    }

    /// Removes the directory `name` wherever a connection may have kept a copy, also one that is not whole.
    ///
    /// # Errors
    /// The system's error. The others are removed nevertheless.
    pub fn forget(&self, name: &str) -> io::Result<()> {
        if !is_name(name) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let own = std::env::var_os("TMPDIR").map(PathBuf::from);
        let usual = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
        let all = self.beside.iter().cloned().chain(own).chain(usual);
        all.map(|place| remove(&place.join(name)))
            .fold(Ok(()), io::Result::and)
    }
}

/// Returns true for a plain name of a directory.
fn is_name(name: &str) -> bool {
    Path::new(name)
        .components()
        .eq([Component::Normal(name.as_ref())])
        && !name.contains('/')
}

/// Returns true if a command of this name is in the search path.
fn is_installed(command: &str) -> bool {
    let search = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&search).any(|place| place.join(command).is_file())
}

/// Returns true if a file is the one that runs.
fn is_running(copy: &Path) -> bool {
    let facts = |path: &Path| {
        std::fs::metadata(path)
            .ok()
            .map(|found| (found.dev(), found.ino()))
    };
    facts(copy).is_some_and(|found| facts(Path::new(OWN)) == Some(found))
}

/// Removes a directory of this user alone, if it is there.
fn remove(directory: &Path) -> io::Result<()> {
    let removed = ensure_private(directory).and_then(|()| std::fs::remove_dir_all(directory));
    match removed {
        // Nothing of this user, or removed by another connection.
        Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::AlreadyExists].contains(&error.kind()) => {
            Ok(())
        }
        other => other,
    }
}

/// Refuses a directory in which another user could replace the copy.
fn ensure_private(directory: &Path) -> io::Result<()> {
    let found = directory.symlink_metadata()?;
    let is_own = found.is_dir() && found.uid() == handle_fs::own_ids().0 && found.mode() & 0o077 == 0;
    is_own
        .then_some(())
        .ok_or_else(|| io::ErrorKind::AlreadyExists.into())
}

/// Writes the running program to a new file.
fn write(path: &Path) -> io::Result<()> {
    let mut from = File::open(OWN)?;
    let mut to = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(PRIVATE)
        .open(path)?;
    io::copy(&mut from, &mut to)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::RunningCopy;

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "a copy runs on Linux")]
    fn a_copy_is_kept_once_and_forgotten() {
        let place = tempfile::tempdir().unwrap();
        let temporary = place.path().join("temporary");
        fs::create_dir(&temporary).unwrap();
        fs::write(temporary.join("agent"), "").unwrap();
        let copy = RunningCopy::temporary(&temporary).unwrap();
        assert!(!temporary.exists());
        copy.keep("tool-1", &[]).unwrap();
        let kept = place.path().join("tool-1");
        let own = fs::read("/proc/self/exe").unwrap();
        assert!(fs::read(kept.join("agent")).unwrap() == own);
        assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        // Another connection that was sent a copy as well.
        RunningCopy::kept(&temporary).keep("tool-1", &[]).unwrap();
        copy.forget("tool-2").unwrap();
        assert!(kept.exists());
        // Remains of a killed connection go with it, on the request of any other.
        fs::write(kept.join("agent.1"), "").unwrap();
        fs::remove_file(kept.join("agent")).unwrap();
        RunningCopy::kept(&kept).forget("tool-1").unwrap();
        assert!(!kept.exists());
        copy.forget("tool-1").unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_kept_in_a_mount_or_where_others_may_replace_it() {
        let place = tempfile::tempdir().unwrap();
        let beside = place.path().canonicalize().unwrap();
        let copy = RunningCopy::kept(&beside.join("temporary"));
        for name in ["", ".", "..", "a/b", "/tmp", "a/"] {
            assert!(copy.keep(name, &[]).is_err(), "{name:?}");
            assert!(copy.forget(name).is_err(), "{name:?}");
        }
        assert!(copy.keep("tool-1", std::slice::from_ref(&beside)).is_err());
        assert!(copy.keep("tool-1", &["/".into()]).is_err());
        let relative = RunningCopy::kept("temporary/tool".as_ref());
        assert!(relative.keep("tool-1", &[]).is_err());
        assert_eq!(fs::read_dir(&beside).unwrap().count(), 0);
        let wide = beside.join("tool-1");
        fs::create_dir(&wide).unwrap();
        fs::set_permissions(&wide, fs::Permissions::from_mode(0o770)).unwrap();
        std::os::unix::fs::symlink(&beside, beside.join("tool-2")).unwrap();
        for name in ["tool-1", "tool-2"] {
            assert!(copy.keep(name, &[]).is_err());
            copy.forget(name).unwrap();
        }
        assert_eq!(fs::read_dir(&beside).unwrap().count(), 2);
        assert_eq!(fs::read_dir(&wide).unwrap().count(), 0);
    }
}
