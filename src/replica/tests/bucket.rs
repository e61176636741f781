//! A bucket in memory. It counts its calls, and fails where the test asks for it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::replica::{Bucket, BucketError, BucketErrorKind, Listed, Put, Tag};

/// Way in which a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The call has no effect.
    Refused,
    /// The call takes effect, and its answer is lost.
    Unheard,
    /// The call stores the object without its metadata, and its answer is lost.
    WithoutTag,
}

/// Content of an object, and its metadata.
type Object = (Vec<u8>, Option<Tag>);

#[derive(Default)]
pub(super) struct Memory {
    objects: RefCell<BTreeMap<String, Object>>,
    calls: Cell<u64>,
    fault: Cell<Option<(u64, Fault)>>,
    /// True if a put overwrites an existing object.
    pub(super) is_careless: Cell<bool>,
    /// Number of puts that the service asks to repeat.
    pub(super) busy: Cell<u32>,
}

impl Memory {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.get()
    }

    /// The call with this number, counted from now, fails.
    pub(super) fn fail_at(&self, call: u64, fault: Fault) {
        self.fault.set(Some((self.calls.get() + call, fault)));
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.objects.borrow().keys().cloned().collect()
    }

    pub(super) fn all(&self) -> Vec<(String, Vec<u8>, Option<Tag>)> {
        let all = self.objects.borrow();
        all.iter()
            .map(|(name, (bytes, tag))| (name.clone(), bytes.clone(), *tag))
            .collect()
    }

    pub(super) fn remove(&self, name: &str) {
        self.objects.borrow_mut().remove(name).unwrap();
    }

    pub(super) fn change(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.objects.borrow_mut().get_mut(name).unwrap().0);
    }

    pub(super) fn add(&self, name: &str, bytes: &[u8], tag: Option<Tag>) {
        let object = (bytes.to_vec(), tag);
        self.objects.borrow_mut().insert(name.to_owned(), object);
    }

    pub(super) fn exchange(&self, one: &str, other: &str) {
        let mut objects = self.objects.borrow_mut();
        let (first, second) = (objects[one].clone(), objects[other].clone());
        objects.insert(one.to_owned(), second);
        objects.insert(other.to_owned(), first);
    }

    fn call(&self) -> Option<Fault> {
        self.calls.set(self.calls.get() + 1);
        let due = self.fault.get().filter(|(call, _)| *call == self.calls.get());
        due.map(|(_, fault)| fault)
    }

    fn lost() -> BucketError {
        BucketError::new(BucketErrorKind::Unreachable, "the line is cut")
    }

    fn ask<T>(&self, answer: impl FnOnce() -> T) -> Result<T, BucketError> {
        match self.call() {
            Some(_) => Err(Self::lost()),
            None => Ok(answer()),
        }
    }
}

impl Bucket for Memory {
    fn put_new(&self, name: &str, bytes: Vec<u8>, tag: &Tag) -> Result<Put, BucketError> {
        let fault = self.call();
        if fault == Some(Fault::Refused) {
            return Err(Self::lost());
        }
        if let Some(left) = self.busy.get().checked_sub(1) {
            self.busy.set(left);
            return Ok(Put::Busy);
        }
        let mut objects = self.objects.borrow_mut();
        let is_taken = objects.contains_key(name) && !self.is_careless.get();
        if !is_taken {
            let tag = Some(*tag).filter(|_| fault != Some(Fault::WithoutTag));
            objects.insert(name.to_owned(), (bytes, tag));
        }
        match fault {
            Some(_) => Err(Self::lost()),
            None if is_taken => Ok(Put::Taken),
            None => Ok(Put::Done),
        }
    }

    fn tag(&self, name: &str) -> Result<Option<Tag>, BucketError> {
        self.ask(|| self.objects.borrow().get(name).and_then(|(_, tag)| *tag))
    }

    fn get(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, BucketError> {
        let found = self.ask(|| self.objects.borrow().get(name).map(|(bytes, _)| bytes.clone()))?;
        match &found {
            Some(bytes) if bytes.len() as u64 > most => {
                Err(BucketError::new(BucketErrorKind::Odd, "too long"))
            }
            _ => Ok(found),
        }
    }

    fn list(&self, beginning: &str) -> Result<Vec<Listed>, BucketError> {
        self.ask(|| {
            let objects = self.objects.borrow();
            let found = objects.iter().filter(|(name, _)| name.starts_with(beginning));
            found
                .map(|(name, (bytes, _))| Listed {
                    name: name.clone(),
                    size: bytes.len() as u64,
                })
                .collect()
        })
    }

    fn folders(&self) -> Result<Vec<String>, BucketError> {
        self.ask(|| {
            let objects = self.objects.borrow();
            let mut found: Vec<String> = objects
                .keys()
                .filter_map(|name| Some(name.split_once('/')?.0.to_owned()))
                .collect();
            found.dedup();
            found
        })
    }

    fn delete(&self, name: &str) -> Result<(), BucketError> {
        match self.call() {
            Some(Fault::Refused) => Err(Self::lost()),
            other => {
                self.objects.borrow_mut().remove(name);
                match other {
                    Some(_) => Err(Self::lost()),
                    None => Ok(()),
                }
            }
        }
    }

    fn place(&self) -> String {
        "s3://bucket/prefix".to_owned()
    }
}
