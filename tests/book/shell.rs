//! Fresh home with a small project, in which the commands of one page run one after the other.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use regex::{Captures, Regex};
use tempfile::TempDir;

/// Directories in which the commands are found, besides the `bin` of the home.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The directory of homes as the pages show it, and the name of the home in it.
const HOMES: &str = "/home";
const USER: &str = "ann";
/// Kinds of ids: how they begin, and how many characters follow: sessions, snapshots, forks.
const KINDS: [(&str, usize); 3] = [("rc", 8), ("sn", 12), ("fk", 12)];
/// Time at which every page runs.
const DAY: &str = "2026-11-25";

/// Agent that the pages run unless they say otherwise.
const AGENT: &str = "#!/bin/sh\nrm .env\necho junk > junk\nln -sfn /elsewhere link\nmv src/a src/b\necho oops >> src/main.rs\n";

/// Shell of one page. Each command starts in the directory in which the one before ended.
pub(crate) struct Shell {
    homes: TempDir,
    scratch: TempDir,
    /// Ids of each kind that were printed, in order; the page shows others in their place, always the same.
    known: [Vec<String>; KINDS.len()],
}

impl Shell {
    pub(crate) fn new() -> Self {
        let shell = Self {
            homes: TempDir::with_prefix("jr-book-").unwrap(),
            scratch: TempDir::with_prefix("jr-book-").unwrap(),
            known: KINDS.map(|_| Vec::new()),
        };
        let home = &shell.homes.path().join(USER);
        fs::create_dir_all(home.join("src/shop/src")).unwrap();
        fs::create_dir(home.join("bin")).unwrap();
        for (path, text) in [
            ("src/shop/Cargo.toml", "[package]\n"),
            ("src/shop/.env", "KEY=1\n"),
            ("src/shop/src/main.rs", "fn main() {}\n"),
            ("src/shop/src/a", "some text that is found again\n"),
        ] {
            fs::write(home.join(path), text).unwrap();
        }
        symlink("/somewhere", home.join("src/shop/link")).unwrap();
        // Another process writes it: what this one has open could be open in a child of another test too, and would not start (ETXTBSY).
        let write = [
            "-c",
            "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"",
            "bin/my-agent",
            AGENT,
        ];
        assert!(
            Command::new("sh")
                .current_dir(home)
                .args(write)
                .status()
                .unwrap()
                .success()
        );
        symlink(env!("CARGO_BIN_EXE_jackin"), home.join("bin/jackin")).unwrap();
        fs::write(shell.scratch.path().join("directory"), home.to_str().unwrap()).unwrap();
        fs::write(shell.scratch.path().join("status"), "0").unwrap();
        shell
    }

    /// Runs commands. Returns what they printed, as a page shows it, and their status.
    pub(crate) fn run(&mut self, commands: &str) -> (String, i32) {
        let scratch = self.scratch.path();
        let output = scratch.join("output");
        let file = fs::File::create(&output).unwrap();
        let script = format!(
            "cd \"$(cat '{0}/directory')\" || exit 99\n(exit \"$(cat '{0}/status')\")\n{1}\necho $? > '{0}/status'\npwd > '{0}/directory'\n",
            scratch.display(),
            self.real(commands)
        );
        let home = &self.homes.path().join(USER);
        let status = Command::new("timeout")
            .args(["300", "bash", "-c", &script])
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .env("PATH", format!("{}:{PATH}", home.join("bin").display()))
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("COLUMNS", "80")
            // Every git makes the same repositories.
            .env("GIT_TEMPLATE_DIR", "")
            .envs(["AUTHOR", "COMMITTER"].iter().flat_map(|who| {
                [
                    (format!("GIT_{who}_NAME"), "Ann".to_owned()),
                    (format!("GIT_{who}_EMAIL"), "ann@shop.example".to_owned()),
                    (format!("GIT_{who}_DATE"), format!("{DAY}T14:05:00Z")),
                ]
            }))
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .status()
            .unwrap();
        assert!(status.success(), "the shell ends with {status}:\n{commands}");
        let printed = String::from_utf8_lossy(&fs::read(&output).unwrap()).into_owned();
        let status = fs::read_to_string(self.scratch.path().join("status")).unwrap();
        (self.shown(&printed), status.trim().parse().unwrap())
    }

    /// Returns printed text as the page shows it: with its home, its ids and its times.
    fn shown(&mut self, printed: &str) -> String {
        let mut text = printed.replace(self.homes.path().to_str().unwrap(), HOMES);
        for place in [
            env!("CARGO_BIN_EXE_jackin").to_owned(),
            format!("{HOMES}/{USER}/bin/jackin"),
        ] {
            text = text.replace(&place, "/usr/bin/jackin");
        }
        // The program of a reader is installed.
        let built = "(?s)warning: the hooks call this program in .*?install it[ \n]+first\n";
        text = Regex::new(built).unwrap().replace_all(&text, "").into_owned();
        for ((kind, length), known) in KINDS.into_iter().zip(&mut self.known) {
            let pattern = Regex::new(&format!("\\b{kind}-[0-9a-z]{{{length}}}")).unwrap();
            text = pattern
                .replace_all(&text, |found: &Captures<'_>| {
                    let at = known.iter().position(|id| *id == found[0]).unwrap_or_else(|| {
                        known.push(found[0].to_owned());
                        known.len() - 1
                    });
                    id(kind, length, at)
                })
                .into_owned();
        }
        for (pattern, with) in [
            (
                "20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}(:[0-9]{2})?",
                format!("{DAY} 14:05$1"),
            ),
            (
                "20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9.]+Z",
                format!("{DAY}T14:05:00Z"),
            ),
            ("[0-9]+ (s|seconds?|minutes?) ago", "just now".to_owned()),
        ] {
            text = Regex::new(pattern)
                .unwrap()
                .replace_all(&text, |found: &Captures<'_>| {
                    let seconds = found.get(1).filter(|part| part.as_str().starts_with(':'));
                    with.replace("$1", if seconds.is_some() { ":00" } else { "" })
                })
                .into_owned();
        }
        text
    }

    /// Returns commands of the page as they are typed here: with the ids that were printed.
    fn real(&self, commands: &str) -> String {
        let mut text = commands.to_owned();
        for ((kind, length), known) in KINDS.into_iter().zip(&self.known) {
            for (at, real) in known.iter().enumerate() {
                text = text.replace(&id(kind, length, at), real);
            }
        }
        text
    }
}

/// Returns the id that a page shows as its `at`-th of a kind.
fn id(kind: &str, length: usize, at: usize) -> String {
    let letters = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut state = 0x9e37_79b9_u64
        .wrapping_mul(at as u64 + 7)
        .wrapping_add(length as u64);
    let mut made = format!("{kind}-");
    for _ in 0..length {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        made.push(char::from(letters[(state >> 40) as usize % letters.len()]));
    }
    made
}
