//! placeholder until the view lands
use crate::contract::Contract;
pub(in crate::cli) fn contract(_c: &Contract, _columns: usize) -> String {
    String::new()
}
