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

/// Containers of one image, which end with the value.
struct Containers<'a> {
    sandbox: &'a Sandbox,
    image: String,
    names: Vec<String>,
    volume: String,
}

fn docker(words: &[&str]) -> String {
    String::from_utf8(run_tool(Command::new("docker").args(words))).unwrap()
}

impl<'a> Containers<'a> {
    fn new(sandbox: &'a Sandbox, volume: &str) -> Self {
        let name = sandbox.machine().container().to_owned();
        let image = docker(&["inspect", "--format", "{{.Image}}", &name]);
        let volume = format!("{name}-{volume}");
        docker(&["volume", "create", &volume]);
        Self {
            sandbox,
            image: image.trim().to_owned(),
            names: Vec::new(),
            volume,
        }
    }

    /// Starts one that shows the volume at `/data`, and a directory of this machine at `/host`.
    fn start(&mut self, name: &str, bound: &std::path::Path) -> String {
        let name = format!("{}-{name}", self.sandbox.machine().container());
        let (volume, bound) = (
            format!("{}:/data", self.volume),
            format!("{}:/host", bound.display()),
        );
        let how = [
            "run",
            "-d",
            "--network",
            "none",
            "--name",
            &name,
            "-v",
            &volume,
            "-v",
            &bound,
        ];
        docker(&[&how[..], &[&self.image, "sleep", "100000"]].concat());
        self.names.push(name.clone());
        name
    }
}

impl Drop for Containers<'_> {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("docker").args(["rm", "-f", name]).output();
        }
        let _ = Command::new("docker")
            .args(["volume", "rm", "-f", &self.volume])
            .output();
    }
}

#[test]
fn a_container_that_is_made_again_while_it_is_asked_about_is_not_taken_for_the_old_one() {
    let Some(sandbox) = Sandbox::carried(Kind::Docker) else {
        return;
    };
    let mut containers = Containers::new(&sandbox, "raced");
    let host = sandbox.project("bound");
    let name = containers.start("raced", &host);
    docker(&[
        "exec",
        &name,
        "sh",
        "-c",
        "mkdir /own; echo one >/own/f; echo one >/own/g",
    ]);
    let id = begun(&sandbox, &format!("docker://{name}/own"));
    // The next question about a container is followed by another container under its name.
    let program = String::from_utf8(run_tool(Command::new("sh").args(["-c", "command -v docker"]))).unwrap();
    let (program, image) = (program.trim(), &containers.image);
    let place = sandbox.scratch("wrapper");
    fs::create_dir_all(&place).unwrap();
    let script = format!(
        "#!/bin/sh\n{program} \"$@\"; c=$?\nif [ \"$1\" = inspect ] && mkdir '{}/done' 2>/dev/null; then\n{program} rm -f {name} >/dev/null \
         2>&1\n{program} run -d --network none --name {name} {image} sh -c 'mkdir /own; echo other >/own/f; sleep 100000' >/dev/null 2>&1\n\
         until {program} exec {name} test -e /own/f; do sleep 0.1; done\nfi\nexit $c\n",
        place.display()
    );
    crate::support::machine::write_script(&place.join("docker"), &script);
    let path = format!("{}:{}", place.display(), std::env::var("PATH").unwrap());
    let ended = sandbox.command(["end", &id]).with("PATH", path).run();
    assert!(place.join("done").exists(), "{ended}");
    assert!(!ended.status.is_some_and(|status| status.success()), "{ended}");
    assert!(!ended.text().contains("deleted"), "{ended}");
}

#[test]
fn sessions_on_one_volume_overlap_by_whatever_container_they_reach_it() {
    let Some(sandbox) = Sandbox::carried(Kind::Docker) else {
        return;
    };
    let mut containers = Containers::new(&sandbox, "shared");
    let host = sandbox.project("bound");
    let (one, two) = (containers.start("one", &host), containers.start("two", &host));
    let within = |script: &str| docker(&["exec", &one, "sh", "-c", script]);
    let volume = format!("docker-volume://{}", containers.volume);
    let here = host.to_str().unwrap().to_owned();
    let pairs = [
        (
            format!("docker://{one}/data"),
            format!("docker://{two}/data"),
            "/data",
        ),
        (format!("docker://{one}/data"), volume, "/data"),
        (format!("docker://{one}/host"), here, "/host"),
    ];
    // A volume is reached through a helper container.
    let image = containers.image.clone();
    let run = |words: &[&str]| {
        let command = sandbox.command(words);
        command.with("JACKIN_RECOVERY_HELPER_IMAGE", &image).run()
    };
    let begin = |target: &str| {
        let begun = run(&["begin", "--snapshot", "project", target]).ok();
        String::from_utf8_lossy(&begun.stdout).trim().to_owned()
    };
    for (first, second, at) in pairs {
        within(&format!("echo one >{at}/f; echo keep >{at}/g; rm -f {at}/h"));
        let (a, b) = (begin(&first), begin(&second));
        within(&format!("echo a >{at}/f; echo b >{at}/g; echo new >{at}/h"));
        run(&["end", &a]).ok();
        let refused = run(&["restore", &a, "--yes"]).code(3);
        refused.shows(&b);
        run(&["end", &b]).ok();
        let planned = run(&["restore", &a, "--dry-run"]).code(6);
        planned.shows(&b);
        assert_eq!(within(&format!("cat {at}/h")), "new\n", "{first} {second}");
    }
}

#[test]
fn an_interrupted_restore_is_seen_by_another_container_with_the_volume_and_not_gone_on_with_in_a_new_one() {
    let Some(sandbox) = Sandbox::carried(Kind::Docker) else {
        return;
    };
    let mut containers = Containers::new(&sandbox, "torn");
    let host = sandbox.project("bound");
    let (one, two) = (containers.start("one", &host), containers.start("two", &host));
    let within = |name: &str, script: &str| docker(&["exec", name, "sh", "-c", script]);
    let killed = |id: &str| {
        let command = sandbox.command(["restore", id, "--yes"]);
        command.with("JACKIN_RECOVERY_FAIL_AT", "moved:1").run();
    };
    within(&one, "echo one >/data/f; echo keep >/data/g");
    let id = begun(&sandbox, &format!("docker://{one}/data"));
    within(&one, "echo a >/data/f; echo b >/data/g");
    sandbox.jackin(["end", &id]).ok();
    killed(&id);
    let target = format!("docker://{two}/data");
    sandbox
        .jackin(["begin", "--snapshot", "project", &target])
        .code(8)
        .shows(&id);
    sandbox.jackin(["resume", &id, "--yes"]).ok();

    within(&one, "mkdir /own; echo one >/own/f; echo keep >/own/g");
    let id = begun(&sandbox, &format!("docker://{one}/own"));
    within(&one, "echo a >/own/f; echo b >/own/g");
    sandbox.jackin(["end", &id]).ok();
    killed(&id);
    docker(&["rm", "-f", &one]);
    containers.start("one", &host);
    within(&one, "mkdir /own; echo mine >/own/f; echo mine >/own/g");
    for verb in ["resume", "abort"] {
        let refused = sandbox.jackin([verb, &id, "--yes"]).code(8);
        refused.shows("another container").shows("--as-is");
        assert_eq!(within(&one, "cat /own/f /own/g"), "mine\nmine\n");
    }
    sandbox
        .jackin(["abort", &id, "--yes", "--as-is"])
        .code_in(&[0, 6]);

    // Of two directories, the one on the volume is still there: it is rolled back.
    within(&one, "echo one >/own/f; echo one >/data/f");
    let mount = |at: &str| format!("[[mounts]]\nsrc = \"docker://{one}{at}\"\ndst = \"{at}\"\n");
    let mounts = format!(
        "{}{}\n[recovery]\nsnapshot = \"project\"\n",
        mount("/own"),
        mount("/data")
    );
    sandbox.configure("workspaces/both.toml", &mounts);
    let begun = sandbox.jackin(["begin", "both"]).ok();
    let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
    within(&one, "echo a >/own/f; echo a >/data/f");
    sandbox.jackin(["end", &id]).ok();
    killed(&id);
    docker(&["rm", "-f", &one]);
    containers.start("one", &host);
    within(&one, "mkdir /own; echo mine >/own/f");
    sandbox.jackin(["resume", &id, "--yes"]).code(8);
    let rolled = sandbox.jackin(["abort", &id, "--yes"]).code(6);
    rolled.shows("another container").shows("/own");
    assert_eq!(within(&one, "cat /own/f /data/f"), "mine\na\n");
}
