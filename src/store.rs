//! The store: archives, records, receipts, catalog, locks.

pub mod archive;
