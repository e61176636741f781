//! Completions where a shell reads them: the files for both names of the program, new or from an earlier version. A file that jackin
//! did not make is never replaced.

use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;

use super::args::{CalledAs, Shell};
use super::generate;
use crate::clock::{Entropy, random};
use crate::config::settle;
use crate::environment::Environment;
use crate::product::FILE_REPLACER;
use crate::report::{
    CompletionFileDocument, CompletionState, CompletionsInstallDocument, HostPathDocument, InstallOutcome,
};
use crate::terminal::shell;
use handle_fs::ReplaceError;

/// Largest file that may be completions of jackin, in bytes.
const LARGEST: u64 = 1 << 20;
/// Words in the head of each file that jackin made.
const MARK: &str = "asks the program itself";

/// State of a file before the installation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Before {
    /// Nothing is there.
    Missing,
    /// It has the new content.
    Same,
    /// It is jackin's, with another content.
    Older(Vec<u8>),
    /// It is not jackin's, for this reason.
    Foreign(String),
}

/// A file to install.
#[derive(Clone, Debug)]
struct CompletionFile {
    /// Path at which the shell reads it.
    path: PathBuf,
    /// State of the file.
    before: Before,
    /// The same with all links followed.
    file: PathBuf,
    contents: String,
}

/// Files of one shell.
#[derive(Clone, Debug)]
pub(super) struct CompletionFiles {
    /// The shell.
    shell: Shell,
    /// One for each name of the program.
    files: Vec<CompletionFile>,
    /// Line for the shell's start-up file, without which it does not read the directory.
    line: Option<String>,
}

/// Returns the shell that `SHELL` names.
pub(super) fn own_shell(environment: &Environment) -> Option<Shell> {
    let program = Path::new(environment.get("SHELL")?);
    match program.file_name()?.to_str()? {
        "bash" => Some(Shell::Bash),
        "zsh" => Some(Shell::Zsh),
        "fish" => Some(Shell::Fish),
        _ => None,
    }
}

impl CompletionFiles {
    /// Finds the directory and looks at the files. `None` if the home directory is unknown.
    pub(super) fn plan(environment: &Environment, shell: Shell) -> Option<Self> {
        let (directory, line) = directory(environment, shell)?;
        let file = |called_as| {
            let generated = generate::completions(shell, called_as);
            // bash-completion looks for a file with the name of the command.
            let name = match shell {
                Shell::Bash => generated.name().trim_end_matches(".bash"),
                Shell::Zsh | Shell::Fish => generated.name(),
            };
            let path = directory.join(name);
            let file = settle(&path);
            CompletionFile {
                before: before(&file, &generated.contents),
                path,
                file,
                contents: generated.contents,
            }
        };
        Some(Self {
            shell,
            files: [CalledAs::Jackin, CalledAs::JackinRecovery].map(file).into(),
            line,
        })
    }

    /// Returns the report.
    pub(super) fn document(&self, outcome: InstallOutcome) -> CompletionsInstallDocument {
        let file = |file: &CompletionFile| {
            let (state, reason) = match &file.before {
                Before::Missing => (CompletionState::New, None),
                Before::Same => (CompletionState::Unchanged, None),
                Before::Older(_) => (CompletionState::Replaced, None),
                Before::Foreign(reason) => (CompletionState::Kept, Some(reason.clone())),
            };
            CompletionFileDocument {
                path: HostPathDocument::new(&file.path),
                state,
                reason,
            }
        };
        let files = self.files.iter().map(file).collect();
        let shell = self.shell.to_possible_value();
        let shell = shell.as_ref().map_or("", |value| value.get_name());
        CompletionsInstallDocument::new(shell, outcome, files, self.line.as_deref())
    }

    /// Returns true if a file is to be written.
    pub(super) fn changes_any(&self) -> bool {
        self.files.iter().any(CompletionFile::changes)
    }

    /// Writes the files that differ.
    ///
    /// # Errors
    /// [`ReplaceError`], also if a file changed since [`Self::plan`].
    pub(super) fn write(&self, entropy: &dyn Entropy) -> Result<(), ReplaceError> {
        for file in self.files.iter().filter(|file| file.changes()) {
            file.write(random(entropy))?;
        }
        Ok(())
    }
}

impl CompletionFile {
    /// Returns true if it is to be written.
    fn changes(&self) -> bool {
        matches!(self.before, Before::Missing | Before::Older(_))
    }

    fn write(&self, random: [u8; 8]) -> Result<(), ReplaceError> {
        let new = self.contents.as_bytes();
        match &self.before {
            Before::Older(old) => FILE_REPLACER.replace(&self.file, old, new, random, |_| Ok(())),
            Before::Missing => {
                let directory = self.file.parent().unwrap_or(Path::new("/"));
                let base = directory.ancestors().find(|base| base.is_dir());
                let base = base.unwrap_or(Path::new("/"));
                FILE_REPLACER.make_directories(base, directory)?;
                FILE_REPLACER
                    .write_new(&self.file, new, random)
                    .inspect_err(|_| FILE_REPLACER.remove_made_directories(base, directory))
            }
            Before::Same | Before::Foreign(_) => Ok(()),
        }
    }
}

fn before(file: &Path, contents: &str) -> Before {
    match handle_fs::read_small_file(file, LARGEST) {
        Ok(None) => Before::Missing,
        Ok(Some(old)) if old == contents.as_bytes() => Before::Same,
        Ok(Some(old)) if is_own(&old) => Before::Older(old),
        Ok(Some(_)) => Before::Foreign("it is not from jackin".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Before::Foreign("a file is in the place of its directory".to_owned())
        }
        Err(error) => Before::Foreign(error.to_string()),
    }
}

/// Returns true if the first lines say that jackin made the file.
fn is_own(old: &[u8]) -> bool {
    const HEAD: usize = 5;
    let text = String::from_utf8_lossy(old);
    text.lines().take(HEAD).any(|line| line.contains(MARK))
}

/// Returns the directory in which a shell looks for the user's completions, and the line that it needs for that.
fn directory(environment: &Environment, shell: Shell) -> Option<(PathBuf, Option<String>)> {
    let home = environment.home.as_deref();
    let named = |variable: &str, below: &str| {
        let named = environment.get(variable).map(PathBuf::from);
        let named = named.filter(|path| path.is_absolute());
        named.or_else(|| home.map(|home| home.join(below)))
    };
    let data = || named("XDG_DATA_HOME", ".local/share");
    match shell {
        Shell::Bash => {
            let own = environment.get("BASH_COMPLETION_USER_DIR").map(PathBuf::from);
            let own = own.filter(|path| path.is_absolute());
            let own = own.or_else(|| Some(data()?.join("bash-completion")))?;
            Some((own.join("completions"), None))
        }
        Shell::Fish => Some((
            named("XDG_CONFIG_HOME", ".config")?.join("fish/completions"),
            None,
        )),
        Shell::Zsh => {
            let read = environment.get("FPATH").unwrap_or_default();
            let own = |path: &PathBuf| home.is_some_and(|home| path.starts_with(home) && path.is_dir());
            if let Some(read) = std::env::split_paths(read).find(own) {
                return Some((read, None));
            }
            let directory = data()?.join("zsh/site-functions");
            let word = shell::word(directory.as_os_str());
            let line = format!("fpath=({word} $fpath); autoload -Uz compinit; compinit");
            Some((directory, Some(line)))
        }
    }
}
