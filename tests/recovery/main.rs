//! The built binary, used as an operator uses it: every test makes its own home, launches a session that does damage,
//! and looks at what the verbs say and at what the file system then holds. Nothing here knows the library.
//!
//! `support` is the workshop (sandbox, exact trees, builders, documents); the other modules hold the tests, by theme.
//! A test whose name begins with `s` and two digits is about the scenario of that number.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::string_slice,
    reason = "a test shall stop with a message where it meets the unexpected, in its helpers too"
)]

mod active;
mod adversary;
mod agent_canary;
mod agent_encrypted;
mod agent_found;
mod agent_locked;
mod agent_settings;
mod agent_state;
mod agents;
mod archives;
mod attacker;
mod bad_config;
mod bad_input;
mod blame;
mod capturing;
mod carried;
mod carried_bounds;
mod carried_cluster;
mod carried_cut;
mod carried_frozen;
mod carried_killed;
mod catalog_again;
mod checkpoints;
mod clock;
mod completing;
mod completion_files;
mod configured;
mod content;
mod contract;
mod conversations;
mod crashing;
mod damage;
mod disk_gone;
mod doctor;
mod earlier_sessions;
mod edges;
mod emergency;
mod exchanges;
mod exports;
mod file_systems;
mod find;
mod first_command;
mod first_steps;
mod flags;
mod folded_names;
mod folding;
mod forget;
mod forget_killed;
mod forget_shared;
mod forks;
mod frozen;
mod full_disk;
mod git_class;
mod git_commit;
mod git_diff;
mod git_formats;
mod git_index;
mod git_isolated;
mod git_later;
mod git_locked;
mod git_named;
mod git_needs;
mod git_packed_since;
mod git_state;
mod git_waiting;
mod guidance;
mod hang_up;
mod here;
mod hidden_secrets;
mod hook_files;
mod hook_owner;
mod hook_scripts;
mod hooks;
mod hostile_ids;
mod html;
mod hunks;
mod imports;
mod in_use;
mod incomplete_undo;
mod init;
mod install_script;
mod integrations;
mod intervals;
mod jackin_instances;
mod json;
mod kills;
mod kinds;
mod late_end;
mod late_receipts;
mod later_work;
mod launch_cost;
mod launching;
mod link_groups;
mod linked_paths;
mod links;
mod log_file;
mod mapped;
mod mcp;
mod mcp_clients;
mod mcp_hooks;
mod mcp_killed;
mod merging;
mod metadata;
mod mistakes;
mod modes;
mod mount_points;
mod mounted;
mod moved_away;
mod names;
mod native;
mod native_behind;
mod native_kept;
mod outputs;
mod outside;
mod outside_git;
mod overlays;
mod pager;
mod past;
mod patches;
mod plan;
mod planted_names;
mod programs;
mod project_ids;
mod prompts;
mod property;
mod property_model;
mod property_sessions;
mod readable_secret;
mod real_cluster;
mod real_tree;
mod refused_names;
mod renamed_paths;
mod repeat;
mod replaced;
mod replica_origins;
mod replicas;
mod replicas_deleted;
mod replicas_imported;
mod restore_points;
mod retention;
mod retention_killed;
mod room;
mod set_aside;
mod set_aside_where;
mod silent_machine;
mod slips;
mod slow_writes;
mod status;
mod steps_back;
mod sudo;
mod support;
mod support_compare;
mod targets;
mod terminal;
mod tools;
mod turns;
mod turns_again;
mod turns_lost;
mod turns_open;
mod two_names;
mod ui;
mod ui_marks;
mod unmounted;
mod unreadable;
mod untouched;
// macOS has no watcher: its checkpoints walk.
mod vcs_stores;
mod waiting;
#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod watcher;
mod watching;
mod ways_out;
