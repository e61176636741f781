//! jackin's own instances: found by name, listed, and taken for at work until something proves that they are not.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::jackin::{write_index, write_instance};
use crate::support::machine::write_script;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

const CONTAINER: &str = "jk-ab12cd34-shop-coder";

/// A workspace with one mount, and a sandbox without docker.
fn workspace(sandbox: &Sandbox) -> PathBuf {
    let project = sandbox.project("shop");
    fs::write(project.join("a"), "original").unwrap();
    sandbox.configure(
        "workspaces/shop.toml",
        "default_role = \"coder\"\ndefault_agent = \"claude\"\ndirty_exit_policy = \"keep\"\n\
         [recovery]\nsnapshot = \"project\"\n[[mounts]]\nsrc = \"~/src/shop\"\ndst = \"/workspace/shop\"\n",
    );
    project
}

fn instance(workspace: Option<&str>, status: &str) -> Value {
    json!({
        "version": 2, "instance_id": "ab12cd34", "container_base": CONTAINER, "created_at": "2026-08-01T00:00:00Z",
        "updated_at": "2026-08-01T00:00:01Z", "workspace_name": workspace, "workspace_label": "shop", "workdir": "/workspace/shop",
        "host_workdir_fingerprint": "sha256:00", "role_key": "coder", "agent_runtime": "claude", "image_tag": "x", "status": status,
        "docker": {"role_container": CONTAINER, "dind_container": "d", "network": "n", "certs_volume": "v"}, "of_a_later_jackin": [1],
    })
}

/// A docker that answers so; `None`: none at all.
fn docker(sandbox: &Sandbox, script: Option<&str>) -> String {
    let directory = sandbox.scratch("bin");
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join("docker");
    let _ = fs::remove_file(&path);
    if let Some(script) = script {
        write_script(&path, &format!("#!/bin/sh\n{script}\n"));
    }
    directory.to_str().unwrap().to_owned()
}

/// Runs with a docker of ours, and nothing of this machine's.
fn with(sandbox: &Sandbox, bin: &str, args: &[&str]) -> Run {
    sandbox.command(args).with("PATH", bin).run()
}

#[test]
fn a_container_goes_for_its_workspace_and_then_for_its_session() {
    let sandbox = Sandbox::new();
    let project = workspace(&sandbox);
    write_instance(
        &sandbox,
        CONTAINER,
        &instance(Some("shop"), "running").to_string(),
    );
    let bin = docker(&sandbox, None);
    let contract = with(&sandbox, &bin, &["explain", CONTAINER]).ok().said();
    for part in [
        "for the workspace shop",
        "the container jk-ab12cd34-shop-coder (instance ab12cd34), running",
        "role coder, agent claude",
        "a dirty work tree at the end: keep",
    ] {
        assert!(contract.contains(part), "{part}: {contract}");
    }
    let told = with(&sandbox, &bin, &["explain", "ab12cd34", "--json"])
        .ok()
        .json();
    assert_eq!(told["jackin"]["container"], CONTAINER);
    let begun = with(&sandbox, &bin, &["begin", CONTAINER]).ok();
    let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
    fs::write(project.join("a"), "agent").unwrap();
    with(&sandbox, &bin, &["end", CONTAINER]).ok();
    // Another session of the same workspace is not taken for the container's.
    sandbox.jackin(["launch", "shop", "--", "true"]).ok();
    for name in [CONTAINER, "ab12cd34"] {
        let shown = with(&sandbox, &bin, &["show", name, "--json"]).ok().json();
        assert_eq!(shown["instance"]["id"], id.as_str(), "{name}");
        assert_eq!(shown["container"]["name"], CONTAINER);
        let diff = with(&sandbox, &bin, &["diff", name, "--json"]).ok().json();
        assert_eq!(diff["changes"][0]["path"], "a");
    }
    let listed = with(&sandbox, &bin, &["list", "--json"]).ok().json();
    let row = &listed["jackin"][0];
    assert_eq!(
        (&row["container"], &row["session"], &row["active"], &row["status"]),
        (
            &CONTAINER.into(),
            &id.as_str().into(),
            &true.into(),
            &"running".into()
        )
    );
    with(&sandbox, &bin, &["list"]).ok().shows(CONTAINER);

    write_instance(
        &sandbox,
        CONTAINER,
        &instance(Some("shop"), "clean_exited").to_string(),
    );
    with(&sandbox, &bin, &["restore", CONTAINER, "--yes"]).ok();
    assert_eq!(fs::read(project.join("a")).unwrap(), b"original");
    with(&sandbox, &bin, &["undo", "ab12cd34", "--yes"]).ok();
    assert_eq!(fs::read(project.join("a")).unwrap(), b"agent");
}

#[test]
fn a_container_that_nothing_proves_gone_refuses_a_restore() {
    let sandbox = Sandbox::new();
    let project = workspace(&sandbox);
    let session = sandbox.jackin(["launch", "shop", "--", "sh", "-c", "echo agent > ~/src/shop/a"]);
    session.ok();
    let runs = format!("printf '%s\\t%s\\n' other,{CONTAINER} running");
    let exited = format!("printf '%s\\t%s\\n' {CONTAINER} exited");
    let cases: [(&str, Option<&str>, Option<&str>); 12] = [
        // What jackin says, what docker says, and why that is refused.
        ("running", None, Some("docker is not installed")),
        ("active", None, Some("docker is not installed")),
        ("a_word_of_a_later_jackin", None, Some("docker is not installed")),
        ("running", Some(&runs), Some("docker says that it runs")),
        (
            "running",
            Some("echo no daemon >&2; exit 1"),
            Some("docker failed: no daemon"),
        ),
        ("running", Some("/bin/sleep 60"), Some("docker does not answer")),
        (
            "running",
            Some("/bin/sleep 60 & exit 0"),
            Some("docker does not answer"),
        ),
        ("running", Some(&exited), None),
        ("running", Some("exit 0"), None),
        ("crashed", None, None),
        ("preserved_dirty", Some(&runs), None),
        ("purged", None, None),
    ];
    for (status, script, why) in cases {
        let text = instance(Some("shop"), status).to_string();
        write_instance(&sandbox, CONTAINER, &text);
        let bin = docker(&sandbox, script);
        let run = with(&sandbox, &bin, &["restore", "shop", "--dry-run"]);
        let Some(why) = why else {
            run.code_in(&[0, 6]);
            continue;
        };
        let run = run.code(3);
        let text = run.said();
        for part in [CONTAINER, why, "it works on", "src/shop"] {
            assert!(text.contains(part), "{status}: {part}: {text}");
        }
        if script != Some("/bin/sleep 60") {
            with(&sandbox, &bin, &["restore", "shop", "--yes"]).code(3);
        }
    }
    assert_eq!(fs::read(project.join("a")).unwrap(), b"agent\n");
    // One that docker does not run cannot be asked for.
    let mut other = instance(Some("shop"), "running");
    other["backend"] = "something-else".into();
    write_instance(&sandbox, CONTAINER, &other.to_string());
    let bin = docker(&sandbox, Some("exit 0"));
    let text = with(&sandbox, &bin, &["restore", "shop", "--dry-run"])
        .code(3)
        .said();
    assert!(text.contains("its runtime cannot be asked"), "{text}");
}

/// Docker Desktop, OrbStack and colima have sockets of their own, which docker finds by its context.
#[test]
fn docker_is_asked_in_the_operators_context_and_through_no_socket_of_jackins_choice() {
    let sandbox = Sandbox::new();
    workspace(&sandbox);
    let text = instance(Some("shop"), "running").to_string();
    write_instance(&sandbox, CONTAINER, &text);
    sandbox.jackin(["launch", "shop", "--", "true"]).ok();
    let asked = sandbox.scratch("asked");
    let script = format!(
        "for word in \"$DOCKER_HOST\" \"$DOCKER_CONTEXT\" \"$DOCKER_CONFIG\" \"$HOME\" \"$@\"; do echo \"$word\"; done >> {}",
        asked.display()
    );
    let bin = docker(&sandbox, Some(&script));
    let colima = format!("unix://{}/.colima/default/docker.sock", sandbox.home().display());
    let config = sandbox.scratch("docker-config");
    let of = |variables: &[(&str, &str)]| {
        let mut command = sandbox
            .command(["restore", "shop", "--dry-run"])
            .with("PATH", &bin);
        for (name, value) in variables {
            command = command.with(name, value);
        }
        command.run().code_in(&[0, 6]);
        let said = fs::read_to_string(&asked).unwrap();
        fs::remove_file(&asked).unwrap();
        said.lines().map(str::to_owned).collect::<Vec<String>>()
    };
    let home = sandbox.home().display().to_string();
    let words = of(&[("DOCKER_HOST", &colima)]);
    assert_eq!(words[..5], [&colima, "", "", &home, "ps"].map(str::to_owned));
    let config = config.to_str().unwrap();
    let words = of(&[("DOCKER_CONTEXT", "orbstack"), ("DOCKER_CONFIG", config)]);
    assert_eq!(
        words[..5],
        ["", "orbstack", config, &home, "ps"].map(str::to_owned)
    );
    assert!(
        !words
            .iter()
            .any(|word| word.starts_with("-H") || word.contains(".sock")),
        "{words:?}"
    );
}

#[test]
fn a_container_without_a_workspace_is_known_by_the_path_it_works_on() {
    let sandbox = Sandbox::new();
    let project = workspace(&sandbox).canonicalize().unwrap();
    sandbox
        .jackin(["launch", "shop", "--", "sh", "-c", "echo agent > ~/src/shop/a"])
        .ok();
    let bin = docker(&sandbox, None);
    for (works_on, is_ours) in [
        (project.clone(), true),
        (project.parent().unwrap().to_path_buf(), true),
        (project.join("elsewhere"), false),
        (sandbox.scratch("other"), false),
    ] {
        let sum = std::process::Command::new("sh")
            .args([
                "-c",
                "printf %s \"$0\" | sha256sum | cut -d' ' -f1",
                works_on.to_str().unwrap(),
            ])
            .output()
            .unwrap();
        let mut value = instance(None, "running");
        value["host_workdir_fingerprint"] =
            format!("sha256:{}", String::from_utf8_lossy(&sum.stdout).trim()).into();
        write_instance(&sandbox, CONTAINER, &value.to_string());
        let run = with(&sandbox, &bin, &["restore", "shop", "--dry-run"]);
        if is_ours {
            assert!(run.code(3).said().contains("it works on"), "{works_on:?}");
        } else {
            run.code_in(&[0, 6]);
        }
    }
    let run = with(&sandbox, &bin, &["explain", CONTAINER]).code(2);
    assert!(
        run.said().contains("has no workspace; name the directory"),
        "{run}"
    );
}

#[test]
fn files_of_every_form_give_an_answer_or_are_named() {
    let sandbox = Sandbox::new();
    workspace(&sandbox);
    sandbox
        .jackin(["launch", "shop", "--", "sh", "-c", "echo agent > ~/src/shop/a"])
        .ok();
    let bin = docker(&sandbox, None);
    let listed = || with(&sandbox, &bin, &["list", "--json"]).ok().json();
    let whole = instance(Some("shop"), "running").to_string();
    // Newer: what is understood is used. Another type under a key counts as not there. Unknown keys do no harm.
    let mut newer = instance(Some("shop"), "running");
    newer["version"] = 3.into();
    newer["role_key"] = json!({"name": "coder"});
    write_instance(&sandbox, CONTAINER, &newer.to_string());
    let row = listed()["jackin"][0].clone();
    assert_eq!(
        (&row["newer"], &row["role"], &row["active"]),
        (&3.into(), &Value::Null, &true.into())
    );
    let text = with(&sandbox, &bin, &["restore", "shop", "--dry-run"])
        .code(3)
        .said();
    assert!(text.contains("newer form 3"), "{text}");
    // Older: without what came later.
    write_instance(
        &sandbox,
        CONTAINER,
        "{\"version\": 1, \"container_base\": \"x\", \"workspace_name\": \"shop\", \"status\": \"crashed\"}",
    );
    assert_eq!(listed()["jackin"][0]["active"], false);
    with(&sandbox, &bin, &["restore", "shop", "--dry-run"]).code_in(&[0, 6]);
    // Damaged: every part of a file, and what is no file of jackin's.
    let path = write_instance(&sandbox, CONTAINER, "");
    let secret = "hunter2";
    for text in [
        "",
        "{",
        "[]",
        "null",
        &whole[..whole.len() / 2],
        &format!("{{\"{secret}\": {secret}}}"),
    ] {
        write_instance(&sandbox, CONTAINER, text);
        let found = listed();
        assert_eq!(found["jackin"], json!([]), "{text:?}");
        assert_eq!(
            found["jackin_unread"][0]["path"],
            path.to_str().unwrap(),
            "{text:?}"
        );
        let run = with(&sandbox, &bin, &["restore", "shop", "--dry-run"]).code(3);
        let told = run.said();
        assert!(
            told.contains("instance.json") && told.contains("or remove it if that container was removed"),
            "{told}"
        );
        assert!(!told.contains(secret), "{told}");
        with(&sandbox, &bin, &["list"])
            .ok()
            .shows("instance.json cannot be read");
        let told = with(&sandbox, &bin, &["explain", CONTAINER]).code(2).said();
        assert!(
            told.contains("cannot be read") && told.contains("name its workspace instead"),
            "{told}"
        );
        // Docker knows that it is gone.
        let gone = docker(&sandbox, Some("exit 0"));
        with(&sandbox, &gone, &["restore", "shop", "--dry-run"]).code_in(&[0, 6]);
        docker(&sandbox, None);
    }
    // Nothing that tells where its agent works, or with which name docker knows it.
    for text in [
        "{}",
        "{\"version\": 3, \"status\": 1}",
        "{\"workspace_name\": \"gone\", \"docker\": {\"role_container\": \"r1\"}}",
    ] {
        write_instance(&sandbox, CONTAINER, text);
        assert_eq!(listed()["jackin"][0]["active"], true, "{text}");
        let told = with(&sandbox, &bin, &["restore", "shop", "--dry-run"])
            .code(3)
            .said();
        assert!(told.contains("its directory is unknown"), "{text}: {told}");
    }
    let runs = docker(&sandbox, Some("printf 'r1\\trunning\\n'"));
    with(&sandbox, &runs, &["restore", "shop", "--dry-run"]).code(3);
    let odd = docker(&sandbox, Some("echo hello"));
    let told = with(&sandbox, &odd, &["restore", "shop", "--dry-run"])
        .code(3)
        .said();
    assert!(told.contains("unexpected answer from docker"), "{told}");
    docker(&sandbox, None);
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
    assert_eq!(
        listed()["jackin_unread"][0]["reason"],
        "it is not a file of jackin's"
    );
    // The index knows it, too; one in the index alone is found.
    let mut index = instance(Some("shop"), "running");
    index.as_object_mut().unwrap().remove("version");
    let data = sandbox.home().join(".jackin/data");
    let all = json!({"version": 1, "instances": [index]}).to_string();
    let path = write_index(&sandbox, &all);
    assert_eq!(listed()["jackin"][0]["workspace"], "shop");
    fs::remove_dir_all(data.join(CONTAINER)).unwrap();
    assert_eq!(listed()["jackin"][0]["active"], true);
    with(&sandbox, &bin, &["restore", "shop", "--dry-run"]).code(3);
    write_index(&sandbox, &all[..40]);
    assert_eq!(listed()["jackin_unread"][0]["path"], path.to_str().unwrap());
    with(&sandbox, &bin, &["restore", "shop", "--dry-run"]).code_in(&[0, 6]);
}

/// The index is written apart from the file of each container, so it may be older.
#[test]
fn the_index_does_not_decide_for_a_container_whose_own_file_is_damaged_or_newer() {
    let sandbox = Sandbox::new();
    let project = workspace(&sandbox);
    sandbox
        .jackin(["launch", "shop", "--", "sh", "-c", "echo agent > ~/src/shop/a"])
        .ok();
    let bin = docker(&sandbox, None);
    let mut newer = instance(Some("shop"), "clean_exited");
    newer["version"] = 99.into();
    for (own, says, next) in [
        ("{\"version\":2,".to_owned(), "cannot be read", "or remove it"),
        (
            newer.to_string(),
            "has the newer form 99",
            "update jackin recovery",
        ),
    ] {
        let path = write_instance(&sandbox, CONTAINER, &own);
        for status in ["clean_exited", "running"] {
            let mut entry = instance(Some("shop"), status);
            entry.as_object_mut().unwrap().remove("version");
            write_index(&sandbox, &json!({"version": 1, "instances": [entry]}).to_string());
            for way in ["--dry-run", "--yes"] {
                let said = with(&sandbox, &bin, &["restore", "shop", way]).code(3).said();
                for part in [path.to_str().unwrap(), says, next, "it works on"] {
                    assert!(said.contains(part), "{status}, {way}: {part}: {said}");
                }
            }
            let listed = with(&sandbox, &bin, &["list", "--json"]).ok().json();
            assert_eq!(listed["jackin"][0]["active"], true, "{status}");
        }
        let said = with(&sandbox, &bin, &["doctor"]).code_in(&[0, 1]).said();
        assert!(said.contains("instance.json"), "{said}");
        let gone = docker(&sandbox, Some("exit 0"));
        with(&sandbox, &gone, &["restore", "shop", "--dry-run"]).code_in(&[0, 6]);
        docker(&sandbox, None);
    }
    assert_eq!(fs::read(project.join("a")).unwrap(), b"agent\n");
}

#[test]
fn a_configuration_of_an_unknown_version_is_named() {
    let sandbox = Sandbox::new();
    sandbox.project("shop");
    for (version, is_known) in [
        ("\"v1alpha8\"", true),
        ("\"v1alpha3\"", true),
        ("\"v1alpha9\"", false),
        ("\"v9zeta1\"", false),
        ("7", false),
    ] {
        sandbox.configure(
            "workspaces/shop.toml",
            &format!(
                "version = {version}\n[recovery]\nsnapshot = \"project\"\n[[mounts]]\nsrc = \"~/src/shop\"\ndst = \"/w\"\n"
            ),
        );
        let contract = sandbox.jackin(["explain", "shop"]).ok().said();
        assert_eq!(
            contract.contains("unknown version"),
            !is_known,
            "{version}: {contract}"
        );
        let said = sandbox.jackin(["doctor"]).code_in(&[0, 1]).said();
        assert_eq!(
            said.contains("shop.toml has the version"),
            !is_known,
            "{version}: {said}"
        );
    }
    sandbox.configure("config.toml", "version = \"v2\"\n");
    let said = sandbox.jackin(["doctor"]).code_in(&[0, 1]).said();
    assert!(said.contains("config.toml has the version \"v2\""), "{said}");
}

#[test]
fn a_container_that_no_session_began_for_goes_for_its_workspaces_last_one_when_that_is_sure() {
    let sandbox = Sandbox::new();
    workspace(&sandbox);
    sandbox.jackin(["launch", "shop", "--", "true"]).ok();
    let id = sandbox.newest();
    write_instance(
        &sandbox,
        CONTAINER,
        &instance(Some("shop"), "clean_exited").to_string(),
    );
    let shown = sandbox.jackin(["show", CONTAINER, "--json"]).ok().json();
    assert_eq!(shown["instance"]["id"], id.as_str());
    let mut other = instance(Some("shop"), "clean_exited");
    other["instance_id"] = "zz".into();
    write_instance(&sandbox, "jk-zz-shop-coder", &other.to_string());
    let run = sandbox.jackin(["show", CONTAINER]).code(5);
    assert!(
        run.said().contains("is not the only one of the workspace"),
        "{run}"
    );
    sandbox.jackin(["show", "jk-unknown"]).code(5);
}

#[test]
fn docker_is_never_taken_from_the_current_directory() {
    let sandbox = Sandbox::new();
    let project = workspace(&sandbox);
    sandbox.jackin(["launch", "shop", "--", "true"]).ok();
    write_instance(
        &sandbox,
        CONTAINER,
        &instance(Some("shop"), "running").to_string(),
    );
    let planted = project.join("docker");
    let started = project.join("started");
    write_script(&planted, &format!("#!/bin/sh\n: > '{}'\n", started.display()));
    let inside = project.to_str().unwrap().to_owned();
    let linked = sandbox.scratch("linked");
    fs::create_dir(&linked).unwrap();
    std::os::unix::fs::symlink(&planted, linked.join("docker")).unwrap();
    for path in [".", "", "sub:.", &inside, linked.to_str().unwrap()] {
        let run = sandbox.command(["restore", "shop", "--dry-run"]);
        run.inside(&project).with("PATH", path).run();
        assert!(!started.exists(), "{path}");
    }
}
