//! Makes the moves of a restore, together where they are made on another machine: each one there is waited for, and one exchange can make
//! many. Each is looked at just before, as a single one is, and an exchange stops at the first failure.

use std::ffi::OsString;

use super::RestoreError;
use super::apply::{MoveExecutor, is_unmade};
use super::file_identity::{FOR_ITSELF, aside_name};
use super::move_state::{Progress, survey_moves};
use super::problem::concerns_all;
use super::slot::Slot;
use crate::model::{JournalMove, MoveKind};
use handle_fs::{AsHandle as _, Dir, NewName, Root, rename_many};

/// A move that was looked at, and is made by renames alone.
struct Ready<'a> {
    step: &'a JournalMove,
    seat: Slot,
    name: OsString,
    aside: OsString,
}

impl<'a> Ready<'a> {
    /// Its renames, in order. A shell cannot exchange two names.
    fn renames<'r>(&'r self, stage: &'r Dir) -> Vec<NewName<'r>> {
        let (staged, live) = (stage.as_handle(), self.seat.dir.as_handle());
        let (name, at) = (self.name.as_os_str(), self.seat.name.as_os_str());
        let rename = |from, old, to, new| NewName {
            from,
            old,
            to,
            new,
            exchange: false,
        };
        match &self.step.deed {
            MoveKind::Install(_) => vec![rename(staged, name, live, at)],
            MoveKind::StageOut(_) => vec![rename(live, at, staged, name)],
            _ if !handle_fs::is_by_shell(stage) => vec![NewName {
                exchange: true,
                ..rename(staged, name, live, at)
            }],
            // As an exchange in steps, which can be finished after each of them.
            _ => vec![
                rename(live, at, staged, &self.aside),
                rename(staged, name, live, at),
                rename(staged, &self.aside, staged, name),
            ],
        }
    }
}

impl MoveExecutor<'_> {
    /// Makes moves in their order.
    pub(super) fn advance_all<'s>(
        &mut self,
        steps: impl Iterator<Item = &'s JournalMove>,
    ) -> Result<(), RestoreError> {
        let steps: Vec<&JournalMove> = steps.collect();
        let together = self.root.is_some_and(Root::is_far);
        let view = survey_moves(self.root, self.stage, &steps, false);
        let mut ready = Vec::new();
        for step in steps {
            if self.observer.cancelled() {
                return Err(RestoreError::Interrupted);
            }
            self.observer.reached("move");
            match together.then(|| self.ready(step)).flatten() {
                Some(one) => ready.push(one),
                None => {
                    self.make(std::mem::take(&mut ready))?;
                    self.advance(step)?;
                }
            }
        }
        self.make(ready)?;
        drop(view);
        Ok(())
    }

    /// Returns the move if nothing but renames is to be done for it, and it may be done. Any other is looked at again by itself.
    fn ready<'s>(&self, step: &'s JournalMove) -> Option<Ready<'s>> {
        let (MoveKind::Install(_) | MoveKind::StageOut(_) | MoveKind::Exchange(_)) = &step.deed else {
            return None;
        };
        let stand = self.stand(step).ok()?;
        if stand.progress != Progress::Before || is_unmade(step) {
            return None;
        }
        let seat = self.check(step, &stand).ok()?;
        let is_shut = |mode: Option<u32>| mode.is_some_and(|mode| mode & FOR_ITSELF == 0);
        if self.closed(step, seat).ok()?.is_some() || is_shut(step.old_mode) || is_shut(step.new_mode) {
            return None;
        }
        let name = self.other(step).name;
        Some(Ready {
            step,
            aside: aside_name(&name),
            name,
            seat: stand.seat?,
        })
    }

    /// Makes moves that are ready. What fails, and all after it, is made by itself, which tells the reason.
    fn make(&mut self, ready: Vec<Ready<'_>>) -> Result<(), RestoreError> {
        if ready.is_empty() {
            return Ok(());
        }
        let stage = self.stage.dir();
        let renames: Vec<Vec<NewName<'_>>> = ready.iter().map(|one| one.renames(stage)).collect();
        let (mut made, result) = rename_many(&renames.concat());
        let mut failed = result.err();
        for (one, renames) in ready.iter().zip(&renames) {
            if made >= renames.len() {
                made -= renames.len();
                self.in_steps |= renames.len() > 1;
                continue;
            }
            if let Some(source) = failed.take_if(|error| concerns_all(error)) {
                return Err(RestoreError::Apply {
                    path: one.step.path.on_host(&self.host),
                    source,
                });
            }
            // Nothing is at the path now. The old object comes back, unless another process made something there meanwhile; the next
            // look tells.
            if made == 1 && renames.len() > 1 {
                let _ = handle_fs::rename_new(stage, &one.aside, &one.seat.dir, &one.seat.name);
            }
            made = 0;
            self.advance(one.step)?;
        }
        Ok(())
    }
}
