//! What people see: values of the library as text for a terminal.

pub(super) mod changes;
pub(super) mod contract;
pub(super) mod instances;
pub(super) mod patch;
pub(super) mod plan;
