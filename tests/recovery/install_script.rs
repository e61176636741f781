//! `install.sh` replaces its own files and nothing else. The release is a stand-in on the disk, which curl reads.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::machine::{skip, tool, write_script};
use crate::support::sandbox::Sandbox;

const MARK: &str =
    "# Completions of jackin. Made by `jackin recovery completions`; asks the program itself.\n";

const COMPLETIONS: [&str; 6] = [
    "share/bash-completion/completions/jackin",
    "share/bash-completion/completions/jackin-recovery",
    "share/zsh/site-functions/_jackin",
    "share/zsh/site-functions/_jackin-recovery",
    "share/fish/vendor_completions.d/jackin.fish",
    "share/fish/vendor_completions.d/jackin-recovery.fish",
];

const PAGE: &str = "share/man/man1/jackin-recovery.1.gz";

struct Release {
    sandbox: Sandbox,
    prefix: PathBuf,
}

struct Said {
    code: Option<i32>,
    text: String,
}

impl Release {
    /// A release with a program that is a script; `None` without curl.
    fn new() -> Option<Self> {
        if tool("curl").is_none() {
            skip("the install script", "curl is not installed");
            return None;
        }
        let sandbox = Sandbox::new();
        let site = sandbox.scratch("releases/latest/download");
        let name = "jackin-recovery-9.9.9-x86_64-unknown-linux-musl";
        let tree = site.join(name);
        let write = |below: &str, text: &str| {
            let file = tree.join(below);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        for completion in COMPLETIONS {
            write(completion, &format!("{MARK}new\n"));
        }
        write(PAGE, "new\n");
        write("lib/jackin-recovery/jackin-aarch64-linux", "new\n");
        fs::create_dir_all(tree.join("bin")).unwrap();
        write_script(
            &tree.join("bin/jackin"),
            "#!/bin/sh\necho jackin-recovery 9.9.9\n",
        );
        // The stand-in is for whichever machine this is.
        let bin = sandbox.scratch("bin");
        fs::create_dir_all(&bin).unwrap();
        write_script(&bin.join("uname"), "#!/bin/sh\necho Linux x86_64\n");
        let pack = format!("tar czf {name}.tar.gz {name} && sha256sum {name}.tar.gz >SHA256SUMS");
        let packed = Command::new("sh").args(["-c", &pack]).current_dir(&site).status();
        assert!(packed.unwrap().success());
        let prefix = sandbox.home().join("local");
        Some(Self { sandbox, prefix })
    }

    fn install(&self) -> Said {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/install.sh");
        let site = self.sandbox.scratch("releases");
        let path = format!("{}:/usr/bin:/bin", self.sandbox.scratch("bin").display());
        let mut command = Command::new("sh");
        command.arg(script).arg("--prefix").arg(&self.prefix);
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.sandbox.home());
        command.env("JACKIN_RECOVERY_RELEASES", format!("file://{}", site.display()));
        let done = command.output().unwrap();
        let text = [done.stdout, done.stderr].concat();
        Said {
            code: done.status.code(),
            text: String::from_utf8(text).unwrap(),
        }
    }

    #[track_caller]
    fn installs(&self) {
        let said = self.install();
        assert_eq!(said.code, Some(0), "{}", said.text);
        assert!(
            said.text.contains("installed jackin-recovery 9.9.9 in "),
            "{}",
            said.text
        );
    }

    fn write(&self, below: &str, text: &str) {
        let file = self.prefix.join(below);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn read(&self, below: &str) -> String {
        fs::read_to_string(self.prefix.join(below)).unwrap()
    }
}

#[test]
fn completions_of_another_jackin_stay_at_each_run() {
    let Some(release) = Release::new() else { return };
    let (theirs, old) = (
        ["share/zsh/site-functions/_jackin", COMPLETIONS[0]],
        COMPLETIONS[4],
    );
    for completion in theirs {
        release.write(completion, "theirs\n");
    }
    release.write(old, &format!("{MARK}old\n"));
    for _ in 0..2 {
        release.installs();
        assert_eq!(
            fs::read_link(release.prefix.join("bin/jackin")).unwrap(),
            Path::new("jackin-recovery")
        );
        for completion in COMPLETIONS {
            let expected = match theirs.contains(&completion) {
                true => "theirs\n".to_owned(),
                false => format!("{MARK}new\n"),
            };
            assert_eq!(release.read(completion), expected, "{completion}");
        }
    }
}

#[test]
fn a_directory_in_the_place_of_a_file_is_named() {
    for below in ["bin/jackin-recovery", PAGE] {
        let Some(release) = Release::new() else { return };
        fs::create_dir_all(release.prefix.join(below)).unwrap();
        let said = release.install();
        assert_eq!(said.code, Some(1), "{}", said.text);
        let expected = format!(
            "{} is a directory; nothing was installed",
            release.prefix.join(below).display()
        );
        assert!(said.text.contains(&expected), "{}", said.text);
        assert_eq!(fs::read_dir(release.prefix.join(below)).unwrap().count(), 0);
        assert!(!release.prefix.join("lib").exists());
    }
}

#[test]
fn a_file_in_the_place_of_a_directory_is_named() {
    for below in ["share/man", "lib", "bin"] {
        let Some(release) = Release::new() else { return };
        release.write(below, "a file\n");
        let said = release.install();
        assert_eq!(said.code, Some(1), "{}", said.text);
        let place = release.prefix.join(below);
        let expected = format!("{} is not a directory; nothing was installed", place.display());
        assert!(said.text.contains(&expected), "{}", said.text);
        assert_eq!(release.read(below), "a file\n");
        assert_eq!(walk(&release.prefix), [place], "{}", said.text);
    }
}

/// Files below a directory.
fn walk(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(walk(&path)),
            false => found.push(path),
        }
    }
    found
}

#[test]
fn the_last_line_names_the_program_that_a_shell_finds() {
    let Some(mut release) = Release::new() else { return };
    // The same directory, with a slash.
    release.prefix.push("");
    release.installs();
    let other = release.sandbox.scratch("bin").join("jackin");
    let said = release.install();
    assert!(
        said.text.contains("see also: jackin recovery --help"),
        "{}",
        said.text
    );
    assert!(!said.text.contains("local//bin"), "{}", said.text);
    write_script(&other, "#!/bin/sh\necho another\n");
    let said = release.install();
    assert!(
        said.text.contains("see also: jackin-recovery --help"),
        "{}",
        said.text
    );
}

#[test]
fn links_are_replaced_and_not_followed() {
    let Some(release) = Release::new() else { return };
    let (file, directory) = (
        release.sandbox.home().join("file"),
        release.sandbox.home().join("directory"),
    );
    fs::write(&file, "precious\n").unwrap();
    fs::create_dir(&directory).unwrap();
    let links = [
        PAGE,
        "bin/jackin-recovery",
        "bin/jackin-recovery.new",
        "lib/jackin-recovery/jackin-aarch64-linux",
    ];
    for to in [&file, &directory] {
        for below in links {
            let link = release.prefix.join(below);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&link);
            symlink(to, &link).unwrap();
        }
        release.installs();
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious\n");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        assert!(fs::symlink_metadata(release.prefix.join(PAGE)).unwrap().is_file());
        assert_eq!(release.read(PAGE), "new\n");
    }
    // A directory that is a link stays one.
    let share = release.sandbox.home().join("share");
    fs::rename(release.prefix.join("share"), &share).unwrap();
    symlink(&share, release.prefix.join("share")).unwrap();
    release.installs();
    assert!(release.prefix.join("share").is_symlink());
}
