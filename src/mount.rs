//! A mount: a directory an agent may write, reached through held handles only. Local directories for now; other kinds
//! come beside [`local`].

pub mod local;

pub use local::{Dir, Frozen, MountError, Root};
