//! `verify`: what is damaged, and what was checked.

use crate::report::{DamageDocument, VerifyDocument};
use crate::terminal::{sanitize, size, width};

/// Returns a line for each damaged item, and one for the result.
pub(in crate::cli) fn result(found: &VerifyDocument, columns: usize) -> String {
    let mut lines = Vec::new();
    for damage in &found.findings {
        let line = format!("{}: {}", object(damage), sanitize::text(&damage.what));
        lines.push(width::wrap(&line, columns).join("\n  "));
    }
    let snapshots = size::counted(found.snapshots, "snapshot", "snapshots");
    let receipts = size::counted(found.receipts, "receipt", "receipts");
    let read = if found.read_data {
        format!(", {} of content read", size::bytes(found.bytes))
    } else {
        String::new()
    };
    let result = match found.findings.len() as u64 {
        0 => "all valid".to_owned(),
        damaged => size::counted(damaged, "item is damaged", "items are damaged"),
    };
    let unopened = match found.unopened {
        0 => None,
        1 => Some("1 encrypted bundle is for other keys, and was not opened".to_owned()),
        some => Some(format!(
            "{} encrypted bundles are for other keys, and were not opened",
            size::count(some)
        )),
    };
    lines.extend(unopened.map(|line| width::wrap(&line, columns).join("\n  ")));
    lines.push(format!("{snapshots}, {receipts}{read}: {result}"));
    lines.join("\n")
}

/// Returns the name of a damaged item: snapshot, archive and path, as far as they are known.
fn object(damage: &DamageDocument) -> String {
    let mut parts = Vec::new();
    parts.extend(damage.snapshot.as_ref().map(|id| format!("snapshot {id}")));
    parts.extend(damage.archive.as_ref().map(|id| format!("archive {id}")));
    parts.extend(damage.mount.iter().zip(&damage.place).map(|(mount, path)| {
        format!(
            "{} in {}",
            sanitize::name(path.as_bytes()),
            sanitize::name(mount.as_bytes())
        )
    }));
    match parts.is_empty() {
        true => "store".to_owned(),
        false => parts.join(", "),
    }
}
