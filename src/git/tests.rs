//! Repositories that git makes are read as git reads them; hostile ones end in an error or a doubt.

mod executables;
mod hostile;
mod index;
mod objects;
mod refs;
mod scratch;
mod settings;
mod state;
