//! What reads bytes that somebody else may have written, fed with any bytes: one function for each target. cargo-fuzz calls
//! them (`targets/`), and the ordinary tests do (`tests/fuzz.rs`). A promise that does not hold is a panic.
//! Each says whether the input got to its end, which every seed does.

mod archive;
mod config;
mod feed;
mod git;
mod manifest;
mod names;
mod papers;
mod patch;
mod receipts;
mod record;
mod seeds;
mod store;
mod stream;
mod text;
mod tree;
mod world;

pub use archive::archive;
pub use config::config;
pub use git::git;
pub use manifest::manifest;
pub use papers::papers;
pub use patch::patch;
pub use receipts::receipts;
pub use record::record;
pub use seeds::seeds;
pub use stream::stream;
pub use text::text;
