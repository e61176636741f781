//! Mounts of paths, from the table that Linux keeps for each process (proc_pid_mountinfo(5)). A move between two mounts would be
//! a copy, and a bind mount looks like any directory otherwise.

use handle_fs::remote::protocol::Facts;
use handle_fs::unescaped;

/// The table, longest paths first.
#[derive(Clone, Debug, Default)]
pub(super) struct Mounts(Vec<Mount>);

#[derive(Clone, Debug)]
struct Mount {
    point: Vec<u8>,
    number: u64,
    layered: bool,
}

impl Mounts {
    /// Reads the table; what is no line of it is passed over.
    pub(super) fn of(table: &[u8]) -> Self {
        let lines = table.split(|byte| *byte == b'\n');
        let mut mounts: Vec<Mount> = lines.filter_map(mount).collect();
        // Of several at one place the last one is seen.
        mounts.reverse();
        mounts.sort_by_key(|mount| std::cmp::Reverse(mount.point.len()));
        Self(mounts)
    }

    /// Returns true if no mount is known.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn at(&self, path: &[u8]) -> Option<&Mount> {
        self.0.iter().find(|mount| {
            let rest = path.strip_prefix(mount.point.as_slice());
            mount.point == b"/" || rest.is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
        })
    }

    /// Returns the number of the mount; 0 if it is unknown.
    fn number(&self, path: &[u8]) -> u64 {
        self.at(path).map_or(0, |mount| mount.number)
    }

    /// Returns the facts with the mount of the object added.
    pub(super) fn placed(&self, path: &[u8], facts: Facts) -> Facts {
        let place = (facts.place.0, self.number(path));
        Facts { place, ..facts }
    }

    /// Returns true if two paths lie on one mount, as far as the table shows.
    pub(super) fn same(&self, one: &[u8], other: &[u8]) -> bool {
        self.number(one) == self.number(other)
    }

    /// Returns true if `path` lies on a layered mount, in which directories may not be movable.
    pub(super) fn is_layered(&self, path: &[u8]) -> bool {
        self.at(path).is_some_and(|mount| mount.layered)
    }
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let number = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let point = unescaped(fields.nth(3)?);
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    Some(Mount {
        point,
        number,
        layered: kind == b"overlay",
    })
}

#[cfg(test)]
mod tests {
    use super::Mounts;

    #[test]
    fn a_path_lies_on_the_innermost_mount() {
        let table = b"21 1 0:20 / / rw - overlay overlay rw,lowerdir=/x\n\
            30 21 8:1 /v /srv/a\\040b rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
            31 30 8:1 /w /srv/a\\040b/deep rw - ext4 /dev/sda1 rw\n\
            32 31 8:1 /w /srv/a\\040b/deep rw - xfs /dev/sda1 rw\nbroken\n";
        let mounts = Mounts::of(table);
        for (path, number) in [
            ("/", 21),
            ("/srv/a bc", 21),
            ("/srv/a b", 30),
            ("/srv/a b/c", 30),
            ("/srv/a b/deep/c", 32),
        ] {
            assert_eq!(mounts.number(path.as_bytes()), number, "{path}");
        }
        assert!(mounts.is_layered(b"/etc") && !mounts.is_layered(b"/srv/a b"));
        assert!(mounts.same(b"/a", b"/b") && !mounts.same(b"/srv/a b/x", b"/srv/a b/deep/x"));
        assert_eq!(Mounts::default().number(b"/x"), 0);
    }
}
