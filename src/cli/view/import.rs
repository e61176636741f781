//! `import`: what a file holds, and what would be dropped of it.

use crate::report::ImportDocument;
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

fn what_is_dropped(found: &ImportDocument) -> String {
    let rights = size::counted(found.dropped, "path loses rights", "paths lose rights");
    let owners = size::counted(found.owners, "path becomes yours", "paths become yours");
    match (found.dropped, found.owners) {
        (_, 0) => rights,
        (0, _) => owners,
        _ => format!("{rights}, {owners} beside them"),
    }
}
