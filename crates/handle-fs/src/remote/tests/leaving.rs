//! Goodbye is said and not waited for.

use std::os::unix::net::UnixStream;

use super::super::agent::Wire;
use super::super::message::receive;
use super::super::protocol::{Call, Request};

#[test]
fn an_agent_that_never_answers_is_left_all_the_same() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let wire = Wire::new(Box::new(ours.try_clone().unwrap()), Box::new(ours));
    wire.leave().unwrap();
    let said: Request = receive(&mut theirs).unwrap().unwrap();
    assert!(matches!(said.call, Call::Leave));
    // From then on nobody asks, and so nobody waits.
    assert!(wire.is_broken());
    assert!(wire.ask(Vec::new(), Call::Clock { fine: false }).is_err());
    wire.leave().unwrap_err();
}
