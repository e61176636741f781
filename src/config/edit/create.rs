//! Writes the text of a new workspace, and finds its name and its file's mode.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::{Wanted, insert};

/// Version of jackin's workspace files that new ones are written in.
const VERSION: &str = "v1alpha8";
/// Name of a workspace whose directory's name has no letter that a name may have.
const NAMELESS: &str = "workspace";
/// Longest name, in bytes: container names hold it, and have at most 58.
const LONGEST: usize = 32;

/// Returns the name of a workspace for the directory `root`: the directory's own name in letters that every file system and shell
/// takes, with a number behind it until `is_taken` is false.
pub(super) fn name(root: &Path, is_taken: impl Fn(&str) -> bool) -> String {
    let own = root.file_name().unwrap_or_default().to_string_lossy();
    let letter = |letter: char| match letter {
        'a'..='z' | '0'..='9' | '.' | '_' | '-' => letter,
        'A'..='Z' => letter.to_ascii_lowercase(),
        _ => '-',
    };
    let plain: String = own.chars().map(letter).take(LONGEST).collect();
    let plain = plain.trim_matches(['-', '.']);
    let first = if plain.is_empty() { NAMELESS } else { plain };
    let numbered = (2_u32..).map(|number| format!("{first}-{number}"));
    std::iter::once(first.to_owned())
        .chain(numbered)
        .find(|name| !is_taken(name))
        .unwrap_or_else(|| first.to_owned())
}

/// Returns the text of the file that defines the workspace `name` with one mount at `root`.
pub(super) fn text(name: &str, root: &str, wanted: &Wanted) -> String {
    let inside = format!("/workspace/{name}");
    let mut mount = Table::new();
    mount.insert("src", value(root));
    mount.insert("dst", value(inside.as_str()));
    mount.decor_mut().set_prefix("\n");
    let mut mounts = ArrayOfTables::new();
    mounts.push(mount);
    let mut document = DocumentMut::new();
    document.insert("version", value(VERSION));
    document.insert("workdir", value(inside));
    document.insert("mounts", Item::ArrayOfTables(mounts));
    let text = document.to_string();
    let insertion = insert::plan(&text, &[], wanted);
    insertion.map_or_else(
        || format!("{text}\n{}", insert::alone(&[], wanted)),
        |insertion| {
            let (head, tail) = text.split_at_checked(insertion.at).unwrap_or((&text, ""));
            format!("{head}{}{tail}", insertion.text)
        },
    )
}

/// Returns the mode bits of a new file in jackin's configuration `directory`: those of another workspace, else of `config.toml`, else
/// what the mask of the process leaves.
pub(super) fn mode(directory: &Path) -> u32 {
    const USUAL: u32 = 0o666;
    let workspaces = fs::read_dir(directory.join("workspaces")).ok();
    let mut neighbors: Vec<_> = workspaces
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    neighbors.sort();
    neighbors.push(directory.join("config.toml"));
    let of_file = |path: &std::path::PathBuf| {
        let metadata = fs::metadata(path).ok()?;
        metadata.is_file().then(|| metadata.permissions().mode() & USUAL)
    };
    neighbors.iter().find_map(of_file).unwrap_or(USUAL)
}
