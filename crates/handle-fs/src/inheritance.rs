//! Marks that a directory passes on to each object made in it: a project id, and encryption with its key. The system moves an object into
//! such a directory only if the object bears the same ones, and fails with `CrossesDevices` otherwise.

use std::io;

use super::{AsHandle, kernel};

/// Kinds of marks that a directory passes on. Two directories of one kind may still differ in the project or the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inheritance(u32);

impl Inheritance {
    /// `FS_PROJINHERIT_FL`, ioctl_iflags(2).
    const PROJECT: u32 = 0x2000_0000;
    /// `FS_ENCRYPT_FL`. All objects below an encrypted directory have its key.
    const KEY: u32 = 0x800;

    /// Returns what a directory passes on; nothing where the file system has no such marks.
    pub fn of(dir: impl AsHandle) -> Self {
        Self(kernel::inode_flags(dir).unwrap_or_default() & (Self::PROJECT | Self::KEY))
    }

    /// Returns true if the directory passes nothing on, and so takes objects of any kind.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if a directory that passes on `other`, in the one that passes on `self`, takes what was made in the latter. An encrypted
    /// directory in another one has its key; two projects may differ.
    #[must_use]
    pub fn suits(self, other: Self) -> bool {
        other.0 & Self::PROJECT == 0 && self.covers(other)
    }

    /// Returns true if a directory that passes on `other` may take what was made in one that passes on `self`.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }
}

/// Makes a directory take objects of any project. What is made in it from then on has no project.
///
/// # Errors
/// The system's error, such as `PermissionDenied` in a user namespace.
pub fn end_inheritance(dir: impl AsHandle) -> io::Result<()> {
    let flags = kernel::inode_flags(&dir)?;
    Ok(kernel::set_inode_flags(&dir, flags & !Inheritance::PROJECT)?)
}

#[cfg(test)]
mod tests {
    use super::Inheritance;

    #[test]
    fn a_directory_is_staged_beside_only_if_it_takes_what_is_made_there() {
        let [none, project, key] = [0, Inheritance::PROJECT, Inheritance::KEY].map(Inheritance);
        // An encrypted directory in an encrypted one has its key.
        assert!(none.suits(none) && project.suits(none) && key.suits(none) && key.suits(key));
        assert!(!none.suits(key) && !none.suits(project));
        // Two directories with a project id each may have different ones.
        assert!(!project.suits(project) && project.covers(project));
        assert!(none.is_empty() && !key.is_empty());
    }
}
