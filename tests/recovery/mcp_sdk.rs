//! The tools of an agent as the official client of the protocol calls them.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use crate::support::machine::{binary, skip};
use crate::support::mcp::{ALLOWED, workspace};

/// A Python that has the client.
fn python() -> Option<OsString> {
    let named = std::env::var_os("MCP_PYTHON").unwrap_or_else(|| "python3".into());
    let has_it = Command::new(&named)
        .args(["-c", "from mcp import Client"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    has_it.then_some(named)
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn the_official_client_goes_through_every_tool() {
    let Some(python) = python() else {
        return skip(
            "the official MCP client",
            "no Python with it: pip install -r tests/sdk/requirements.txt, and name it in MCP_PYTHON",
        );
    };
    let (sandbox, project) = workspace(&format!("{ALLOWED}[recovery.retention]\ncheckpoints = 2\n"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk/client.py");
    let done = Command::new(python)
        .arg(script)
        .arg(binary())
        .arg(&project)
        .env("HOME", sandbox.home())
        .env_remove("JACKIN_RECOVERY_INSTANCE")
        .env_remove("JACKIN_HOME_DIR")
        .env_remove("JACKIN_CONFIG_DIR")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    assert!(done.status.success(), "{out}\n{err}");
    for fact in [
        "every tool, legacy",
        "every tool, 2026-07-28",
        "every tool, auto",
        "two clients at once",
        "only reading",
    ] {
        assert!(out.contains(fact), "{fact}: {out}\n{err}");
    }
    sandbox.jackin(["log", "--verify"]).ok();
    sandbox.jackin(["verify", "--read-data"]).ok();
    sandbox.no_litter();
}
