//! Output is clean, fits, and stops calmly if the reader is gone.

mod door;
mod facts;
mod progress;
mod sanitize;
mod shell;
mod size;
mod table;
mod width;
