//! Layers of `[recovery.retention]`: the settings of a workspace, and those of the store.

use super::error::{ConfigError, Place};
use super::parse::Setting;
use super::{Retention, Room, Sourced};

/// The settings of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RetentionLayer {
    checkpoints: Option<Sourced<u64>>,
    checkpoint_days: Option<Sourced<u64>>,
    instances: Option<Sourced<u64>>,
    days: Option<Sourced<u64>>,
    max_bytes: Option<(Place, u64)>,
    min_free: Option<(Place, u64)>,
}

impl RetentionLayer {
    /// Sets one checked value; `key` is its name below `retention`.
    pub(super) fn set(&mut self, key: &str, place: &Place, setting: Setting) {
        let Setting::Number(number) = setting else { return };
        let sourced = Some(Sourced {
            value: number,
            source: (&place.origin).into(),
        });
        match key {
            "checkpoints" => self.checkpoints = sourced,
            "checkpoint_days" => self.checkpoint_days = sourced,
            "instances" => self.instances = sourced,
            "days" => self.days = sourced,
            "max_bytes" => self.max_bytes = Some((place.clone(), number)),
            "min_free" => self.min_free = Some((place.clone(), number)),
            _ => {}
        }
    }

    /// Returns this layer merged over a lower one.
    pub(super) fn over(self, lower: Self) -> Self {
        Self {
            checkpoints: self.checkpoints.or(lower.checkpoints),
            checkpoint_days: self.checkpoint_days.or(lower.checkpoint_days),
            instances: self.instances.or(lower.instances),
            days: self.days.or(lower.days),
            max_bytes: self.max_bytes.or(lower.max_bytes),
            min_free: self.min_free.or(lower.min_free),
        }
    }

    /// Refuses the store's settings in the table of a workspace.
    pub(super) fn refuse_of_store(&self) -> Result<(), ConfigError> {
        match self.max_bytes.iter().chain(&self.min_free).next() {
            None => Ok(()),
            Some((place, value)) => Err(ConfigError::BadValue {
                place: place.clone(),
                value: value.to_string(),
                problem: "it applies to the whole store; set it in [recovery.retention] of config.toml"
                    .to_owned(),
            }),
        }
    }

    /// Fills in the built-in values that no layer sets.
    pub(super) fn resolve(self) -> Retention {
        let usual = Retention::default();
        Retention {
            checkpoints: self.checkpoints.unwrap_or(usual.checkpoints),
            checkpoint_days: self.checkpoint_days.unwrap_or(usual.checkpoint_days),
            instances: self.instances.unwrap_or(usual.instances),
            days: self.days.unwrap_or(usual.days),
        }
    }

    pub(super) fn room(&self) -> Room {
        let usual = Room::default();
        let given = |value: &Option<(Place, u64)>| value.as_ref().map(|(_, value)| *value);
        Room {
            max_bytes: given(&self.max_bytes).unwrap_or(usual.max_bytes),
            min_free: given(&self.min_free).unwrap_or(usual.min_free),
        }
    }
}
