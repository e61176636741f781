//! Objects that earlier commands left in a cluster because they could not remove them.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::super::cluster::LeftBehind;
use super::Kubectl;
use super::volume_snapshot::SNAPSHOTS;
use super::{OWNER, text};
use crate::product::Product;
use handle_fs::Time;
use handle_fs::remote::Spot;
use processes::{find, path_outside};

/// Returns the product's objects in the namespace of a claim or a pod, whichever user made them. Kinds that may not be listed are
/// missing.
#[must_use]
pub fn left_behind(
    product: &'static Product,
    path: Option<&OsStr>,
    untrusted: &[PathBuf],
    spot: &Spot,
) -> Vec<LeftBehind> {
    let path = path_outside(path, untrusted);
    let Some(program) = find(OsStr::new("kubectl"), &path, untrusted) else {
        return Vec::new();
    };
    let Ok(kubectl) = Kubectl::new(product, &program, &path, spot) else {
        return Vec::new();
    };
    let ours = format!("--selector={OWNER}={}", product.package);
    let prefix = format!("{}-", product.package);
    let kinds = [
        ("pod", "pods"),
        ("persistentvolumeclaim", "persistentvolumeclaims"),
        ("volumesnapshot", SNAPSHOTS),
    ];
    let mut found = Vec::new();
    for (kind, resource) in kinds {
        let Ok(listed) = kubectl.object(&["get", resource, &ours]) else {
            continue;
        };
        let items = listed.pointer("/items").and_then(serde_json::Value::as_array);
        for item in items.into_iter().flatten() {
            // A label is easily given to anything.
            let name = text(item, "/metadata/name").filter(|name| name.starts_with(&prefix));
            let Some(name) = name else { continue };
            found.push(LeftBehind {
                object: format!("{kind}/{name}"),
                name: name.to_owned(),
                is_snapshot: resource == SNAPSHOTS,
                made: text(item, "/metadata/creationTimestamp").and_then(Time::parse_rfc3339),
            });
        }
    }
    found
}
