//! Names of a restore's staging directories, and of directories that hold excluded directories set aside. A place read from the
//! store must be checked here first, because its contents may be removed.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::model::{Digest, StagePlace};
use handle_fs::remote::above;

/// Name prefix of directories in which a restore stages new content, beside the mount root or directly in it.
pub const STAGING_PREFIX: &str = ".jackin-recovery-";
/// Name suffix of a directory that stays, because an excluded directory was set aside in it.
pub const ASIDE_SUFFIX: &str = "-aside";

/// Returns the name prefix of a mount's staging directories. Each root has its own, for two roots may lie side by side.
#[must_use]
pub fn staging_prefix(root: &Path) -> String {
    let digest = Digest::of(root.as_os_str().as_bytes()).hex();
    format!("{STAGING_PREFIX}{}-", digest.get(..8).unwrap_or_default())
}

/// Returns true if a restore into `root` makes such a place; with `aside`, one that stays.
#[must_use]
pub fn is_staging_place(place: &StagePlace, root: &Path, aside: bool) -> bool {
    let beside = above(root).unwrap_or(root);
    let directory = place.directory.to_path();
    let name = place.name.strip_prefix(&staging_prefix(root));
    let letters = match aside {
        true => name.and_then(|name| name.strip_suffix(ASIDE_SUFFIX)),
        false => name,
    };
    let is_letter = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    // As bytes: to a path `/a/.` is the same as `/a`.
    directory.as_os_str() == if place.inside { root } else { beside }.as_os_str()
        && letters.is_some_and(|letters| letters.len() == 16 && letters.bytes().all(is_letter))
}
