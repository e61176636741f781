//! Settings of the screen, `[recovery.ui]` in config.toml: the keys, and the colors.

use std::collections::BTreeMap;

use super::error::{ConfigError, Place};
use super::parse::Setting;
use super::schema::{Key, UI};

/// Word for the space bar.
const SPACE: &str = "space";

/// Settings of the screen that differ from the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreenSettings {
    /// Key that is pressed, and the one that it acts as.
    pub keys: BTreeMap<char, char>,
    /// Color by its role: `added`, `removed`, `changed` or `path`.
    pub colors: BTreeMap<&'static str, &'static str>,
}

/// The settings of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ScreenLayer {
    keys: BTreeMap<&'static str, (Place, char)>,
    colors: BTreeMap<&'static str, (Place, &'static str)>,
}

impl ScreenLayer {
    /// Sets one checked value; `name` is its key below `ui`.
    pub(super) fn set(&mut self, name: &str, place: &Place, setting: Setting) -> Result<(), ConfigError> {
        let Some(key) = UI.iter().find(|key| key.name == name) else {
            return Ok(());
        };
        match (setting, key.name.strip_prefix("color_")) {
            (Setting::Word(word), Some(role)) => {
                self.colors.insert(role, (place.clone(), word));
            }
            (Setting::Text(text), None) => {
                let letter = letter(&text).ok_or_else(|| ConfigError::BadValue {
                    place: place.clone(),
                    value: text.clone(),
                    problem: format!("it must be one character, or {SPACE:?}"),
                })?;
                self.keys.insert(key.name, (place.clone(), letter));
            }
            _ => {}
        }
        Ok(())
    }

    /// Refuses two actions on one key.
    pub(super) fn refuse_shared_keys(&self) -> Result<(), ConfigError> {
        for (name, (place, letter)) in &self.keys {
            let mut others = UI.iter().filter(|key| key.name != *name);
            if let Some(other) = others.find(|key| self.key(key) == Some(*letter)) {
                return Err(ConfigError::BadValue {
                    place: place.clone(),
                    value: letter.to_string(),
                    problem: format!("it is the key of {}; set that to another one", other.name),
                });
            }
        }
        Ok(())
    }

    /// Refuses these settings in the table of a workspace.
    pub(super) fn refuse_of_screen(&self) -> Result<(), ConfigError> {
        let keys = self
            .keys
            .values()
            .map(|(place, letter)| (place, letter.to_string()));
        let colors = self
            .colors
            .values()
            .map(|(place, word)| (place, (*word).to_owned()));
        match keys.chain(colors).next() {
            None => Ok(()),
            Some((place, value)) => Err(ConfigError::BadValue {
                place: place.clone(),
                value,
                problem: "it applies to the whole screen; set it in [recovery.ui] of config.toml".to_owned(),
            }),
        }
    }

    /// Returns the settings that differ from the defaults.
    pub(super) fn settings(&self) -> ScreenSettings {
        let keys = UI.iter().filter_map(|key| {
            let set = self.keys.get(key.name)?.1;
            Some((set, default_letter(key)?))
        });
        let colors = self.colors.iter().map(|(role, (_, word))| (*role, *word));
        ScreenSettings {
            keys: keys.filter(|(set, default)| set != default).collect(),
            colors: colors.collect(),
        }
    }

    fn key(&self, key: &Key) -> Option<char> {
        let set = self.keys.get(key.name).map(|(_, letter)| *letter);
        set.or_else(|| default_letter(key))
    }
}

fn default_letter(key: &Key) -> Option<char> {
    letter(key.default.strip_prefix('"')?.strip_suffix('"')?).filter(|_| key.name.starts_with("key_"))
}

/// Returns the key that a text names; `None` if it names none.
fn letter(text: &str) -> Option<char> {
    if text == SPACE {
        return Some(' ');
    }
    let mut letters = text.chars();
    let letter = letters.next().filter(|_| letters.next().is_none())?;
    (!letter.is_control() && !letter.is_whitespace()).then_some(letter)
}
