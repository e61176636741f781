//! Names and home directories of users, from the system's table of accounts (passwd(5)).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

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
    use super::{home_in, name_in};
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
}
