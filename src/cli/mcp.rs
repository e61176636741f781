//! `mcp`: checkpoints as tools of an agent, over the Model Context Protocol on standard input and output. What a tool does is what the
//! command of that name does inside a session, by the same code; this says it in another way.

mod act;
mod bound;
mod call;
mod lines;
mod results;
mod server;
mod text;
mod tools;

pub(super) use bound::Bound;
pub(super) use server::serve;
