//! What leaves the program is clean, fits, and stops calmly when nobody reads.

mod door;
mod facts;
mod progress;
mod sanitize;
mod shell;
mod size;
mod table;
mod width;
