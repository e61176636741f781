//! Stands in for the shell of another machine in a build that cannot work through one. No shell is made to listen.

use std::io;

use handle_fs::remote::Listener;

use super::not_built::NotBuilt;
use super::product::Product;

/// No script.
pub(crate) const LOOP: &str = "";

/// Returns a listener that refuses.
pub(crate) fn listener(product: &Product, _mark: String) -> Listener {
    let refusal = NotBuilt::remote_shell(product);
    Listener::Other(Box::new(move |_, _| Err(io::Error::other(refusal))))
}
