//! What a person reads.

mod contract;
