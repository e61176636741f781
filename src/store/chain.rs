//! The chain of receipts as the store offers it: read whole, and appended to together with what it tells of.

use std::io;

use super::lock::LockGuard;
use super::log::News;
use super::reconcile::{self, Account};
use super::{
    Anchor, Draft, RECEIPTS, Store, StoreError, draft, durable, lock, log, record, reserve, store_id,
};
use crate::model::{
    CallRef, ChangeCounts, Digest, InstanceId, Operation, Receipt, SnapshotId, SnapshotRecord, Time,
};

/// Facts in a snapshot's receipt that its record does not have.
#[derive(Debug, Default)]
pub struct Told {
    /// Changes since the previous snapshot; `None` if they were not counted.
    pub step: Option<ChangeCounts>,
    /// The tool call that it was taken before.
    pub call: Option<CallRef>,
    /// Number of the newest receipt before the files were looked at, if it is known.
    pub since: Option<u64>,
    /// Operation that is done with it, and its time: its receipt follows in the same write, so that both are there or neither.
    pub then: Option<(Time, Operation)>,
    /// True for a checkpoint, which is refused once the end of its session is recorded. A closing snapshot belongs to the one end that holds
    /// the lock of the session.
    pub is_of_living: bool,
}

/// The chain as it was read once.
pub(super) struct ReadChain {
    pub(super) receipts: Vec<Receipt>,
    pub(super) head: Anchor,
    pub(super) broken: Option<StoreError>,
    /// The records that were there before.
    pub(super) ids: Vec<SnapshotId>,
    pub(super) account: Account,
}

impl Store {
    /// The whole chain of receipts, oldest first, every link checked.
    ///
    /// # Errors
    /// [`StoreError::Chain`] with the first link that does not hold; [`StoreError::UnknownReceipt`].
    pub fn receipts(&self) -> Result<Vec<Receipt>, StoreError> {
        Ok(self.chain()?.0)
    }

    /// The same, with its last link.
    ///
    /// # Errors
    /// As [`Store::receipts`].
    pub fn chain(&self) -> Result<(Vec<Receipt>, Anchor), StoreError> {
        let (receipts, head, broken) = self.chain_until_break()?;
        match broken {
            None => Ok((receipts, head)),
            Some(broken) => Err(broken),
        }
    }

    /// Returns the chain up to its last valid link, that link, and the error at the break, if there is one.
    ///
    /// # Errors
    /// When it cannot be read at all.
    pub fn chain_until_break(&self) -> Result<(Vec<Receipt>, Anchor, Option<StoreError>), StoreError> {
        let read = self.read_chain()?;
        Ok((read.receipts, read.head, read.broken))
    }

    /// The same; a chain that holds and lacks receipts that were in it is broken, too.
    ///
    /// # Errors
    /// As [`Store::chain_until_break`].
    pub fn chain_as_told(&self) -> Result<(Vec<Receipt>, Anchor, Option<StoreError>), StoreError> {
        let read = self.read_chain()?;
        let untold = || self.untold_error(read.account.untold(&self.layout, &read.ids).1);
        let broken = read.broken.or_else(untold);
        Ok((read.receipts, read.head, broken))
    }

    /// The same, with what it tells of snapshots.
    pub(super) fn read_chain(&self) -> Result<ReadChain, StoreError> {
        let _kept = self.layout.enter()?;
        // Asked first, too: a record comes before its receipt.
        let ids = record::ids(&self.layout)?;
        let mut account = Account::default();
        // Asked first: what it has was in the log before.
        let known = self.catalog.last_receipt()?;
        let path = self.layout.receipts();
        let mut receipts = Vec::new();
        let mut head = Anchor::NOTHING;
        let scanned = log::scan(&path, log::Place::BEGIN, |link| {
            head = Anchor {
                number: link.place.number,
                hash: link.place.hash,
            };
            account.take(&link.receipt);
            receipts.push(link.receipt);
            Ok(())
        });
        let broken = match scanned {
            // A log that ends at a link is whole by itself, and still lacks what the catalog knows.
            Ok(last) if known.number > last.number => Some(log::cut_short(&path, last.number + 1)),
            // So is another store's.
            Ok(_) => log::scan(&path, known, |_| Ok(())).err(),
            Err(broken @ (StoreError::Chain { .. } | StoreError::UnknownReceipt { .. })) => Some(broken),
            Err(error) => return Err(error),
        };
        let broken = broken.map(|broken| store_id::explain(&self.catalog, &self.layout, broken));
        Ok(ReadChain {
            receipts,
            head,
            broken,
            ids,
            account,
        })
    }

    /// Appends a receipt to the chain: it is on disk when this returns. When only the catalog cannot follow,
    /// that is no error: it refuses queries until it has caught up.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`], [`StoreError::Locked`], [`StoreError::Chain`] when the end of the chain is
    /// damaged, [`StoreError::Io`]. The chain is then as it was.
    pub fn append<'i>(
        &self,
        at: Time,
        uid: u32,
        instance: impl Into<Option<&'i InstanceId>>,
        act: Operation,
    ) -> Result<Receipt, StoreError> {
        let instance = instance.into().cloned();
        let receipts = self.append_all(vec![News {
            at,
            uid,
            instance,
            act,
        }]);
        self.catalog.flush();
        receipts?.pop().ok_or_else(|| self.nothing_appended())
    }

    /// Appends receipts of one session, in one write.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub fn append_each(
        &self,
        at: Time,
        uid: u32,
        instance: &InstanceId,
        acts: impl IntoIterator<Item = Operation>,
    ) -> Result<(), StoreError> {
        let news = acts.into_iter().map(|act| News {
            at,
            uid,
            instance: Some(instance.clone()),
            act,
        });
        let appended = self.append_all(news.collect());
        self.catalog.flush();
        appended.map(drop)
    }

    /// Appends a receipt like [`Store::append`], and leaves the catalog for later: what this process does next tells it, and one
    /// transaction serves for both. `Catalog::flush` writes it if that takes a while. Until then the receipt
    /// is on disk, another process that writes takes it from there, and one that only reads computes its answers in memory.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub fn append_deferred(
        &self,
        at: Time,
        uid: u32,
        instance: &InstanceId,
        act: Operation,
    ) -> Result<(), StoreError> {
        let instance = Some(instance.clone());
        let news = News {
            at,
            uid,
            instance,
            act,
        };
        self.append_all(vec![news]).map(drop)
    }

    /// Appends receipts: all are on disk when this returns. The catalog follows with the next [`Catalog::flush`](super::Catalog::flush).
    fn append_all(&self, news: Vec<News>) -> Result<Vec<Receipt>, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        let receipts = lock::wait(&self.layout, RECEIPTS)?;
        self.append_under(&receipts, news)
    }

    /// Appends receipts like [`Self::append_all`], unless the end of `session` is recorded.
    fn append_while_open(&self, session: &InstanceId, news: Vec<News>) -> Result<(), StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        // Held from the look to the receipt, so that no end comes in between.
        let receipts = lock::wait(&self.layout, RECEIPTS)?;
        if self.catalog.is_behind() {
            self.catch_up(&receipts)?;
        }
        let mut is_ended = self
            .catalog
            .instance(session)?
            .is_some_and(|row| row.ended_at.is_some());
        // What the catalog does not have yet. It is not written for that.
        log::scan(&self.layout.receipts(), self.catalog.last_link()?, |link| {
            let receipt = &link.receipt;
            is_ended |=
                receipt.instance.as_ref() == Some(session) && matches!(receipt.act, Operation::End { .. });
            Ok(())
        })?;
        if is_ended {
            return Err(StoreError::Ended(session.clone()));
        }
        self.append_under(&receipts, news).map(drop)
    }

    /// Appends receipts under the lock `receipts`.
    fn append_under(&self, receipts: &LockGuard, news: Vec<News>) -> Result<Vec<Receipt>, StoreError> {
        reserve::keep(&self.layout);
        if self.catalog.is_behind() {
            self.catch_up(receipts)?;
        }
        let path = self.layout.receipts();
        // What a killed process appended and did not mirror comes into the catalog together with the new
        // receipts.
        let mut links = Vec::new();
        let last = log::scan(&path, self.catalog.last_link()?, |link| {
            links.push(link);
            Ok(())
        })?;
        // The log first. A catalog that knows a receipt that the log lacks is the sign of a log that was cut short.
        let appended = log::append(&path, last, news)?;
        let receipts = appended.iter().map(|link| link.receipt.clone()).collect();
        links.extend(appended);
        self.catalog.defer_links(links);
        Ok(receipts)
    }

    /// Returns the number of the newest receipt that the catalog has, or is about to have; 0 if there is none. Another process may
    /// have appended more.
    ///
    /// # Errors
    /// [`StoreError::Catalog`].
    pub fn newest_known_receipt(&self) -> Result<u64, StoreError> {
        Ok(self.catalog.last_link()?.number)
    }

    fn nothing_appended(&self) -> StoreError {
        let none = io::Error::other("no receipt was written");
        StoreError::io("write", &self.layout.receipts())(none)
    }

    /// Makes a snapshot visible and appends its receipt: both, or, when an error is returned, neither. Should what became visible
    /// be impossible to remove as well, it stays without a receipt, which `doctor` tells.
    ///
    /// # Errors
    /// As [`Draft::publish`] and [`Store::append`].
    pub fn publish(
        &self,
        draft: Draft,
        record: &SnapshotRecord,
        told: Told,
        at: Time,
        uid: u32,
    ) -> Result<(), StoreError> {
        let mut told = told;
        let then = told.then.take().map(|(at, act)| (at, shown_by(act, &record.id)));
        let told_of_living = told.is_of_living;
        let act = captured(record, draft.publish(record)?, told);
        let news = |(at, act)| News {
            at,
            uid,
            instance: Some(record.instance.clone()),
            act,
        };
        let all = [Some((at, act)), then];
        let news = all.into_iter().flatten().map(news).collect();
        let appended = match told_of_living {
            true => self.append_while_open(&record.instance, news),
            false => self.append_all(news).map(drop),
        };
        if let Err(error) = appended {
            // The record was visible for a moment, and another capture may rely on its archives by now. `withdraw` looks for
            // that under the locks; dropping the draft would not.
            draft.leave_archives();
            let _ = self.withdraw(&record.id);
            return Err(error);
        }
        self.catalog.flush();
        Ok(())
    }

    /// Writes the receipt of a snapshot whose process died between its record and its receipt. Otherwise the next such death would
    /// leave a second one, and two in a row count as a loss. The counts of changes for this receipt are lost.
    ///
    /// # Errors
    /// As [`Store::append`]; [`StoreError::Damaged`] for a record that no reader would take.
    pub(super) fn log_recovered_captures(&self, id: &SnapshotId) -> Result<(), StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        // Held from the look to the receipt: two that find the same snapshot write one.
        let receipts = lock::wait(&self.layout, RECEIPTS)?;
        if self.is_told(id)? {
            return Ok(());
        }
        let (record, digest) = record::read_with_digest(&self.layout, id)?;
        // Its process may have died before it synced the record's name. A receipt on disk of a record that is not would count as
        // the loss of a snapshot.
        durable::sync_parent(&self.layout.record(id))?;
        let act = captured(&record, digest, Told::default());
        let uid = handle_fs::own_ids().0;
        let news = News {
            at: handle_fs::fine_clock(),
            uid,
            instance: Some(record.instance),
            act,
        };
        self.append_under(&receipts, vec![news])?;
        self.catalog.flush();
        Ok(())
    }

    /// Writes the receipts of snapshots whose process died between record and receipt, and whose drafts a power loss took.
    pub(super) fn log_captures_without_receipt(&self) -> Result<(), StoreError> {
        let candidates = self.catalog.without_receipt()?;
        if candidates.is_empty() {
            return Ok(());
        }
        let (ids, account) = reconcile::read(&self.layout)?;
        let (explained, _) = account.untold(&self.layout, &ids);
        for id in candidates {
            // A draft belongs to a process that is about to write the receipt, or to the sweep.
            if explained.contains(&id) && !durable::is_there(&self.layout.draft(&id))? {
                self.log_recovered_captures(&id)?;
            }
        }
        Ok(())
    }

    /// Returns true if a receipt records the snapshot, or the operator has accepted the loss of that receipt.
    fn is_told(&self, id: &SnapshotId) -> Result<bool, StoreError> {
        let mut told = false;
        log::scan(&self.layout.receipts(), log::Place::BEGIN, |link| {
            told |= match &link.receipt.act {
                Operation::Capture { snapshot, .. } => snapshot == id,
                Operation::AcceptLoss { snapshots, .. } => snapshots.contains(id),
                _ => false,
            };
            Ok(())
        })?;
        Ok(told)
    }

    /// Withdraws a snapshot that no receipt records.
    fn withdraw(&self, id: &SnapshotId) -> Result<(), StoreError> {
        let _kept = self.layout.enter()?;
        let receipts = lock::wait(&self.layout, RECEIPTS)?;
        // A receipt that could neither be made durable nor cut off again: what it tells of must be there.
        if !self.is_told(id)? {
            draft::withdraw(&self.layout, id)?;
            self.catalog.fell_behind();
            self.catch_up(&receipts)?;
        }
        Ok(())
    }
}

/// Returns the operation that is done with the snapshot `id`: an agent's event names it.
fn shown_by(act: Operation, id: &SnapshotId) -> Operation {
    match act {
        Operation::AgentEvent {
            agent,
            event,
            since,
            keeper,
            snapshot: _,
        } => Operation::AgentEvent {
            agent,
            event,
            since,
            snapshot: Some(id.clone()),
            keeper,
        },
        other => other,
    }
}

/// The act of a snapshot that was taken. `digest`: of its record's bytes.
fn captured(record: &SnapshotRecord, digest: Digest, told: Told) -> Operation {
    Operation::Capture {
        snapshot: record.id.clone(),
        kind: record.kind,
        record: digest,
        name: record.name.clone(),
        withheld: record.withheld(),
        sealed_to: record.sealed_to(),
        step: told.step,
        call: told.call,
        since: told.since,
    }
}
