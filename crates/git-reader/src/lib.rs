//! Reads git repositories by their files. Git is never started: what a stranger wrote into a repository can make it run
//! programs.
//!
//! Every byte is taken for hostile: each read is bounded, no link is followed ([`places_outside`] reads their targets as text), nothing
//! outside the [`Files`] is read, and what cannot be read is an error or stands in [`Repository::doubts`].

mod config;
mod config_files;
mod config_text;
mod delta;
mod error;
mod executables;
mod files;
mod index;
mod named;
mod object;
mod object_directory;
mod object_format;
mod object_kind;
mod oid;
mod outside;
mod pack;
mod pack_index;
mod reading;
mod refs;
mod remotes;
mod repository;
mod state;
mod store;
mod tips;
mod unpushed;
mod walk;

pub use config::{Config, ConfigEntry};
pub use error::GitError;
pub use executables::{Executable, driver_lines, executables};
pub use files::{Files, Found, Live};
pub use index::{Index, IndexEntry, IndexFiles, is_shared_index, shared_index, stages_the_same};
pub use named::{COMMIT, EXECUTABLE, LINK, Named, Unreadable, relative, within};
pub use object::{Commit, Object, TreeEntry};
pub use object_format::ObjectFormat;
pub use object_kind::ObjectKind;
pub use oid::{Oid, blob_id};
pub use outside::places_outside;
pub use reading::{below, whole};
pub use refs::Head;
pub use remotes::{Remote, Submodule, without_credentials};
pub use repository::{GitDir, Repository, is_dot_git};
pub use state::{Operation, is_lock};
pub use store::indexed;
pub use tips::Tip;
pub use unpushed::{Unpushed, unpushed};

use std::collections::BTreeMap;

use object_format::{Id, Sha256};

/// Objects by the names of their refs.
pub type Refs = BTreeMap<Vec<u8>, Oid>;

#[cfg(test)]
mod tests;
