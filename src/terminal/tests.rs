//! Output is clean, fits, and stops calmly if the reader is gone.

mod door;
mod facts;
mod progress;
mod table;
mod width;
