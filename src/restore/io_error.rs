//! I/O errors that concern a whole file system, so that nothing that follows would work either.

use std::io;

/// Returns true if an error concerns the whole file system, so that later operations would fail as well.
pub(super) fn concerns_all(error: &io::Error) -> bool {
    let gone = matches!(
        error.kind(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::StaleNetworkFileHandle
    );
    gone || is_out_of_space(error) || handle_fs::is_io_failure(error)
}

/// No blocks, no inodes, no quota left: nothing that follows would work either.
pub(super) fn is_out_of_space(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
