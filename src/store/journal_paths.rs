//! Rules that make the files of a restore safe to act on. A store may come from elsewhere: the paths that they name are moved and
//! removed, so each has to be in the mount, or in a directory that a restore into it creates.

use std::collections::HashSet;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::record::{check_root, is_label};
use crate::contract::is_staging_place;
use crate::model::{Decision, Intent, IntentMount, Journal, JournalMount, JournalMove, MoveKind, Name};

/// Permission bits with set-id bits and sticky.
const MODE: u32 = 0o7777;
const SECOND: u32 = 1_000_000_000;

/// One of the files.
pub(in crate::store) trait Paper: DeserializeOwned {
    /// Checks what its types do not enforce; `directory` is the one that contains the file.
    fn check(&self, directory: &Path) -> Result<(), String>;
}

impl Paper for Decision {
    fn check(&self, _: &Path) -> Result<(), String> {
        Ok(())
    }
}

impl Paper for Intent {
    fn check(&self, directory: &Path) -> Result<(), String> {
        if directory.file_name() != Some(self.id.as_str().as_ref()) {
            return Err(format!("it says that it is the intent of {}", self.id));
        }
        unique(self.mounts.iter().map(|mount| &mount.coverage.label))?;
        self.mounts.iter().try_for_each(of_mount)
    }
}

fn of_mount(mount: &IntentMount) -> Result<(), String> {
    let root = &mount.coverage.root;
    check_root(root).map_err(|why| format!("the mount root {:?} {why}", root.to_path()))?;
    let root = root.to_path();
    let stage = mount.stage.iter().map(|place| (place, false));
    let aside = mount.aside.iter().map(|step| (&step.place, true));
    for (place, aside) in stage.chain(aside) {
        if !is_staging_place(place, &root, aside) {
            return Err(format!(
                "{:?} is no place of a restore into {root:?}",
                place.path()
            ));
        }
    }
    if mount.aside.iter().any(|step| step.path.is_root()) {
        return Err("it sets a mount root aside".to_owned());
    }
    for file in &mount.composed {
        let content = file.entry.0.content();
        let fits = content.is_some_and(|content| content.is_of(&file.content.0));
        if !fits || file.path.is_root() {
            return Err(format!("{:?} is no file with the composed content", file.path));
        }
    }
    Ok(())
}

fn unique<'a>(labels: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = HashSet::new();
    for label in labels {
        if !is_label(label) {
            return Err(format!("{label:?} is not a mount's label"));
        }
        if !seen.insert(label) {
            return Err(format!("two mounts have the label {label:?}"));
        }
    }
    Ok(())
}

impl Paper for Journal {
    fn check(&self, _: &Path) -> Result<(), String> {
        unique(self.mounts.iter().map(|mount| &mount.label))?;
        self.mounts.iter().try_for_each(journaled)
    }
}

fn journaled(mount: &JournalMount) -> Result<(), String> {
    for step in &mount.moves {
        if let MoveKind::Install(place) | MoveKind::Exchange(place) | MoveKind::StageOut(place) = &step.deed {
            let name = Name::new(&place.0);
            name.map_err(|why| format!("the place {:?} cannot be used: {why}", place.to_path()))?;
        }
        // The root is never moved: it comes back as a whole, or stays.
        if step.path.is_root() && !suits_root(step, mount.root.is_some()) {
            return Err("it moves a mount root".to_owned());
        }
    }
    for parent in &mount.parents {
        if parent.mode & !MODE != 0 || parent.mtime.1 >= SECOND {
            return Err(format!("{:?} has an impossible mode or time", parent.path));
        }
    }
    Ok(())
}

fn suits_root(step: &JournalMove, exists: bool) -> bool {
    match step.deed {
        MoveKind::Metadata { .. } => exists,
        MoveKind::Install(_) => !exists,
        _ => false,
    }
}

/// Checks that a journal fits this intent: it moves files only on confirmed mounts, and sets aside only what the intent names.
pub(super) fn belongs(journal: &Journal, intent: &Intent) -> Result<(), String> {
    for mount in &journal.mounts {
        let mut meant = intent.mounts.iter().filter(|meant| meant.stage.is_some());
        let meant = meant.find(|meant| meant.coverage.label == mount.label);
        let Some(meant) = meant else {
            return Err(format!("nothing was to be done on the mount {:?}", mount.label));
        };
        for step in &mount.moves {
            if let MoveKind::SetAside(place) | MoveKind::PutBack(place) | MoveKind::SwapAside(place) =
                &step.deed
                && !meant
                    .aside
                    .iter()
                    .any(|aside| aside.path == step.path && aside.place == *place)
            {
                return Err(format!("{:?} was not to be set aside", step.path));
            }
        }
    }
    Ok(())
}
