//! Records the target and, in release builds, the commit, for `--version -v`; makes the program of a debug build start quickly.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=JACKIN_COMMIT");
    let target = env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=JACKIN_TARGET={target}");
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    // Tests start it twenty thousand times, and each time 230,000 addresses would be relocated, which is most of its start.
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    let commit = match env::var("JACKIN_COMMIT") {
        Ok(commit) if !commit.is_empty() => Some(commit),
        // A debug build does not follow the commits: each one would compile the program again.
        _ if env::var("PROFILE").as_deref() == Ok("release") => checked_out(),
        _ => None,
    };
    let commit = commit.as_deref().unwrap_or("not recorded");
    println!("cargo::rustc-env=JACKIN_COMMIT={commit}");
}

/// The commit that is checked out here; `None` outside a clone, as in a source package.
fn checked_out() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    // A package that lies unpacked in somebody's repository is not at that repository's commit.
    if env::var("CARGO_MANIFEST_DIR").ok()? != top {
        return None;
    }
    let head = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={head}");
    git(&["rev-parse", "HEAD"])
}

fn git(words: &[&str]) -> Option<String> {
    let out = Command::new("git").args(words).output().ok()?;
    let said = String::from_utf8(out.stdout).ok()?;
    Some(said.trim().to_owned()).filter(|said| out.status.success() && !said.is_empty())
}
