//! Machines without the product, through their shell alone.

use handle_fs::remote::Listener;

use super::product::Product;

/// The script that makes a shell listen.
pub(crate) const LOOP: &str = shell_fs::LOOP;

/// Returns the shell as a listener. It takes no command without `mark`.
pub(crate) fn listener(_product: &Product, mark: String) -> Listener {
    Listener::Other(shell_fs::introduce(mark))
}
