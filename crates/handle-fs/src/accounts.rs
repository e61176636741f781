//! Names and home directories of users, from the system's table of accounts (passwd(5)).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// The table. Accounts that come from elsewhere (LDAP and the like) do not stand in it, and to ask for those would mean to
/// start a program or to load one, as root.
const TABLE: &str = "/etc/passwd";
/// A longer table is read no further (bytes).
const LONGEST: u64 = 64 << 20;

/// The home directory of the user `uid`; `None` when the table does not tell.
#[must_use]
pub fn home_of(uid: u32) -> Option<PathBuf> {
    home_in(&table()?, uid)
}

/// Directory of the homes of users who are not in the table: macOS keeps ordinary accounts elsewhere.
const HOMES: Option<&str> = if cfg!(target_vendor = "apple") {
    Some("/Users")
} else {
    None
};

/// Returns the home directory of the user `uid`, whose name is `name`, like [`home_of`]; on macOS also `/Users/NAME` if it belongs to `uid`.
#[must_use]
pub fn home_of_named(uid: u32, name: Option<&OsStr>) -> Option<PathBuf> {
    home_of(uid).or_else(|| home_below(Path::new(HOMES?), uid, name?))
}

/// Returns the directory `name` in `homes` if it belongs to `uid`. The name comes from the environment, and may be anything.
fn home_below(homes: &Path, uid: u32, name: &OsStr) -> Option<PathBuf> {
    let mut parts = Path::new(name).components();
    let (Some(Component::Normal(part)), None) = (parts.next(), parts.next()) else {
        return None;
    };
    let home = homes.join(part);
    let facts = home.symlink_metadata().ok()?;
    (facts.is_dir() && facts.uid() == uid).then_some(home)
}

/// Returns true if a directory may be the home of the user `uid`: it belongs to that user, and is not `/`, which a container without
/// accounts has for everyone.
pub(crate) fn is_home(path: &Path, uid: u32) -> bool {
    let is_own = || {
        path.metadata()
            .is_ok_and(|facts| facts.is_dir() && facts.uid() == uid)
    };
    path.is_absolute() && path.parent().is_some() && is_own()
}

/// Returns the name of the user `uid`; `None` if the table does not contain it.
#[must_use]
pub fn name_of(uid: u32) -> Option<OsString> {
    name_in(&table()?, uid)
}

fn table() -> Option<Vec<u8>> {
    let mut table = Vec::new();
    File::open(TABLE)
        .ok()?
        .take(LONGEST)
        .read_to_end(&mut table)
        .ok()?;
    Some(table)
}

/// The fields of the first account of `uid` in `table`: it is the one that the system finds.
fn account(table: &[u8], uid: u32) -> Option<Vec<&[u8]>> {
    let number = uid.to_string();
    let mut lines = table.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
        (fields.get(2) == Some(&number.as_bytes())).then_some(fields)
    })
}

/// Returns the home directory of a user from the given table, like [`home_of`].
#[must_use]
pub fn home_in(table: &[u8], uid: u32) -> Option<PathBuf> {
    let home = PathBuf::from(OsStr::from_bytes(account(table, uid)?.get(5)?));
    home.is_absolute().then_some(home)
}

fn name_in(table: &[u8], uid: u32) -> Option<OsString> {
    let name = account(table, uid)?.first().copied()?;
    (!name.is_empty()).then(|| OsStr::from_bytes(name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::{home_below, home_in, is_home, name_in};
    use std::ffi::OsStr;
    use std::path::Path;

    #[test]
    fn the_first_account_of_a_number_tells_name_and_home() {
        let table = b"root:x:0:0:root:/root:/bin/sh\n\
            # a remark\n\
            ann:x:1000:1000:Ann, with: too many:/home/wrong:/bin/sh\n\
            bob:x:1001:1001:Bob:/home/bob:/bin/sh\n\
            twin:x:1001:1001::/home/twin:/bin/sh\n\
            lost:x:1002:1002::relative:/bin/sh\n\
            cut:x:1003\n\
            last:x:1004:4::/srv/last:";
        let home = |uid| home_in(table, uid);
        assert_eq!(home(1001).as_deref(), Some(Path::new("/home/bob")));
        assert_eq!(home(1004).as_deref(), Some(Path::new("/srv/last")));
        assert_eq!(home(1002), None);
        assert_eq!(home(1003), None);
        assert_eq!(home(100), None);
        assert_eq!(name_in(table, 1001).unwrap(), "bob");
        assert_eq!(name_in(table, 1003).unwrap(), "cut");
        assert_eq!(name_in(table, 100), None);
    }

    #[test]
    fn a_home_that_the_environment_names_is_a_directory_of_its_user() {
        let place = tempfile::tempdir().unwrap();
        let (uid, home) = (crate::own_ids().0, place.path().join("home"));
        std::fs::create_dir(&home).unwrap();
        std::fs::write(place.path().join("file"), "").unwrap();
        std::os::unix::fs::symlink(&home, place.path().join("link")).unwrap();
        assert!(is_home(&home, uid) && is_home(&place.path().join("link"), uid));
        assert!(!is_home(&home, uid + 1));
        for other in ["file", "absent"] {
            assert!(!is_home(&place.path().join(other), uid), "{other}");
        }
        assert!(!is_home(Path::new("/"), 0) && !is_home(Path::new("."), uid));
    }

    #[test]
    fn a_home_has_the_name_of_its_user_and_belongs_to_them() {
        let homes = tempfile::tempdir().unwrap();
        let home = homes.path().join("ann");
        std::fs::create_dir(&home).unwrap();
        std::fs::write(homes.path().join("file"), "").unwrap();
        std::os::unix::fs::symlink("ann", homes.path().join("link")).unwrap();
        let uid = crate::own_ids().0;
        let found = |uid, name: &str| home_below(homes.path(), uid, OsStr::new(name));
        assert_eq!(found(uid, "ann"), Some(home));
        assert_eq!(found(uid + 1, "ann"), None);
        for other in [
            "", ".", "..", "/", "ann/..", "../ann", "/ann", "bob", "file", "link",
        ] {
            assert_eq!(found(uid, other), None, "{other}");
        }
    }
}
