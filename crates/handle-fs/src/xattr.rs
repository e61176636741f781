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
}

/// Attribute in which the kernel of macOS keeps a list, in a form of its own. It lets no program read or set an attribute of this
/// name (`xattr_protected` in xnu), so no other attribute is taken for a list.
pub(crate) const ACCESS_LIST_OF_MACOS: &[u8] = b"com.apple.system.Security";
