//! Tests of the text that a person reads.

mod contract;
mod reader;
