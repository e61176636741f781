//! Stands in for the client of object stores in a build without it.

use super::bucket::{Bucket, BucketError, BucketErrorKind, Listed, Put, Stop, Tag};
use crate::config::BucketPlace;
use crate::features::{Feature, NotBuilt};

/// A bucket that no value exists of.
#[derive(Debug)]
pub enum S3 {}

impl S3 {
    /// Refuses.
    ///
    /// # Errors
    /// Always [`BucketErrorKind::NotBuilt`].
    pub fn open(_place: &BucketPlace, _stop: Stop) -> Result<Self, BucketError> {
        let what = NotBuilt(Feature::S3).to_string();
        Err(BucketError::new(BucketErrorKind::NotBuilt, what))
    }
}

impl Bucket for S3 {
    fn put_new(&self, _name: &str, _bytes: Vec<u8>, _tag: &Tag) -> Result<Put, BucketError> {
        match *self {}
    }

    fn tag(&self, _name: &str) -> Result<Option<Tag>, BucketError> {
        match *self {}
    }

    fn get(&self, _name: &str, _most: u64) -> Result<Option<Vec<u8>>, BucketError> {
        match *self {}
    }

    fn list(&self, _beginning: &str) -> Result<Vec<Listed>, BucketError> {
        match *self {}
    }

    fn folders(&self) -> Result<Vec<String>, BucketError> {
        match *self {}
    }

    fn delete(&self, _name: &str) -> Result<(), BucketError> {
        match *self {}
    }

    fn place(&self) -> String {
        match *self {}
    }
}
