//! One extended attribute.

/// An extended attribute, name and value as the kernel gives them. ACLs are the attributes `system.posix_acl_*` and, on macOS, the
/// attribute `com.apple.system.Security`, as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Xattr {
    /// Full name with its namespace, e.g. `user.comment`.
    pub name: Box<[u8]>,
    /// Raw value.
    pub value: Box<[u8]>,
}

impl Xattr {
    /// Returns true for an access control list, which decides who may change the object.
    #[must_use]
    pub fn is_access_list(&self) -> bool {
        self.name.starts_with(b"system.") || *self.name == *ACCESS_LIST_OF_MACOS
    }

    /// Returns the rights (`rwx`, three bits) that an access list of Linux gives to the owning group; `None` for any other attribute. The
    /// group's bits in the mode of such an object are the list's mask (acl(5)).
    #[must_use]
    pub fn rights_of_group(&self) -> Option<u32> {
        if *self.name != *b"system.posix_acl_access" {
            return None;
        }
        let (version, entries) = self.value.split_first_chunk()?;
        if u32::from_le_bytes(*version) != POSIX_ACL_VERSION {
            return None;
        }
        // An entry is its tag, its rights (two bytes each) and the id of a user or a group (four bytes), all little-endian.
        let rights = |wanted: u16| {
            let mut all = entries.chunks_exact(8).filter_map(|entry| {
                let (tag, rest) = entry.split_first_chunk()?;
                let (rights, _) = rest.split_first_chunk()?;
                Some((u16::from_le_bytes(*tag), u16::from_le_bytes(*rights)))
            });
            all.find_map(|(tag, rights)| (tag == wanted).then_some(u32::from(rights) & 0o7))
        };
        let mask = rights(TAG_OF_MASK).unwrap_or(0o7);
        Some(rights(TAG_OF_GROUP)? & mask)
    }
}

/// Version of the form in which Linux gives out an access list (`POSIX_ACL_XATTR_VERSION` in linux/posix_acl_xattr.h).
const POSIX_ACL_VERSION: u32 = 2;
/// Tag of the entry for the owning group (`ACL_GROUP_OBJ` in linux/posix_acl.h).
const TAG_OF_GROUP: u16 = 0x04;
/// Tag of the mask (`ACL_MASK` there).
const TAG_OF_MASK: u16 = 0x10;

/// Attribute in which the kernel of macOS keeps a list, in a form of its own. It lets no program read or set an attribute of this
/// name (`xattr_protected` in xnu), so no other attribute is taken for a list.
pub(crate) const ACCESS_LIST_OF_MACOS: &[u8] = b"com.apple.system.Security";

#[cfg(test)]
mod tests {
    use super::Xattr;

    #[test]
    fn the_rights_of_the_group_are_those_of_its_entry_below_the_mask() {
        let list = |entries: &[(u16, u16)]| {
            let mut value = 2_u32.to_le_bytes().to_vec();
            for (tag, rights) in entries {
                value.extend(tag.to_le_bytes());
                value.extend(rights.to_le_bytes());
                value.extend(u32::MAX.to_le_bytes());
            }
            Xattr {
                name: (*b"system.posix_acl_access").into(),
                value: value.into(),
            }
        };
        assert_eq!(list(&[(1, 6), (4, 0), (0x10, 4)]).rights_of_group(), Some(0));
        assert_eq!(list(&[(1, 6), (4, 7), (0x10, 5)]).rights_of_group(), Some(5));
        assert_eq!(list(&[(1, 6), (4, 6)]).rights_of_group(), Some(6));
        assert_eq!(list(&[(1, 6)]).rights_of_group(), None);
        let other = Xattr {
            name: (*b"user.x").into(),
            ..list(&[(4, 7)])
        };
        assert_eq!(other.rights_of_group(), None);
    }
}
