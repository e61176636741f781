//! Every package that is built with this one may be: its license is among those that go with Apache-2.0. Asked of the lock
//! file and the packages on this machine, without a network.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test shall stop where it meets the unexpected, in its helpers too"
)]

use std::process::Command;

use serde_json::Value;

/// Permissive ones, which ask for no more than their notice, and MPL-2.0, which asks for changes to its own files alone.
const ACCEPTED: [&str; 11] = [
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

/// Whether one may follow `expression` (SPDX) with accepted licenses alone.
fn is_accepted(expression: &str) -> bool {
    // The slash is what old packages write for OR.
    let lax = spdx::ParseMode::LAX;
    spdx::Expression::parse_mode(expression, lax).is_ok_and(|parsed| {
        parsed.evaluate(|requirement| {
            requirement
                .license
                .id()
                .is_some_and(|id| ACCEPTED.contains(&id.name))
        })
    })
}

/// The platform of this machine: what is only for others need not be here.
fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.unwrap().to_owned()
}

#[test]
fn every_package_has_an_accepted_license() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        .args(["--filter-platform", &host()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50, "only {} packages", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(is_accepted))
        .map(|package| {
            format!(
                "{} {}: {}",
                package["name"], package["version"], package["license"]
            )
        })
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn the_judge_knows_what_it_reads() {
    for good in [
        "MIT",
        "MIT/Apache-2.0",
        "(MIT OR GPL-3.0-only) AND ISC",
        "GPL-2.0-only OR Zlib",
    ] {
        assert!(is_accepted(good), "{good}");
    }
    for bad in [
        "GPL-3.0-only",
        "MIT AND GPL-2.0-only",
        "LicenseRef-mine",
        "",
        "no license",
    ] {
        assert!(!is_accepted(bad), "{bad}");
    }
}
