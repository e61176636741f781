//! Built-in excludes by detected stack: one table. A stack is detected by the plain existence of one regular file in the
//! mount's root; what that file says is never read, because an agent can write it.

use std::fs;
use std::path::Path;

use crate::snapshot::{ExcludeRule, ExcludeSource};

struct Stack {
    name: &'static str,
    marker: &'static str,
    /// What can be made again from the rest of the tree.
    patterns: &'static [&'static str],
}

const STACKS: &[Stack] = &[
    // Anchored: only the `target` beside the `Cargo.toml` is known to be cargo's.
    Stack {
        name: "rust",
        marker: "Cargo.toml",
        patterns: &["/target/"],
    },
    Stack {
        name: "node",
        marker: "package.json",
        patterns: &["node_modules/", ".next/", ".nuxt/", ".turbo/"],
    },
    Stack {
        name: "python-uv",
        marker: "pyproject.toml",
        patterns: &[
            ".venv/",
            "__pycache__/",
            ".pytest_cache/",
            ".mypy_cache/",
            ".ruff_cache/",
        ],
    },
];

/// The automatic excludes of the mount at `root`.
#[must_use]
pub fn detect(root: &Path) -> Vec<ExcludeRule> {
    let mut rules = Vec::new();
    for stack in STACKS {
        // Not followed: a link named `Cargo.toml` is no project.
        if !fs::symlink_metadata(root.join(stack.marker)).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        for pattern in stack.patterns {
            if pattern
                .strip_prefix('/')
                .is_some_and(|anchored| is_something_else(&root.join(anchored)))
            {
                continue;
            }
            rules.push(ExcludeRule {
                pattern: (*pattern).to_owned(),
                source: ExcludeSource::Integration {
                    name: stack.name.to_owned(),
                    because: stack.marker.to_owned(),
                },
            });
        }
    }
    rules
}

/// Whether there is something at `path` that is no directory, and so is not what the tool would make.
fn is_something_else(path: &Path) -> bool {
    // Without a trailing slash, which would follow a link.
    let path: std::path::PathBuf = path.components().collect();
    fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_dir())
}
