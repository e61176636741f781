//! Settings and files of a repository that make git run a program or look elsewhere.

use std::collections::BTreeSet;

use super::config::ConfigEntry;
use super::error::shown;
use super::reading::{below, look, size, whole};
use super::remotes::without_credentials;
use super::repository::{GitDir, Repository, dot_git};
use super::{Files, Found, GitError};
use handle_fs::{Name, RelPath};

/// Item that makes git run a program, or take settings from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Executable {
    /// Name of the item: `hook pre-commit`, `filter.lfs.clean`, `attribute filter`.
    pub what: String,
    /// Value, cut if it is long, without credentials; of a hook, if it is executable.
    pub detail: String,
}

/// Maximum number of listed items.
const MOST_LISTED: usize = 10_000;
/// Maximum bytes of all settings that linked work trees have for themselves; more are hostile.
const MOST_LINKED: u64 = 16 << 20;
/// Maximum bytes of a value or a name.
const LONGEST: usize = 4096;
/// Maximum bytes of an attributes file; a larger one is hostile.
const MOST_ATTRIBUTES: u64 = 4 << 20;

/// Returns everything that makes git run a program, redirects it, or includes more configuration: in the git directory, and in the files and
/// directories of the tree that its configuration names.
#[must_use]
pub fn executables(repository: &Repository) -> Vec<Executable> {
    let mut found = Items::default();
    redirections(repository, &mut found);
    hooks(repository, &mut found);
    for entry in repository.all_entries().filter(|entry| acts(entry)) {
        if found.is_full() {
            break;
        }
        found.add(listed(entry));
    }
    linked_settings(repository, &mut found);
    repository.doubts.settle(attributes(repository, &mut found));
    if found.is_full() {
        let what =
            format!("more than {MOST_LISTED} things make git run programs, and the rest is not listed");
        repository.doubts.add(what);
    }
    found.0.into_iter().take(MOST_LISTED).collect()
}

/// Found items, each once. Sources stop when it is full: their sizes multiply.
#[derive(Default)]
struct Items(BTreeSet<Executable>);

impl Items {
    /// Returns true if there are more than are listed.
    fn is_full(&self) -> bool {
        self.0.len() > MOST_LISTED
    }

    fn add(&mut self, item: Executable) {
        if !self.is_full() {
            self.0.insert(item);
        }
    }
}

/// Adds what makes git look elsewhere for the git directory, settings or hooks: addresses of other directories, and links. What is there is
/// not read.
fn redirections(repository: &Repository, found: &mut Items) {
    let mut add = |what: String, detail: String| found.add(Executable { what, detail });
    let target = |path: &RelPath| match look(repository.files, path) {
        Ok(Some(Found::Symlink(target))) => Some(format!("a link to {}", shown(&target))),
        _ => None,
    };
    let linked = dot_git(repository.files, &repository.work).ok();
    match (linked.as_ref().and_then(target), repository.shape()) {
        (Some(link), _) => add("git directory".to_owned(), link),
        (None, GitDir::Elsewhere(path)) => add("git directory".to_owned(), shown(path)),
        (None, _) => {}
    }
    let common = repository.shared_git_dir();
    let own = repository.git_dir();
    let of_own = own.map(|own| ["commondir", "config.worktree"].map(|part| (own, part)));
    let of_all =
        common.map(|common| ["config", "hooks", "info", "info/attributes"].map(|part| (common, part)));
    for (dir, part) in of_own.into_iter().flatten().chain(of_all.into_iter().flatten()) {
        if let Some(link) = target(&below(dir, part)) {
            add(part.to_owned(), link);
        }
    }
    if let Some(text) = own.and_then(|own| repository.unusual_commondir(own)) {
        add("commondir".to_owned(), shown(&text));
    }
    for (what, paths) in [
        ("hooks", repository.hook_directories()),
        ("include", repository.included_files()),
    ] {
        for (path, link) in paths.iter().filter_map(|path| Some((path, target(path)?))) {
            add(format!("{what} {}", shown(path.as_bytes())), link);
        }
    }
}

/// Adds the settings that each linked work tree has for itself. It may lie outside of the tree, and git works there as well.
fn linked_settings(repository: &Repository, found: &mut Items) {
    let Some(common) = repository.shared_git_dir() else {
        return;
    };
    if !repository.config().says("extensions", "worktreeconfig") {
        return;
    }
    let mut left = MOST_LINKED;
    for name in repository.worktrees() {
        if found.is_full() {
            return;
        }
        let dir = Name::new(&name).map(|name| below(common, "worktrees").join(&name));
        let Some(dir) = dir.ok().filter(|dir| Some(dir) != repository.git_dir()) else {
            continue;
        };
        let path = below(&dir, "config.worktree");
        let size = size(repository.files, &path).ok().flatten();
        let Some(rest) = left.checked_sub(size.unwrap_or_default()) else {
            repository.doubts.add(format!(
                "the config.worktree files of all work trees together are too large to be listed: {} and those behind \
                it are not read",
                shown(path.as_bytes())
            ));
            return;
        };
        left = rest;
        for entry in repository
            .config_at(&path)
            .entries
            .iter()
            .filter(|entry| acts(entry))
        {
            if found.is_full() {
                return;
            }
            let item = listed(entry);
            found.add(Executable {
                what: format!("{} in worktrees/{}", item.what, shown(&name)),
                ..item
            });
        }
    }
}

fn listed(entry: &ConfigEntry) -> Executable {
    let value = entry.value.as_deref().unwrap_or(b"true");
    let (value, _) = value.split_at(value.len().min(LONGEST));
    let is_address = value.windows(3).any(|three| three == b"://");
    let cut = |bytes: &[u8]| bytes.get(..LONGEST).unwrap_or(bytes).to_vec();
    let mut parts = vec![cut(&entry.section), cut(&entry.key)];
    if let Some(subsection) = &entry.subsection {
        parts.insert(1, cut(subsection));
    }
    let name = parts.join(&b'.');
    Executable {
        what: shown(&if name.windows(3).any(|three| three == b"://") {
            without_credentials(&name)
        } else {
            name
        }),
        detail: if is_address {
            shown(&without_credentials(value))
        } else {
            shown(value)
        },
    }
}

impl Repository<'_> {
    /// Returns the directories in the tree that `core.hooksPath` names. Husky runs files of the directory above its own, which it names `_`.
    #[must_use]
    pub fn hook_directories(&self) -> Vec<RelPath> {
        let values = self.all_entries().filter(|entry| {
            *entry.section == *b"core" && entry.subsection.is_none() && entry.key == b"hookspath"
        });
        let values = values.filter_map(|entry| entry.value.as_deref());
        let usual = self.shared_git_dir().map(|common| below(common, "hooks"));
        let mut found = BTreeSet::new();
        for dir in values.filter_map(|value| self.resolve_named(&self.work, value)) {
            found.extend(
                dir.split()
                    .filter(|(_, name)| name.as_bytes() == b"_")
                    .map(|(above, _)| above),
            );
            found.insert(dir);
        }
        found
            .into_iter()
            .filter(|dir| Some(dir) != usual.as_ref())
            .collect()
    }

    /// Returns the files in the tree to which hooks lead that are links.
    #[must_use]
    pub fn linked_hooks(&self) -> Vec<RelPath> {
        let usual = self.shared_git_dir().map(|common| below(common, "hooks"));
        let mut found = Vec::new();
        for dir in self.hook_directories().into_iter().chain(usual) {
            let names = match look(self.files, &dir) {
                Ok(Some(Found::Directory)) => self.files.names(&dir).unwrap_or_default(),
                _ => continue,
            };
            let linked =
                names
                    .iter()
                    .take(MOST_LISTED)
                    .filter_map(|name| match look(self.files, &dir.join(name)) {
                        Ok(Some(Found::Symlink(target))) => self.resolve_named(&dir, &target),
                        _ => None,
                    });
            found.extend(linked.take(MOST_LISTED.saturating_sub(found.len())));
        }
        found
    }
}

fn hooks(repository: &Repository, found: &mut Items) {
    if let Some(common) = repository.shared_git_dir() {
        let name = |name: &Name| shown(name.as_bytes());
        hooks_in(repository, &below(common, "hooks"), name, found);
    }
    for dir in repository.hook_directories() {
        let place = |name: &Name| shown(dir.join(name).as_bytes());
        hooks_in(repository, &dir, place, found);
    }
}

/// Adds the files of a directory of hooks. `called` names one.
fn hooks_in(repository: &Repository, dir: &RelPath, called: impl Fn(&Name) -> String, found: &mut Items) {
    if found.is_full() {
        return;
    }
    let names = match look(repository.files, dir) {
        Ok(None) => return,
        Ok(Some(Found::Directory)) => {
            (repository.files.names(dir)).map_err(|source| GitError::io(dir, source))
        }
        Ok(Some(_)) => Err(GitError::damaged(
            dir,
            "it is not a directory, and git may find hooks there",
        )),
        Err(error) => Err(error),
    };
    let names = repository.doubts.settle(names);
    let names = names.iter().filter(|name| !name.as_bytes().ends_with(b".sample"));
    for name in names.take(MOST_LISTED + 1) {
        let detail = match look(repository.files, &dir.join(name)) {
            Ok(Some(Found::File { executable: true, .. })) => "executable".to_owned(),
            Ok(Some(Found::File { .. })) => "not executable".to_owned(),
            Ok(Some(Found::Symlink(target))) => format!("a link to {}", shown(&target)),
            Ok(Some(Found::Directory | Found::Other)) => "not a file".to_owned(),
            Ok(None) => continue,
            Err(error) => error.to_string(),
        };
        let what = format!("hook {}", called(name));
        found.add(Executable { what, detail });
    }
}

/// Adds the lines that assign paths to a filter, a diff or a merge driver of any configuration, the user's included.
fn attributes(repository: &Repository, found: &mut Items) -> Result<(), GitError> {
    let Some(common) = repository.shared_git_dir() else {
        return Ok(());
    };
    let path = below(common, "info/attributes");
    let text = whole(repository.files, &path, MOST_ATTRIBUTES)?.unwrap_or_default();
    for (line, kinds) in driving(&text) {
        for kind in kinds {
            found.add(Executable {
                what: format!("attribute {kind}"),
                detail: shown(line),
            });
        }
        if found.is_full() {
            break;
        }
    }
    Ok(())
}

/// Returns the lines of an attributes file that assign paths to a filter, a diff or a merge driver.
///
/// # Errors
/// [`GitError`] if the file exists and cannot be read, or is too large.
pub fn driver_lines(files: &dyn Files, path: &RelPath) -> Result<BTreeSet<String>, GitError> {
    let text = whole(files, path, MOST_ATTRIBUTES)?.unwrap_or_default();
    let lines = driving(&text).map(|(line, _)| shown(line.trim_ascii()));
    Ok(lines.collect())
}

/// Returns the lines that name drivers, each with their kinds.
fn driving(text: &[u8]) -> impl Iterator<Item = (&[u8], Vec<&'static str>)> {
    let kind = |word: &[u8]| {
        ["filter", "diff", "merge"].into_iter().find(|kind| {
            let value = word.strip_prefix(kind.as_bytes());
            value.is_some_and(|value| value.starts_with(b"="))
        })
    };
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.starts_with(b"#"));
    let named = lines.map(move |line| {
        let words = line.split(u8::is_ascii_whitespace);
        (line, words.filter_map(kind).collect::<Vec<_>>())
    });
    named.filter(|(_, kinds)| !kinds.is_empty())
}

/// Returns true if a line of the configuration runs something, redirects something, or includes more. An alias counts without `!` too: it may
/// be `rebase --exec evil`.
fn acts(entry: &ConfigEntry) -> bool {
    let (key, sub) = (entry.key.as_slice(), entry.subsection.as_deref());
    let starts_shell = || {
        entry
            .value
            .as_deref()
            .is_some_and(|value| value.trim_ascii_start().starts_with(b"!"))
    };
    match &*entry.section {
        b"core" => match key {
            b"fsmonitor" => entry.truth().is_none(),
            b"hookspath"
            | b"sshcommand"
            | b"editor"
            | b"pager"
            | b"askpass"
            | b"gitproxy"
            | b"attributesfile"
            | b"worktree"
            | b"alternaterefscommand" => true,
            _ => false,
        },
        // `pager.log = false` only turns it off.
        b"pager" => entry.truth().is_none(),
        b"diff" => matches!(key, b"command" | b"textconv" | b"external"),
        b"merge" => key == b"driver",
        b"mergetool" | b"difftool" | b"browser" | b"man" => matches!(key, b"cmd" | b"path"),
        b"filter" => matches!(key, b"clean" | b"smudge" | b"process"),
        b"credential" => key == b"helper",
        b"gpg" => matches!(key, b"program" | b"defaultkeycommand"),
        b"remote" => match key {
            b"uploadpack" | b"receivepack" | b"proxy" | b"vcs" => true,
            b"url" | b"pushurl" => names_transport(entry.value.as_deref().unwrap_or_default()),
            _ => false,
        },
        b"imap" => key == b"tunnel",
        b"url" => matches!(key, b"insteadof" | b"pushinsteadof"),
        b"protocol" => key == b"allow",
        b"submodule" => key == b"update" && starts_shell(),
        b"http" => matches!(
            key,
            b"proxy" | b"sslverify" | b"sslcainfo" | b"sslcapath" | b"curloptresolve"
        ),
        b"lfs" => matches!(
            key,
            b"path" | b"args" | b"clean" | b"smudge" | b"standalonetransferagent"
        ),
        b"uploadpack" => key == b"packobjectshook",
        b"include" | b"includeif" => key == b"path",
        b"sequence" => key == b"editor",
        b"web" => key == b"browser",
        b"interactive" => key == b"difffilter",
        b"trailer" => matches!(key, b"command" | b"cmd"),
        b"sendemail" => key.ends_with(b"cmd") || key == b"smtpserver",
        b"guitool" => key == b"cmd",
        b"hook" => matches!(key, b"command" | b"event"),
        b"tar" => key == b"command" && sub.is_some(),
        b"alias" | b"instaweb" | b"extensions" => true,
        _ => false,
    }
}

/// Returns true for an address such as `ext::sh -c ...`, for which git runs `git-remote-ext`.
fn names_transport(url: &[u8]) -> bool {
    let colon = url.iter().position(|byte| *byte == b':').unwrap_or_default();
    let (word, rest) = url.split_at(colon);
    !word.is_empty()
        && rest.starts_with(b"::")
        && word
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}
