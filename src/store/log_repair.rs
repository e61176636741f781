//! Repair of a damaged receipt chain from the catalog's copy of each link. A link is used only if its hash is that of its text and
//! it continues the one before it.

use std::path::{Path, PathBuf};

use super::catalog::Catalog;
use super::log::{self, Place};
use super::store_id::{self, ForeignStore};
use super::{Layout, RECEIPTS, StoreError, durable, lock};
use crate::model::{Digest, Receipt};

/// Result of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// Number of links in the log after the repair.
    pub links: u64,
    /// Number of links that came from the catalog's copy.
    pub regained: u64,
    /// True if links were lost.
    pub lost: bool,
    /// Path of the damaged log.
    pub aside: PathBuf,
}

/// Checks the chain and repairs it if it is damaged. Returns `None` if it is valid. With `accept_loss`, links that cannot be
/// recovered are dropped: those before the first lost one stay.
///
/// # Errors
/// [`StoreError::Chain`] when links are lost and that is not accepted; [`StoreError::Newer`], [`StoreError::Io`],
/// [`StoreError::Locked`].
pub fn mend_chain(layout: &Layout, accept_loss: bool) -> Result<Option<Mended>, StoreError> {
    let _kept = layout.enter()?;
    let _receipts = lock::wait(layout, RECEIPTS)?;
    let path = layout.receipts();
    let copy = copied(layout);
    let mut good: Vec<String> = Vec::new();
    let scanned = log::scan(&path, Place::BEGIN, |link| {
        good.push(link.json);
        Ok(())
    });
    let stranger = match &scanned {
        Ok(_) => store_id::stranger(layout, &good, &copy)?,
        Err(_) => None,
    };
    let broken = match scanned {
        Ok(_) if stranger == Some(ForeignStore::Log) => {
            good.clear();
            store_id::foreign_log(&path)
        }
        // Who opens the store lays a catalog aside that is none of it.
        Ok(_) if stranger == Some(ForeignStore::Catalog) || copy.len() <= good.len() => return Ok(None),
        // What the catalog has beyond it was cut off.
        Ok(last) => StoreError::Chain {
            path: path.clone(),
            number: last.number + 1,
            why: "the catalog knows this receipt and the log has lost it".to_owned(),
        },
        Err(error @ StoreError::Chain { .. }) => error,
        Err(error) => return Err(error),
    };
    // A copy that tells another story from what is whole in the log is no copy of it.
    let is_copy = copy.len() > good.len() && copy.starts_with(&good);
    let regained = match is_copy {
        true => copy.len() - good.len(),
        false => 0,
    };
    let is_whole = is_copy && (stranger.is_some() || store_id::holds_all_of(&copy, &bytes(&path)?));
    if !is_whole && !accept_loss {
        return Err(broken);
    }
    let links = if is_copy { copy } else { good };
    let mut text = String::new();
    for json in &links {
        text.push_str(&format!("{} {json}\n", Digest::of(json.as_bytes())));
    }
    let new = layout.root().join("receipts.log.new");
    let aside = free_name(layout)?;
    // A copy goes aside, not the log itself: a kill between two renames would leave no log, and the next repair would take
    // the catalog's copy, which may be shorter than what is whole in the log, for all that there was.
    if let Some(mut damaged) = durable::open(&path)? {
        durable::remove(&new)?;
        let mut copy = durable::create(&new)?;
        std::io::copy(&mut damaged, &mut copy).map_err(StoreError::io("lay aside", &path))?;
        durable::publish(&new, &aside)?;
    }
    durable::remove(&new)?;
    durable::write(&new, &[text.as_bytes()])?;
    durable::replace(&new, &path)?;
    // It mirrors places in the old file.
    if durable::is_there(&layout.catalog())? {
        super::catalog::lay_aside(&layout.catalog(), &layout.damaged_catalog())?;
    }
    Ok(Some(Mended {
        links: links.len() as u64,
        regained: regained as u64,
        lost: !is_whole,
        aside,
    }))
}

/// The catalog's copy of the chain, as far as it holds.
fn copied(layout: &Layout) -> Vec<String> {
    let Ok(Some(catalog)) = Catalog::open_read(&layout.catalog()) else {
        return Vec::new();
    };
    let mut previous = Digest([0; 32]);
    let mut links = Vec::new();
    for (number, json) in (1..).zip(catalog.links().unwrap_or_default()) {
        let Ok(receipt) = serde_json::from_str::<Receipt>(&json) else {
            break;
        };
        if receipt.number != number || receipt.previous != previous {
            break;
        }
        previous = Digest::of(json.as_bytes());
        links.push(json);
    }
    links
}

/// The log as it lies there.
fn bytes(path: &Path) -> Result<Vec<u8>, StoreError> {
    const LIMIT: u64 = 4 << 30;
    Ok(durable::read(path, LIMIT)?.unwrap_or_default())
}

/// A name at which nothing lies.
fn free_name(layout: &Layout) -> Result<PathBuf, StoreError> {
    for number in 1..1000 {
        let path = layout.root().join(format!("receipts.log.damaged-{number}"));
        if !durable::is_there(&path)? {
            return Ok(path);
        }
    }
    Ok(layout.root().join("receipts.log.damaged"))
}
