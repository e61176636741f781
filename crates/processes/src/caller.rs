//! Origin of the calling process: its ancestors, and the values of a variable in their environments.

use std::ffi::OsStr;

use super::identity::{current_boot, exists};
use super::process_ref::ProcessRef;
use super::process_table::{ProbeError, Seen};
use super::shared_table::ProcessTable;
use super::system::hidden;

/// No chain of parents is longer than the largest process number allows; this only ends a chain that races with itself.
const LONGEST_CHAIN: usize = 1 << 16;

/// Origin of the calling process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// Every value of the variable in its own environment and in that of each ancestor, nearest first, each
    /// once. Raw text, not checked: an ancestor can unset the variable for its child or set another value there, so
    /// the nearest alone proves nothing.
    pub values: Vec<String>,
    /// Values from the environments of ancestors only: the starter of a process can put anything into its environment.
    pub inherited: Vec<String>,
    /// Its parents, nearest first, to compare with recorded processes.
    pub ancestors: Vec<ProcessRef>,
    /// Position of the first parent that adopted its child, whose own parent had ended; `None` if that cannot be seen of any. It is
    /// behind the last of [`Self::ancestors`] if the adopter is hidden.
    pub adopted_by: Option<usize>,
    /// True if the chain was followed as far as the system allows. If false (no process table), the caller may have an ancestor with
    /// another value.
    pub complete: bool,
}

/// Returns true if `parent` did not start `child`: a child is in the process session of its parent, unless it began one of its own.
fn is_adopted(child: &Seen, parent: &Seen) -> bool {
    // The first process of a system may be in none.
    let is_known = child.session != 0 && (parent.session != 0 || parent.pid == 1);
    is_known && child.session != parent.session && child.session != child.pid
}

/// Looks up where the calling process comes from. `own` is the value that the variable has for it now. Environments that we may not
/// read (another user's) are passed over.
#[must_use]
pub fn caller(table: &ProcessTable, variable: &str, own: Option<&OsStr>) -> Caller {
    let mut caller = Caller::default();
    if let Some(value) = own {
        caller.note(value.to_string_lossy().into_owned());
    }
    // An ancestor that ends meanwhile breaks the chain that is being climbed; the next attempt finds the one that is left.
    for _ in 0..3 {
        caller.ancestors.clear();
        caller.inherited.clear();
        caller.adopted_by = None;
        caller.complete = caller.climb(table, variable).is_ok();
        if caller.complete {
            break;
        }
    }
    caller
}

impl Caller {
    fn climb(&mut self, table: &ProcessTable, variable: &str) -> Result<(), ProbeError> {
        let boot = current_boot();
        let mut current = table.look(std::process::id())?.ok_or(ProbeError::Unsupported)?;
        self.note_environment(table, &current, variable)?;
        for _ in 0..LONGEST_CHAIN {
            if current.parent == 0 {
                return Ok(());
            }
            match table.look(current.parent)? {
                Some(parent) => {
                    if is_adopted(&current, &parent) {
                        self.adopted_by.get_or_insert(self.ancestors.len());
                    }
                    self.ancestors.push(parent.reference(&boot));
                    let carried = self.note_environment(table, &parent, variable)?;
                    self.inherited.extend(carried);
                    current = parent;
                }
                // Hidden from us (proc(5), `hidepid`): the end of what can be seen, as with an unreadable environment.
                None if exists(current.parent) => {
                    if hidden(current.parent).is_some_and(|parent| is_adopted(&current, &parent)) {
                        self.adopted_by.get_or_insert(self.ancestors.len());
                    }
                    return Ok(());
                }
                // The parent ended meanwhile; its child has another one by now.
                None => {
                    self.adopted_by.get_or_insert(self.ancestors.len());
                    current = table.look(current.pid)?.ok_or(ProbeError::Unsupported)?;
                }
            }
        }
        Err(ProbeError::Unsupported)
    }

    /// Returns the values in a process's environment, and notes them.
    fn note_environment(
        &mut self,
        table: &ProcessTable,
        process: &Seen,
        variable: &str,
    ) -> Result<Vec<String>, ProbeError> {
        let values = table.values(process.pid, variable)?;
        let values = values
            .iter()
            .map(|value| String::from_utf8_lossy(value).into_owned());
        let values: Vec<String> = values.collect();
        values.iter().for_each(|value| self.note(value.clone()));
        Ok(values)
    }

    fn note(&mut self, value: String) {
        if !value.is_empty() && !self.values.contains(&value) {
            self.values.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_adopted;
    use crate::process_table::Seen;

    fn seen(pid: u32, parent: u32, session: u32) -> Seen {
        Seen {
            pid,
            parent,
            session,
            start: 5,
            dead: false,
            kernel: false,
            name: "x".into(),
        }
    }

    #[test]
    fn an_orphan_is_adopted_and_a_service_is_not() {
        // On Linux the first process of a container may lead no session.
        for first in [seen(1, 0, 1), seen(1, 0, 0)] {
            assert!(is_adopted(&seen(50, 1, 40), &first), "{first:?}");
            assert!(!is_adopted(&seen(50, 1, 50), &first), "{first:?}");
            assert!(!is_adopted(&seen(50, 1, 0), &first), "{first:?}");
        }
        assert!(!is_adopted(&seen(50, 1, 1), &seen(1, 0, 1)));
        assert!(!is_adopted(&seen(50, 30, 40), &seen(30, 1, 0)));
    }

    #[cfg(any(feature = "portable", not(target_os = "linux")))]
    #[test]
    fn a_hidden_launchd_adopts_as_one_that_is_seen() {
        let first = crate::system::hidden(1).unwrap();
        assert!(is_adopted(&seen(50, 1, 40), &first));
        assert!(!is_adopted(&seen(50, 1, 50), &first));
        assert_eq!(crate::system::hidden(30), None);
    }
}
