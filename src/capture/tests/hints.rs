//! Hints of a capture's errors: those of the stage that failed are kept.

use std::path::PathBuf;

use super::CaptureError;
use crate::diagnostic::{Diagnostic as _, Hint};
use crate::store::StoreError;

#[test]
fn a_fault_of_the_store_keeps_its_hints() {
    let chain = || StoreError::Chain {
        path: PathBuf::from("/store/receipts.log"),
        number: 3,
        why: "it is torn".to_owned(),
    };
    let error = CaptureError::from(chain());
    assert_eq!(error.hints(), chain().hints());
    assert!(matches!(error.hints().as_slice(), [Hint::Command(next)] if next.words == "rebuild"));
}
