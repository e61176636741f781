//! Repositories that git makes are read as git reads them; hostile ones end in an error or a doubt.

mod executables;
mod hostile;
mod index;
mod objects;
mod refs;
pub(crate) mod scratch;
mod settings;
mod state;
