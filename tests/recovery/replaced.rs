//! Containers, pods and claims that were created again under their names between the beginning and the end of a session.

use std::fs;
use std::process::Command;

use crate::carried::project;
use crate::carried_cluster::Claimed;
use crate::support::carried::Kind;
use crate::support::machine::run_tool;
use crate::support::sandbox::Sandbox;

fn begun(sandbox: &Sandbox, target: &str) -> String {
    let begun = sandbox.jackin(["begin", "--snapshot", "project", target]).ok();
    String::from_utf8_lossy(&begun.stdout).trim().to_owned()
}

/// Ends a session that lies in another container now: nothing counts as deleted by the agent.
fn ends_without_closing(sandbox: &Sandbox, id: &str) {
    let ended = sandbox.jackin(["end", id]);
    assert!(!ended.status.is_some_and(|status| status.success()), "{ended}");
    let ended = ended.shows("another container");
    assert!(!ended.text().contains("deleted"), "{ended}");
}

#[test]
fn a_pod_that_was_replaced_is_named_and_no_agent_deleted_its_files() {
    let Some(sandbox) = Sandbox::carried(Kind::Pod) else {
        return;
    };
    let project = project(&sandbox);
    let (cluster, pod) = (
        sandbox.machine().cluster(),
        sandbox.machine().container().to_owned(),
    );
    let set = |uid: &str| cluster.change(|state| state["pods"][&pod]["uid"] = uid.into());
    set("first");
    let id = begun(&sandbox, &sandbox.target(&project));
    fs::remove_dir_all(project.join("part-0")).unwrap();
    set("second");
    ends_without_closing(&sandbox, &id);
    // The same pod ends as ever.
    let id = begun(&sandbox, &sandbox.target(&project));
    sandbox.jackin(["end", &id]).ok();
}

#[test]
fn a_container_that_was_made_again_under_its_name_is_named() {
    let Some(sandbox) = Sandbox::carried(Kind::Docker) else {
        return;
    };
    let name = sandbox.machine().container().to_owned();
    let docker = |words: &[&str]| String::from_utf8(run_tool(Command::new("docker").args(words))).unwrap();
    let image = docker(&["inspect", "--format", "{{.Image}}", &name]);
    let again = format!("{name}-again");
    let start = || {
        docker(&[
            "run",
            "-d",
            "--network",
            "none",
            "--name",
            &again,
            image.trim(),
            "sleep",
            "100000",
        ]);
        docker(&[
            "exec",
            &again,
            "sh",
            "-c",
            "mkdir -p /own && echo kept >/own/file",
        ]);
    };
    start();
    let id = begun(&sandbox, &format!("docker://{again}/own"));
    // It starts again with its files.
    docker(&["restart", "-t", "0", &again]);
    docker(&["exec", &again, "sh", "-c", "echo more >/own/more"]);
    sandbox.jackin(["end", &id]).ok();
    let id = begun(&sandbox, &format!("docker://{again}/own"));
    docker(&["rm", "-f", &again]);
    start();
    docker(&["exec", &again, "sh", "-c", "rm -r /own"]);
    ends_without_closing(&sandbox, &id);
    docker(&["rm", "-f", &again]);
}

#[test]
fn a_claim_that_was_made_again_under_its_name_is_refused_as_another_disk_is() {
    let Some(claimed) = Claimed::new("replaced") else {
        return;
    };
    let sandbox = &claimed.sandbox;
    let set = |uid: &str| {
        claimed
            .cluster()
            .change(|state| state["claims"]["data"]["uid"] = uid.into())
    };
    set("first");
    let id = begun(sandbox, "k8s-pvc://default/data");
    fs::write(claimed.project.join("made"), "by the agent\n").unwrap();
    sandbox.jackin(["end", &id]).ok();
    set("second");
    let refused = sandbox.jackin(["restore", &id, "--yes"]);
    assert!(
        !refused.status.is_some_and(|status| status.success()),
        "{refused}"
    );
    refused.shows("another file system");
    assert!(claimed.project.join("made").exists());
    set("first");
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert!(!claimed.project.join("made").exists());
}
