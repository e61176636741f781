//! Repositories that git makes are read as git reads them; hostile ones end in an error or a doubt.

mod executables;
mod git_command;
mod hostile;
mod index;
mod objects;
mod outside;
mod refs;
mod scratch;
mod settings;
mod state;
