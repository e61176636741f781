//! The calls that differ between systems: `linux.rs` and `apple.rs` have them in each system's words, `portable.rs` is the side
//! that is not Linux. Nothing here knows of other machines or of the simulation; `kernel.rs` does.

use std::path::Path;

mod bearer;

#[cfg(target_vendor = "apple")]
pub(crate) mod apple;
#[cfg(target_os = "linux")]
#[cfg_attr(
    feature = "portable",
    expect(dead_code, reason = "a portable build omits what macOS cannot do")
)]
pub(crate) mod linux;
#[cfg(any(feature = "portable", not(target_os = "linux")))]
pub(crate) mod portable;

pub(crate) use bearer::Bearer;
/// The calls of this system.
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(crate) use linux as own;
/// The calls of this system.
#[cfg(any(feature = "portable", not(target_os = "linux")))]
pub(crate) use portable as own;

/// A path or a name, as the kernel takes it.
pub(crate) trait Named: rustix::path::Arg + AsRef<Path> + Copy {}
impl<T: rustix::path::Arg + AsRef<Path> + Copy> Named for T {}
