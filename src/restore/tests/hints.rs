//! Kind and hints of a restore's errors: those of what stopped it are kept.

use std::path::PathBuf;

use super::super::RestoreError;
use crate::diagnostic::{Diagnostic as _, ErrorKind};
use crate::store::StoreError;

#[test]
fn damage_stays_damage_when_something_is_left_too() {
    let chain = || StoreError::Chain {
        path: PathBuf::from("/store/receipts.log"),
        number: 3,
        why: "it is torn".to_owned(),
    };
    let left = RestoreError::Left {
        cause: Box::new(chain().into()),
        left: Box::new(RestoreError::Gone {
            path: PathBuf::from("/project/notes"),
        }),
    };
    assert_eq!(left.kind(), ErrorKind::Integrity);
    assert_eq!(left.hints(), chain().hints());
}
