//! Commands that are shown to be typed next, with the arguments that this one was given.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::cli::args::Scope;
use crate::cli::context::Context;
use crate::config::written_path;
use crate::contract::PathGlob;
use crate::model::InstanceId;
use crate::recovery::Wanted;
use crate::terminal::shell;
use clap::ValueEnum;
use handle_fs::remote::is_elsewhere;

/// Returns the PATH argument that means a path of these roots, or one below the current directory, and no other: what would be read
/// as a glob is escaped. What leads to a root is read by its letters.
pub(super) fn literal(roots: &[PathBuf], path: &Path) -> OsString {
    let root = roots.iter().filter(|root| path.starts_with(root));
    let root = root.max_by_key(|root| root.as_os_str().len());
    let below = root.map_or(Ok(path), |root| path.strip_prefix(root));
    let (Ok(below), Some(word)) = (below, path.to_str()) else {
        return path.into();
    };
    let below = below.to_str().unwrap_or_default();
    if !PathGlob::is_glob(below) {
        return path.into();
    }
    let leading = word.len() - below.len();
    let letter = below.find(['*', '?', '[']).unwrap_or_default();
    // Directories before it are read by their letters, too.
    let segment = below
        .get(..letter)
        .and_then(|before| before.rfind('/'))
        .map_or(0, |at| at + 1);
    let (plain, rest) = word.split_at(leading + segment);
    // A word without a slash would mean that name everywhere.
    let plain = if plain.is_empty() { "./" } else { plain };
    let mut escaped = plain.to_owned();
    for letter in rest.chars() {
        if matches!(letter, '*' | '?' | '[' | '\\') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped.into()
}

/// Returns a PATH argument as it reads in any directory. A glob without a slash means that name everywhere, and stays as it is.
pub(super) fn anywhere(context: &Context<'_>, argument: &OsString) -> OsString {
    let is_name = |word: &str| !word.contains('/') && PathGlob::is_glob(word);
    match is_elsewhere(Path::new(argument)) || argument.to_str().is_some_and(is_name) {
        true => argument.clone(),
        false => written_path(context.environment, Path::new(argument)).into(),
    }
}

/// A command that grows word by word, quoted for a shell. Its paths stand last.
#[derive(Clone, Debug)]
pub(super) struct Words {
    text: String,
    paths: Vec<OsString>,
}

impl Words {
    pub(super) fn new(verb: &str) -> Self {
        Self {
            text: verb.to_owned(),
            paths: Vec::new(),
        }
    }

    /// A word as it is, such as a flag.
    pub(super) fn plain(mut self, word: &str) -> Self {
        self.text.push(' ');
        self.text.push_str(word);
        self
    }

    /// An argument, quoted.
    pub(super) fn arg(self, word: impl AsRef<OsStr>) -> Self {
        let word = shell::word(word.as_ref());
        self.plain(&word)
    }

    /// The session, unless a command typed in the current directory means it without a name.
    pub(super) fn session(self, context: &Context<'_>, instance: &InstanceId, wanted: Wanted) -> Self {
        match context.is_latest_here(instance, wanted) {
            true => self,
            false => self.arg(instance.as_str()),
        }
    }

    /// A flag with its value, when there is one.
    pub(super) fn flag(self, flag: &str, value: Option<impl AsRef<OsStr>>) -> Self {
        match value {
            // Otherwise it would be taken for another flag.
            Some(value) if value.as_ref().as_encoded_bytes().starts_with(b"-") => {
                let value = shell::word(value.as_ref());
                self.plain(&format!("{flag}={value}"))
            }
            Some(value) => self.plain(flag).arg(value),
            None => self,
        }
    }

    /// A flag once with each of its values.
    pub(super) fn flags(self, flag: &str, values: &[impl AsRef<OsStr>]) -> Self {
        values
            .iter()
            .fold(self, |words, value| words.flag(flag, Some(value)))
    }

    /// A flag without a value, when it was given.
    pub(super) fn switch(self, flag: &str, given: bool) -> Self {
        if given { self.plain(flag) } else { self }
    }

    /// Paths, whatever flags follow.
    pub(super) fn paths(self, paths: &[OsString]) -> Self {
        let paths = paths.to_vec();
        Self { paths, ..self }
    }

    /// Appends the arguments that `explain`, `launch` and `begin` share. `mode` replaces a missing mode.
    pub(super) fn scope(self, scope: &Scope, mode: Option<&str>) -> Self {
        let given = scope.snapshot.and_then(|mode| mode.to_possible_value());
        let given = given.as_ref().map(|value| value.get_name()).or(mode);
        let action = scope.on_failure.and_then(|action| action.to_possible_value());
        let mut words = self.flag("--snapshot", given);
        for pattern in &scope.exclude {
            words = words.flag("--exclude", Some(pattern));
        }
        for path in &scope.path {
            words = words.flag("--path", Some(path));
        }
        words = words
            .switch("--allow-broad", scope.allow_broad)
            .flag("--on-failure", action.as_ref().map(|value| value.get_name()));
        if let Some(every) = scope.checkpoint_every {
            words = words.flag("--checkpoint-every", Some(&format!("{}s", every.as_secs())));
        }
        match &scope.target {
            Some(target) => words.arg(target),
            None => words,
        }
    }

    /// The command to launch. Its arguments may hold secrets, and are not repeated.
    pub(super) fn launching(self, command: &[OsString]) -> Self {
        match command.split_first() {
            None => self,
            Some((program, [])) => self.plain("--").arg(program),
            Some((program, _)) => self.plain("--").arg(program).plain("..."),
        }
    }

    /// The whole command. A path that looks like a flag or a session needs `--` before it.
    pub(super) fn text(self) -> String {
        let is_other = |path: &OsString| {
            let bytes = path.as_encoded_bytes();
            bytes.starts_with(b"-") || bytes.starts_with(b"@") || bytes.starts_with(b"rc-")
        };
        let (escaped, paths) = (self.paths.iter().any(is_other), self.paths.clone());
        paths.iter().fold(self.switch("--", escaped), Self::arg).text
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Words, literal};

    #[test]
    fn a_path_that_reads_as_a_glob_is_escaped_below_its_root() {
        let roots = ["/src/[app]".into(), "/src".into()];
        for (path, wanted) in [
            ("/src/[app]/plain", "/src/[app]/plain"),
            ("/src/[app]/a*b", r"/src/[app]/a\*b"),
            (r"/src/[app]/d\e/[id].tsx", r"/src/[app]/d\e/\[id].tsx"),
            (r"/src/x?/y\z", r"/src/x\?/y\\z"),
            ("*", r"./\*"),
            ("a/*", r"a/\*"),
            ("[open", "[open"),
        ] {
            assert_eq!(literal(&roots, Path::new(path)), wanted, "{path}");
        }
    }

    #[test]
    fn a_value_that_looks_like_a_flag_is_none() {
        let words = Words::new("restore").flag("--exclude", Some("-x y"));
        let words = words.flags("--path", &["a", "-b"]).paths(&["-c".into()]);
        assert_eq!(words.text(), "restore --exclude='-x y' --path a --path=-b -- -c");
        let words = Words::new("restore").paths(&["a".into(), "@2".into()]);
        assert_eq!(words.text(), "restore -- a @2");
        assert_eq!(Words::new("find").flag("--path", None::<&str>).text(), "find");
    }
}
