//! Restores in a simulated file system: a crash at every call, and every error at every call.

mod cases;
mod crashes;
mod decided;
mod done;
mod errors;
mod folded;
mod judge;
mod meddled;
mod outages;
mod retried;
mod session;

use session::{Ended, Session, Verb, World};

use crate::simulated_share::{stride, wants_all};
