//! `import`: what a file holds, and what would be dropped of it.

use std::path::Path;

use super::changes;
use crate::terminal::{sanitize, size};
use crate::transfer::Incoming;

/// Describes the file. Every word of it is untrusted.
pub(in crate::cli) fn shown(incoming: &Incoming, file: &Path, trusted: bool) -> String {
    let note = incoming.note();
    let record = &note.record;
    let (bytes_of_file, digest) = incoming.whole();
    let (entries, bytes) = incoming.totals();
    let mut lines = vec![format!(
        "{}: {}, BLAKE3 {digest}",
        sanitize::path(file),
        size::bytes(bytes_of_file)
    )];
    let mut fact = |name: &str, value: String| lines.push(format!("{name:10} {value}"));
    fact(
        "snapshot",
        format!("{} {} of {}", record.kind.word(), record.id, record.instance),
    );
    if let Some(workspace) = &record.workspace {
        fact("workspace", sanitize::name(workspace.as_bytes()));
    }
    fact("taken", size::moment(record.taken_at));
    fact(
        "exported",
        format!(
            "{}, by {}",
            size::moment(note.exported_at),
            sanitize::text(&note.written_by)
        ),
    );
    for mount in &record.mounts {
        fact("mount", format!("{} (there)", changes::host(&mount.coverage)));
    }
    let lacks = if record.complete {
        ""
    } else {
        "; it is not complete"
    };
    fact(
        "holds",
        format!(
            "{}, {}{lacks}",
            size::counted(entries, "entry", "entries"),
            size::bytes(bytes)
        ),
    );
    let dropped = incoming.dropped();
    if trusted {
        fact(
            "trusted",
            "owners, set-id bits, attributes, flags and devices are kept".to_owned(),
        );
    } else if dropped.total() > 0 {
        fact("dropped", what_is_dropped(incoming));
        for path in &dropped.named {
            let place = format!("{}/{}", path.label, String::from_utf8_lossy(path.path.as_bytes()));
            fact(
                "",
                format!(
                    "{}: {}",
                    sanitize::name(place.as_bytes()),
                    sanitize::text(&path.what.join(", "))
                ),
            );
        }
        let more = dropped.total().saturating_sub(dropped.named.len() as u64);
        if more > 0 {
            fact("", format!("and {} more; --trust keeps them", size::count(more)));
        }
    }
    lines.join("\n")
}

fn what_is_dropped(incoming: &Incoming) -> String {
    let dropped = incoming.dropped();
    let rights = size::counted(dropped.paths, "path loses rights", "paths lose rights");
    let owners = size::counted(dropped.owners, "path becomes yours", "paths become yours");
    match (dropped.paths, dropped.owners) {
        (_, 0) => rights,
        (0, _) => owners,
        _ => format!("{rights}, {owners} beside them"),
    }
}
