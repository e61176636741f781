//! `import`: what a file or a replica holds, and what would be dropped of it.

use crate::report::{AdoptDocument, ImportDocument};
use crate::terminal::{sanitize, size};

/// Describes the file. Every word of it is untrusted.
pub(in crate::cli) fn shown(found: &ImportDocument) -> String {
    let origin = &found.origin;
    let mut lines = vec![format!(
        "{}: {}, BLAKE3 {}",
        sanitize::path(&found.place),
        size::bytes(found.size),
        found.digest
    )];
    let mut fact = |name: &str, value: String| lines.push(format!("{name:10} {value}"));
    fact(
        "snapshot",
        format!(
            "{} {} of {}",
            origin.kind.word(),
            origin.snapshot,
            origin.instance
        ),
    );
    if let Some(workspace) = &origin.workspace {
        fact("workspace", sanitize::name(workspace.as_bytes()));
    }
    fact("taken", size::moment(origin.taken_at));
    fact(
        "exported",
        format!(
            "{}, by {}",
            size::moment(origin.exported_at),
            sanitize::text(&origin.written_by)
        ),
    );
    for root in &origin.roots {
        fact("mount", format!("{} (there)", sanitize::path(root)));
    }
    let lacks = if found.complete {
        ""
    } else {
        "; it is not complete"
    };
    fact(
        "holds",
        format!(
            "{}, {}{lacks}",
            size::counted(found.entries, "entry", "entries"),
            size::bytes(found.bytes)
        ),
    );
    if found.encrypted > 0 {
        fact("encrypted", encrypted(found.encrypted));
    }
    let total = found.dropped.saturating_add(found.owners);
    if found.trusted {
        fact(
            "trusted",
            "owners, set-id bits, attributes, flags and devices are kept".to_owned(),
        );
    } else if total > 0 {
        fact("dropped", what_is_dropped(found));
        for path in &found.dropped_paths {
            let below = if path.path == "." { "" } else { &path.path };
            let place = format!("{}/{below}", path.label);
            fact(
                "",
                format!(
                    "{}: {}",
                    sanitize::name(place.as_bytes()),
                    sanitize::text(&path.what.join(", "))
                ),
            );
        }
        let more = total.saturating_sub(found.dropped_paths.len() as u64);
        if more > 0 {
            fact("", format!("and {} more; --trust keeps them", size::count(more)));
        }
    }
    lines.join("\n")
}

/// Describes the encrypted files in a file that `export` wrote, and how to open them.
pub(in crate::cli) fn encrypted(files: u64) -> String {
    let files = size::counted(files, "private file", "private files");
    format!("{files}, which `fork` and `restore --to` write with --identity FILE")
}

fn what_is_dropped(found: &ImportDocument) -> String {
    let rights = size::counted(found.dropped, "path loses rights", "paths lose rights");
    let owners = size::counted(found.owners, "path becomes yours", "paths become yours");
    match (found.dropped, found.owners) {
        (_, 0) => rights,
        (0, _) => owners,
        _ => format!("{rights}, {owners} beside them"),
    }
}

/// Describes a replica, before anything is imported from it.
pub(in crate::cli) fn replica(found: &AdoptDocument) -> String {
    let sessions = size::counted(found.available_sessions, "session", "sessions");
    let snapshots = size::counted(found.available, "snapshot", "snapshots");
    let receipts = size::counted(found.receipts, "receipt", "receipts");
    let what = match found.trusted {
        true => {
            "They are imported as this machine's own: owners, set-user-id bits and devices are kept, and `restore` \
            writes to their paths."
        }
        false => {
            "You become the owner; set-user-id bits, capabilities and devices are dropped. Their paths are another \
            machine's: use `fork` or `restore --to`."
        }
    };
    let forgotten = match found.forgotten {
        0 => String::new(),
        1 => "\n1 more snapshot was forgotten there, and is not imported.".to_owned(),
        some => format!(
            "\n{} more snapshots were forgotten there, and are not imported.",
            size::count(some)
        ),
    };
    format!(
        "{}/{}: {sessions} with {snapshots}, {} there\n{receipts}, the last is {}\n{what}{forgotten}",
        found.place,
        found.store,
        size::bytes(found.available_bytes),
        found.anchor
    )
}

/// Describes what was imported from a replica.
pub(in crate::cli) fn adopted(done: &AdoptDocument) -> String {
    let snapshots = size::counted(done.snapshots.len() as u64, "snapshot", "snapshots");
    let sessions = size::counted(done.sessions.len() as u64, "session", "sessions");
    let mut text = format!("{snapshots} imported, {sessions} new here");
    if done.snapshots.is_empty() && !done.sessions.is_empty() {
        text = format!("{snapshots} imported; {sessions} here without any");
    } else if !done.sessions.is_empty() {
        text.push_str(" and pinned, so that the retention policy does not delete them at once");
    }
    if done.there > 0 {
        text.push_str(&format!("; {} here before", size::count(done.there)));
    }
    if done.given_up > 0 {
        text.push_str(&format!(
            "; {} pruned here before, and not imported",
            size::count(done.given_up)
        ));
    }
    if done.untrusted > 0 {
        let sessions = size::counted(done.untrusted, "session was", "sessions were");
        text.push_str(&format!(
            "\n{sessions} imported before without --trust, and still cannot be restored to the paths of another machine: use `fork` or \
            `restore --to`"
        ));
    }
    if done.dropped > 0 {
        let paths = size::counted(done.dropped, "path", "paths");
        text.push_str(&format!("\n{paths} lost a right:"));
        for lost in &done.dropped_paths {
            let place = format!("{}/{}", lost.what.label, lost.what.path);
            text.push_str(&format!(
                "\n  {} {}: {}",
                lost.snapshot,
                sanitize::name(place.as_bytes()),
                sanitize::text(&lost.what.what.join(", "))
            ));
        }
    }
    text
}
