//! What commands show a person, as text made of plain values. Nothing here prints, asks or looks at the file system.

pub(super) mod contract;

#[cfg(test)]
mod tests;
