//! The workshop of the tests: a place to run in, exact trees and what differs in them, builders, documents.

pub(crate) mod background;
pub(crate) mod ballast;
pub(crate) mod bucket;
pub(crate) mod build;
pub(crate) mod carried;
pub(crate) mod compare;
pub(crate) mod conversation;
pub(crate) mod documents;
pub(crate) mod git;
pub(crate) mod invocation;
pub(crate) mod jackin;
pub(crate) mod kill;
pub(crate) mod machine;
pub(crate) mod mapping;
pub(crate) mod mcp;
pub(crate) mod nasty;
pub(crate) mod real_tree;
pub(crate) mod run;
pub(crate) mod sandbox;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod skipped;
pub(crate) mod stop;
pub(crate) mod tmux;
pub(crate) mod tree;
pub(crate) mod volume;
