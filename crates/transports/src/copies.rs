//! The copy of the program on another machine: it removes itself when it starts, or is kept for later connections.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

/// Name of the copy in its directory.
const AGENT: &str = "agent";
/// File of the running program, also once its name is removed.
const OWN: &str = "/proc/self/exe";
/// Rights that only the user has.
const PRIVATE: u32 = 0o700;

/// The copy that runs here.
#[derive(Debug)]
pub struct RunningCopy {
    /// Directory in which directories of copies are made.
    beside: PathBuf,
    /// Directory of the kept copy.
    kept: Option<PathBuf>,
}

impl RunningCopy {
    /// Removes the copy in `directory`, which runs, and the directory.
    ///
    /// # Errors
    /// The system's error.
    pub fn temporary(directory: &Path) -> io::Result<Self> {
        std::fs::remove_file(directory.join(AGENT))?;
        std::fs::remove_dir(directory)?;
        Ok(Self {
            beside: above(directory)?,
            kept: None,
        })
    }

    /// Runs from `directory`, where an earlier connection kept it.
    ///
    /// # Errors
    /// The directory has no parent.
    pub fn kept(directory: &Path) -> io::Result<Self> {
        Ok(Self {
            beside: above(directory)?,
            kept: Some(directory.to_path_buf()),
        })
    }

    /// Keeps the copy in the directory `name`, unless that would lie below one of `roots`.
    ///
    /// # Errors
    /// The system's error; `AlreadyExists` if the directory belongs to another user, or others may enter it.
    pub fn keep(&mut self, name: &str, roots: &[PathBuf]) -> io::Result<()> {
        if self.kept.is_some() {
            return Ok(());
        }
        let is_name = Path::new(name)
            .components()
            .eq([Component::Normal(name.as_ref())]);
        let beside = self.beside.canonicalize()?;
        if !is_name || roots.iter().any(|root| beside.starts_with(root)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let directory = self.beside.join(name);
        match DirBuilder::new().mode(PRIVATE).create(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => ensure_private(&directory)?,
        }
        let unfinished = directory.join(format!("{AGENT}.{}", std::process::id()));
        let written = write(&unfinished).and_then(|()| std::fs::rename(&unfinished, directory.join(AGENT)));
        if written.is_err() {
            // A full disk: what was written of it is in the way.
            let _ = std::fs::remove_file(&unfinished);
            let _ = std::fs::remove_dir(&directory);
        }
        written?;
        self.kept = Some(directory);
        Ok(())
    }

    /// Removes the kept copy. It may have been removed by another connection.
    ///
    /// # Errors
    /// The system's error.
    pub fn forget(&mut self) -> io::Result<()> {
        let Some(directory) = self.kept.take() else {
            return Ok(());
        };
        match std::fs::remove_dir_all(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn above(directory: &Path) -> io::Result<PathBuf> {
    let parent = directory.parent().filter(|parent| parent.is_absolute());
    Ok(parent.ok_or(io::ErrorKind::InvalidInput)?.to_path_buf())
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
        let mut copy = RunningCopy::temporary(&temporary).unwrap();
        assert!(!temporary.exists());
        copy.keep("tool-1", &[]).unwrap();
        let kept = place.path().join("tool-1");
        let own = fs::read("/proc/self/exe").unwrap();
        assert!(fs::read(kept.join("agent")).unwrap() == own);
        assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        // Another connection that was sent a copy as well.
        let mut other = RunningCopy {
            beside: place.path().to_path_buf(),
            kept: None,
        };
        other.keep("tool-1", &[]).unwrap();
        RunningCopy::kept(&kept).unwrap().forget().unwrap();
        assert!(!kept.exists());
        copy.forget().unwrap();
        other.forget().unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_kept_in_a_mount_or_where_others_may_replace_it() {
        let place = tempfile::tempdir().unwrap();
        let beside = place.path().canonicalize().unwrap();
        let keep = |name: &str, roots: &[_]| {
            let mut copy = RunningCopy {
                beside: beside.clone(),
                kept: None,
            };
            copy.keep(name, roots)
        };
        for name in ["", ".", "..", "a/b", "/tmp", "a/"] {
            assert!(keep(name, &[]).is_err(), "{name:?}");
        }
        assert!(keep("tool-1", std::slice::from_ref(&beside)).is_err());
        assert!(keep("tool-1", &["/".into()]).is_err());
        assert_eq!(fs::read_dir(&beside).unwrap().count(), 0);
        let wide = beside.join("tool-1");
        fs::create_dir(&wide).unwrap();
        fs::set_permissions(&wide, fs::Permissions::from_mode(0o770)).unwrap();
        assert!(keep("tool-1", &[]).is_err());
        std::os::unix::fs::symlink(&beside, beside.join("tool-2")).unwrap();
        assert!(keep("tool-2", &[]).is_err());
        assert_eq!(fs::read_dir(&wide).unwrap().count(), 0);
    }
}
