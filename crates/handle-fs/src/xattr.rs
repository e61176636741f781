//! One extended attribute.

/// An extended attribute, name and value as the kernel gives them. ACLs are the attributes `system.posix_acl_*`; one of macOS is the
/// attribute `com.apple.system.Security`, as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Xattr {
    /// Full name with its namespace, e.g. `user.comment`.
    pub name: Box<[u8]>,
    /// Raw value.
    pub value: Box<[u8]>,
}
