//! The settings file itself: read, changed, and written only when it is still what was shown.

use std::io;
use std::path::{Path, PathBuf};

use super::location::{SettingsLocation, place};
use super::{After, Fault, Found, Program, install, look, uninstall};
use crate::agents::{Agent, Scope};
use crate::config::{settle, shown};
use crate::environment::Environment;
use crate::platform::{self, ReplaceError};

/// Larger than this no settings file is.
const LARGEST: u64 = 4 << 20;

/// Why a settings file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The agent reads hooks of a project only.
    #[error("{agent} has no hooks for all projects")]
    NoUserScope {
        /// Which one.
        agent: Agent,
    },
    /// Nobody knows where the home is.
    #[error("your home directory is not known, so neither are your agents' settings")]
    NoHome,
    /// What the file holds is not what it should hold.
    #[error("{}{}: {}", shown(path), fault.line.map(|line| format!(", line {line}")).unwrap_or_default(), fault.problem)]
    Fault {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: Fault,
    },
    /// A link leads out of the project, or nowhere.
    #[error("{} is reached through a link that leads {}", shown(path), match to {
        Some(to) => format!("out of the project, to {}", shown(to)),
        None => "nowhere".to_owned(),
    })]
    Link {
        /// The file.
        path: PathBuf,
        /// Where to, when it is there.
        to: Option<PathBuf>,
    },
    /// The program's own path cannot be written.
    #[error("{problem}")]
    Program {
        /// Why not.
        problem: String,
    },
    /// It cannot be read.
    #[error("{} cannot be read: {source}", shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason, or ours.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Replace(#[from] ReplaceError),
}

/// A settings file as it was read.
struct Read {
    place: SettingsLocation,
    /// Where its links lead.
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
        // What lies in a project may have been put there to make us write elsewhere.
        if scope == Scope::Project && !file.starts_with(settle(&place.base)) {
            return Err(SettingsError::Link { path, to: Some(file) });
        }
        let bytes = platform::read_small_file(&file, LARGEST).map_err(failed)?;
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

    /// The file, when a link of the operator leads to it from where the agent looks.
    fn linked(&self) -> bool {
        self.file != settle(&self.place.base).join(&self.place.below)
    }
}

/// Whether a link that leads nowhere stands on the way below the base.
fn has_link(place: &SettingsLocation) -> Result<bool, SettingsError> {
    let path = place.path();
    let below = path.ancestors().take_while(|at| *at != place.base);
    for at in below {
        let found = platform::stat_path(at);
        match found {
            Ok(Some(stat)) if stat.kind == platform::NodeKind::Symlink => {
                return Ok(platform::stat_path(&settle(at)).ok().flatten().is_none());
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
    /// Works out what the file will be with our hooks. Nothing is written.
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

    /// The same without them.
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

    /// The file in which the agent looks.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.place.path()
    }

    /// The file that is written: where links of the operator lead.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Whether a link stands on the way to the file.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.linked
    }

    /// What it holds now; none when it is not there.
    #[must_use]
    pub fn before(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// What becomes of it.
    #[must_use]
    pub fn after(&self) -> &After {
        &self.after
    }

    /// Does it: a new file beside the old one, the same mode, owner and attributes, on disk before it takes the old one's name.
    /// Directories that are missing are made, and go again with the file. `random` makes a name.
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
                platform::replace_file(&self.file, old.as_bytes(), new.as_bytes(), random, any)?;
            }
            (After::Text(new), None) => {
                // What the agent's own variable names may be missing as a whole.
                let base = base.ancestors().find(|base| base.is_dir()).unwrap_or(&base);
                platform::make_directories(base, directory)?;
                if let Err(error) = platform::write_new_file(&self.file, new.as_bytes(), random) {
                    platform::remove_made_directories(base, directory);
                    return Err(error.into());
                }
            }
            (After::Gone, Some(old)) => {
                platform::remove_known_file(&self.file, old.as_bytes())?;
                platform::remove_made_directories(Path::new("/"), directory);
            }
        }
        Ok(())
    }
}

/// What of ours a settings file has.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Where the agent looks.
    pub path: PathBuf,
    /// What is there.
    pub found: Found,
}

/// Looks into the settings of `agent`.
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
