//! The names of this program that the crates below it are given. They are part of what is stored, and stay as they are.

use handle_fs::FileReplacer;

/// Name of mounted snapshots in the table of mounts.
pub const FILE_SYSTEM: &str = "jackin-recovery";

/// Replaces files of others: settings of agents and jackin's configuration.
pub const FILE_REPLACER: FileReplacer = FileReplacer {
    temporary_prefix: ".jackin-new-",
    made_attribute: "user.jackin-recovery.made",
};
