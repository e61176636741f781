//! Problems of single paths: who could do better, as the system's code says it.

use std::io;

use super::super::problem::Problem;

const EPERM: i32 = 1;
const EACCES: i32 = 13;
const ENOSPC: i32 = 28;

#[test]
fn only_the_code_of_the_system_says_that_access_was_denied() {
    for code in [EPERM, EACCES] {
        let problem = Problem::from(&io::Error::from_raw_os_error(code));
        assert!(problem.denied, "{problem}");
        let owner = "owner 0:0 could not be set".to_owned();
        assert!(Problem::caused(owner, &io::Error::from_raw_os_error(code)).denied);
    }
    // Words may come from a name.
    let note = "attribute user.owner permission denied could not be set: no space left on device";
    let full = Problem::caused(note.to_owned(), &io::Error::from_raw_os_error(ENOSPC));
    assert!(!full.denied);
    assert!(!Problem::new("the directory owner of x cannot be listed").denied);
}

#[test]
fn several_problems_of_a_path_are_one() {
    let denied = Problem::from(&io::Error::from_raw_os_error(EACCES));
    let both = Problem::joined(vec![Problem::new("it is not what it should be"), denied]);
    assert_eq!(both.words, "it is not what it should be; permission denied");
    assert!(both.denied);
}
