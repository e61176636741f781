//! Excluded directories that a restore sets aside, and that an undo restores: they are in no manifest, and move as they are.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ByteString, Identity, RelPath, StagePlace};

/// Change between an excluded directory and one of jackin's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AsideAct {
    /// What is at the path goes aside.
    Away,
    /// What lies aside goes to the path, where nothing is.
    Back,
    /// The two change places.
    Exchanged,
}

/// A planned change of an excluded directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AsideStep {
    /// Below the mount root.
    pub path: RelPath,
    /// Kind of the change.
    pub act: AsideAct,
    /// Holding directory; the object in it has the last part of the path as its name.
    pub place: StagePlace,
    /// Object at the path before the step; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Identity>,
    /// Object in the holding directory before the step; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aside: Option<Identity>,
}

impl AsideStep {
    /// Returns the host path of the directory while it is set aside.
    #[must_use]
    pub fn lies(&self) -> PathBuf {
        let place = self.place.path();
        match self.path.split() {
            Some((_, name)) => place.join(name.as_os_str()),
            None => place,
        }
    }

    /// Returns true if the step leaves an object set aside.
    #[must_use]
    pub fn leaves(&self) -> bool {
        self.act != AsideAct::Back
    }
}

/// One that was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AsideChange {
    /// Label of the mount's coverage.
    pub mount: String,
    /// Below the mount root.
    pub path: RelPath,
    /// What was done.
    pub act: AsideAct,
    /// Where the directory lies aside, or lay: its host path.
    pub place: ByteString,
    /// What was at the path afterwards; none when nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Identity>,
    /// What lay aside afterwards; none when nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aside: Option<Identity>,
}

impl AsideChange {
    /// Returns the record of a step that was done.
    #[must_use]
    pub fn of(label: &str, step: &AsideStep) -> Self {
        let (live, aside) = match step.act {
            AsideAct::Away => (None, step.live),
            AsideAct::Back => (step.aside, None),
            AsideAct::Exchanged => (step.aside, step.live),
        };
        Self {
            mount: label.to_owned(),
            path: step.path.clone(),
            act: step.act,
            place: ByteString::from(step.lies().as_path()),
            live,
            aside,
        }
    }

    /// Returns the host path of the holding directory.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        Some(self.place.to_path().parent()?.to_path_buf())
    }

    /// Returns true if the change left an object set aside.
    #[must_use]
    pub fn leaves(&self) -> bool {
        self.act != AsideAct::Back
    }
}
