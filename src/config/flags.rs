//! The command line as the highest layer. Words are checked here, so that a flag and a file give the same errors.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use super::error::{ConfigError, Origin, Place};
use super::merge::Layer;
use super::parse::{self, Setting};
use super::schema::{RECOVERY, Shape};
use super::{Mode, Sourced};

/// Flags of `explain`, `launch` and `begin` that are settings, as they were typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--snapshot MODE`
    pub snapshot: Option<String>,
    /// `--exclude GLOB`, in order.
    pub exclude: Vec<String>,
    /// `--path DIR`, in order.
    pub paths: Vec<OsString>,
    /// `--on-failure WORD`
    pub on_failure: Option<String>,
    /// Mode that applies where neither a flag nor the configuration sets one; `None` for a command that must not choose one.
    pub implied: Option<Mode>,
}

impl Flags {
    /// Returns the layer, with the mode that these flags imply where it has none.
    pub(super) fn complete(&self, mut layer: Layer) -> Layer {
        layer.mode = layer.mode.or(self.implied.map(Sourced::built_in));
        layer
    }

    /// Returns the flags as a layer.
    pub(super) fn layer(&self) -> Result<Layer, ConfigError> {
        let mut layer = Layer::default();
        if let Some(word) = &self.snapshot {
            word_flag(&mut layer, "--snapshot", "snapshot", word)?;
        }
        if let Some(word) = &self.on_failure {
            word_flag(&mut layer, "--on-failure", "on_failure", word)?;
        }
        let exclude = place("--exclude");
        let patterns = self
            .exclude
            .iter()
            .map(|pattern| (exclude.clone(), pattern.clone()))
            .collect();
        layer.set("exclude", &exclude, Setting::List(patterns))?;
        for path in &self.paths {
            layer.path(&place("--path"), path.as_bytes())?;
        }
        Ok(layer)
    }
}

fn place(flag: &'static str) -> Place {
    Place {
        origin: Origin::Flag(flag),
        key: flag.to_owned(),
    }
}

fn word_flag(layer: &mut Layer, flag: &'static str, name: &str, word: &str) -> Result<(), ConfigError> {
    let place = place(flag);
    let key = RECOVERY.iter().find(|key| key.name == name);
    if let Some(valid) = key.and_then(|key| match key.shape {
        Shape::Words(valid) => Some(valid),
        _ => None,
    }) {
        let setting = Setting::Word(parse::choose(&place, word, valid)?);
        layer.set(name, &place, setting)?;
    }
    Ok(())
}
