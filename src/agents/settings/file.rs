//! The settings file itself: read, changed, and written only if it is still as shown.

use std::path::{Path, PathBuf};

use super::location::{SettingsLocation, place};
use super::{After, Fault, Found, Program, SettingsError, install, look, uninstall};
use crate::agents::{Agent, Scope};
use crate::config::settle;
use crate::environment::Environment;
use crate::product::FILE_REPLACER;

/// Maximum size of a settings file, in bytes.
const LARGEST: u64 = 4 << 20;

/// A settings file as it was read.
struct Read {
    place: SettingsLocation,
    /// Path of the file with all links followed.
    file: PathBuf,
    text: Option<String>,
}

impl Read {
    fn new(agent: Agent, scope: Scope, environment: &Environment) -> Result<Self, SettingsError> {
        let place = place(agent, scope, environment)?;
        let path = place.path();
        let file = settle(&path);
        let failed = |source| SettingsError::Read {
            path: path.clone(),
            source,
        };
        // A link in a project may have been put there to redirect the write.
        if scope.is_in_project() && !file.starts_with(settle(&place.base)) {
            return Err(SettingsError::Link { path, to: Some(file) });
        }
        let bytes = handle_fs::read_small_file(&file, LARGEST).map_err(failed)?;
        if bytes.is_none() && has_link(&place)? {
            return Err(SettingsError::Link { path, to: None });
        }
        let text = bytes.map(String::from_utf8).transpose().map_err(|error| {
            let good = error.as_bytes().get(..error.utf8_error().valid_up_to());
            let lines = good.unwrap_or_default().iter().filter(|byte| **byte == b'\n');
            SettingsError::Fault {
                path: path.clone(),
                fault: Fault::at(lines.count() + 1, "it is not UTF-8"),
            }
        })?;
        Ok(Self { place, file, text })
    }

    fn faulty(&self, fault: Fault) -> SettingsError {
        SettingsError::Fault {
            path: self.place.path(),
            fault,
        }
    }

    /// Returns true if one of the operator's links leads from where the agent looks to the file.
    fn linked(&self) -> bool {
        self.file != settle(&self.place.base).join(&self.place.below)
    }
}

/// Returns true if a dangling link stands on the path below the base.
fn has_link(place: &SettingsLocation) -> Result<bool, SettingsError> {
    let path = place.path();
    let below = path.ancestors().take_while(|at| *at != place.base);
    for at in below {
        let found = handle_fs::stat_path(at);
        match found {
            Ok(Some(stat)) if stat.kind == handle_fs::NodeKind::Symlink => {
                return Ok(handle_fs::stat_path(&settle(at)).ok().flatten().is_none());
            }
            Ok(_) => {}
            // A file stands where a directory should; writing says so.
            Err(_) => return Ok(false),
        }
    }
    Ok(false)
}

/// A change of a settings file: decided, not written yet.
#[derive(Clone, Debug)]
pub struct Edit {
    place: SettingsLocation,
    file: PathBuf,
    linked: bool,
    before: Option<String>,
    after: After,
}

impl Edit {
    /// Computes the file with jackin's hooks. Nothing is written.
    ///
    /// # Errors
    /// Every [`SettingsError`] but `Replace`.
    pub fn install(
        agent: Agent,
        scope: Scope,
        environment: &Environment,
        program: &Program,
    ) -> Result<Self, SettingsError> {
        let read = Read::new(agent, scope, environment)?;
        let after = install(agent, read.text.as_deref(), program).map_err(|fault| read.faulty(fault))?;
        Ok(Self::of(read, after))
    }

    /// Computes the file without jackin's hooks. Nothing is written.
    ///
    /// # Errors
    /// As [`Edit::install`].
    pub fn uninstall(agent: Agent, scope: Scope, environment: &Environment) -> Result<Self, SettingsError> {
        let read = Read::new(agent, scope, environment)?;
        let after = uninstall(agent, read.text.as_deref()).map_err(|fault| read.faulty(fault))?;
        Ok(Self::of(read, after))
    }

    fn of(read: Read, after: After) -> Self {
        Self {
            linked: read.linked(),
            place: read.place,
            file: read.file,
            before: read.text,
            after,
        }
    }

    /// Returns the file in which the agent looks.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.place.path()
    }

    /// Returns the file that is written: the target of the operator's links.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns true if a link stands on the path to the file.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.linked
    }

    /// Returns the current content; `None` if the file does not exist.
    #[must_use]
    pub fn before(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// Returns the state of the file after the edit.
    #[must_use]
    pub fn after(&self) -> &After {
        &self.after
    }

    /// Applies the edit. A new file beside the old one, with the same mode, owner and attributes, is on disk before it takes the
    /// old one's name. Missing directories are created, and removed again with the file. `random` makes the temporary name.
    ///
    /// # Errors
    /// [`SettingsError::Replace`].
    pub fn apply(&self, random: [u8; 8]) -> Result<(), SettingsError> {
        let base = settle(&self.place.base);
        let directory = self.file.parent().unwrap_or(&base);
        match (&self.after, &self.before) {
            (After::Same, _) | (After::Gone, None) => {}
            (After::Text(new), Some(old)) => {
                let any = |_: &Path| Ok::<(), SettingsError>(());
                FILE_REPLACER.replace(&self.file, old.as_bytes(), new.as_bytes(), random, any)?;
            }
            (After::Text(new), None) => {
                // What the agent's own variable names may be missing as a whole.
                let base = base.ancestors().find(|base| base.is_dir()).unwrap_or(&base);
                FILE_REPLACER.make_directories(base, directory)?;
                if let Err(error) = FILE_REPLACER.write_new(&self.file, new.as_bytes(), random) {
                    FILE_REPLACER.remove_made_directories(base, directory);
                    return Err(error.into());
                }
            }
            (After::Gone, Some(old)) => {
                FILE_REPLACER.remove_known(&self.file, old.as_bytes())?;
                FILE_REPLACER.remove_made_directories(Path::new("/"), directory);
            }
        }
        Ok(())
    }
}

/// Settings file of an agent, with jackin's hooks in it.
#[derive(Clone, Debug)]
pub struct Standing {
    /// File in which the agent looks.
    pub path: PathBuf,
    /// Hooks of jackin in the file.
    pub found: Found,
}

/// Reads the settings of `agent` and finds jackin's hooks in them.
///
/// # Errors
/// As [`Edit::install`].
pub fn standing(agent: Agent, scope: Scope, environment: &Environment) -> Result<Standing, SettingsError> {
    let read = Read::new(agent, scope, environment)?;
    let found = look(agent, read.text.as_deref()).map_err(|fault| read.faulty(fault))?;
    Ok(Standing {
        path: read.place.path(),
        found,
    })
}
