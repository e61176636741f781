//! Pods and claims, over a stand-in for kubectl that runs what it is told in containers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::carried::project;
use crate::carried_bounds::{make_volume, remove_volume, there_and_back};
use crate::support::build::Build;
use crate::support::carried::{CONTEXT, Cluster, Kind, busybox};
use crate::support::compare::assert_same_tree;
use crate::support::machine::{is_root, run_tool};
use crate::support::patience::{await_moment, await_that};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A claim `data` that shows a project.
pub(crate) struct Claimed {
    pub(crate) sandbox: Sandbox,
    pub(crate) project: PathBuf,
    volume: String,
}

impl Claimed {
    pub(crate) fn new(name: &str) -> Option<Self> {
        let mut sandbox = Sandbox::carried(Kind::Pod)?;
        sandbox.machine_mut().variables.push((
            "JACKIN_RECOVERY_HELPER_IMAGE".to_owned(),
            busybox().ok()?.to_owned(),
        ));
        let project = project(&sandbox);
        let volume = format!("jr-claim-{name}-{}", std::process::id());
        make_volume(&volume, &project);
        let claimed = Self {
            sandbox,
            project,
            volume,
        };
        claimed.cluster().change(|state| {
            state["claims"]["data"] = json!({ "volume": claimed.volume, "modes": ["ReadWriteOnce"] });
        });
        Some(claimed)
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        self.sandbox.machine().cluster()
    }

    pub(crate) fn helpers(&self) -> Vec<String> {
        let state = self.cluster().state();
        let pods = state["pods"].as_object().unwrap();
        let helpers = pods.iter().filter(|(_, pod)| pod["helper"] == true);
        helpers.map(|(name, _)| name.clone()).collect()
    }

    fn refused(&self, said: &str) {
        let run = self
            .sandbox
            .jackin(["explain", "--snapshot", "project", "k8s-pvc://default/data"]);
        run.code(2).shows(said);
        assert_eq!(self.helpers(), Vec::<String>::new());
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        for helper in self.helpers() {
            let _ = Command::new("docker").args(["rm", "-f", &helper]).output();
        }
        // Containers that were created for a program that was killed, and never started, hold the volume too.
        let clean = "docker ps -aq --filter volume=\"$0\" | xargs -r docker rm -f; docker volume rm \"$0\"";
        let _ = Command::new("sh").args(["-c", clean, &self.volume]).output();
    }
}

#[test]
fn a_claim_is_reached_through_a_pod_that_does_not_stay() {
    let Some(claimed) = Claimed::new("stay") else {
        return;
    };
    let sandbox = &claimed.sandbox;
    claimed.cluster().change(|state| {
        state["pods"]["web-0"] = json!({ "node": "node-7", "claim": "data" });
    });
    let told = sandbox
        .jackin(["explain", "--snapshot", "project", "k8s-pvc://default/data"])
        .ok()
        .shows(&format!("k8s-pvc://{CONTEXT}/default/data:"))
        .shows("helper pod of the image")
        .shows("node-7");
    let said = told.text().split_whitespace().collect::<Vec<_>>().join(" ");
    for right in [
        "get persistentvolumeclaims",
        "create pods",
        "delete pods",
        "create pods/exec",
    ] {
        assert!(said.contains(right), "{right}\n{told}");
    }
    // The agent's pod has the volume on that node, and no other node may have it.
    assert_eq!(claimed.cluster().created()["spec"]["nodeName"], "node-7");
    assert_eq!(claimed.helpers(), Vec::<String>::new());
    there_and_back(sandbox, &claimed.project, "k8s-pvc://default/data");
    assert_eq!(claimed.helpers(), Vec::<String>::new());
}

#[test]
fn a_helper_pod_goes_when_the_program_that_made_it_is_killed() {
    let Some(claimed) = Claimed::new("killed") else {
        return;
    };
    let words = ["begin", "--snapshot", "project", "k8s-pvc://default/data"];
    for attempt in 0..10 {
        // More to read each time, so that the helper is needed for more than a moment.
        Build::at(&claimed.project).big(format!("big-{attempt}.bin"), (attempt + 1) * (100 << 20));
        let mut begin = claimed.sandbox.command(words).start();
        let mut is_over = false;
        await_moment("a helper", || {
            is_over = begin.child.try_wait().unwrap().is_some();
            is_over || !claimed.helpers().is_empty()
        });
        if is_over {
            // On a busy machine it may be over before the helper is seen.
            begin.finish().ok();
            continue;
        }
        begin.child.kill().unwrap();
        begin.finish();
        await_that("the end of the helper", || claimed.helpers().is_empty());
        return;
    }
    panic!("no helper was seen");
}

#[test]
fn a_claim_that_cannot_be_reached_is_told_with_its_reason_and_leaves_nothing() {
    let Some(claimed) = Claimed::new("refused") else {
        return;
    };
    let cluster = claimed.cluster();
    let claim = |modes: Value, mode: &str| {
        cluster.change(|state| {
            state["claims"]["data"]["modes"] = modes;
            state["claims"]["data"]["mode"] = mode.into();
        });
    };
    claim(json!(["ReadWriteOnce"]), "Block");
    claimed.refused("block volume");
    claim(json!(["ReadOnlyMany"]), "Filesystem");
    claimed.refused("only be read");
    claim(json!(["ReadWriteOncePod"]), "Filesystem");
    cluster.change(|state| state["pods"]["web-0"] = json!({ "claim": "data" }));
    claimed.refused("web-0");
    claim(json!(["ReadWriteMany"]), "Filesystem");
    let new_pods = |what: Value| cluster.change(|state| state["new_pods"] = what);
    new_pods(json!({ "waiting": { "reason": "ImagePullBackOff", "message": "Back-off pulling image" } }));
    claimed.refused("Back-off pulling image");
    new_pods(json!({ "phase": "Failed" }));
    claimed.refused("it has ended");
    new_pods(json!({}));
    cluster.change(|state| state["denied"] = json!(["create pods"]));
    claimed.refused("Forbidden");
    cluster.change(|state| state["denied"] = json!(["delete pods"]));
    claimed.refused("you may not delete pods in namespace default");
    cluster.change(|state| state["denied"] = json!([]));
    let unbound =
        json!({ "reason": "Unschedulable", "message": "pod has unbound immediate PersistentVolumeClaims" });
    new_pods(json!({ "condition": unbound }));
    let event = json!({
        "involvedObject": { "kind": "PersistentVolumeClaim" },
        "type": "Normal",
        "reason": "FailedBinding",
        "message": "no persistent volumes available for this claim and no storage class is set",
    });
    cluster.change(|state| state["events"] = json!([event]));
    claimed.refused("no storage class is set (FailedBinding)");
    new_pods(json!({}));
    cluster.change(|state| state["claims"] = json!({}));
    claimed.refused("\"data\" not found");
}

#[test]
fn what_a_helper_pod_waits_for_is_shown_after_a_while() {
    let Some(claimed) = Claimed::new("waits") else {
        return;
    };
    let pending = json!({ "waiting": { "reason": "ContainerCreating" } });
    claimed.cluster().change(|state| state["new_pods"] = pending);
    let words = ["explain", "--snapshot", "project", "k8s-pvc://default/data"];
    let explain = claimed.sandbox.command(words).start();
    await_that("a helper", || !claimed.helpers().is_empty());
    // Longer than the three seconds after which it is shown, with all that is asked meanwhile.
    std::thread::sleep(Duration::from_secs(10));
    claimed.cluster().change(|state| {
        let pods = state["pods"].as_object_mut().unwrap();
        for pod in pods.values_mut().filter(|pod| pod["helper"] == true) {
            *pod = json!({ "helper": true, "phase": "Failed" });
        }
    });
    explain
        .finish()
        .code(2)
        .shows("waiting for the helper pod")
        .shows("ContainerCreating")
        .shows("it has ended");
}

/// A namespace that allows no root: the helper is who the pod that has the claim is, else that pod is named.
#[test]
fn a_namespace_that_allows_no_root_has_a_helper_with_the_user_of_the_pod() {
    let Some(claimed) = Claimed::new("restricted") else {
        return;
    };
    let sandbox = &claimed.sandbox;
    claimed.cluster().change(|state| {
        state["restricted"] = true.into();
        state["pods"]["web-0"] = json!({ "claim": "data" });
    });
    claimed.refused("violates PodSecurity");
    claimed.refused(&format!("k8s://{CONTEXT}/default/web-0:main/data"));
    claimed.cluster().change(|state| {
        state["pods"]["web-0"]["security"] = json!({ "runAsUser": 1234, "runAsGroup": 1234 });
    });
    if !is_root() {
        return;
    }
    for node in walkdir::WalkDir::new(&claimed.project) {
        std::os::unix::fs::lchown(node.unwrap().path(), Some(1234), Some(1234)).unwrap();
    }
    let told = sandbox
        .jackin(["explain", "--snapshot", "project", "k8s-pvc://default/data"])
        .ok();
    let said = told.text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("user 1234 in it (the namespace allows no root)"),
        "{told}"
    );
    let rights = &claimed.cluster().created()["spec"]["containers"][0]["securityContext"];
    assert_eq!(rights["runAsUser"], 1234);
    let before = sandbox.tree(&claimed.project);
    let id = sandbox.begin("k8s-pvc://default/data");
    for path in [".env", "key", "link-1", "own/a"] {
        fs::remove_file(claimed.project.join(path)).unwrap();
    }
    fs::write(claimed.project.join("run.sh"), "by the agent\n").unwrap();
    sandbox.jackin(["end", &id]).ok();
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert_same_tree(&before, &sandbox.tree(&claimed.project));
    assert_eq!(claimed.helpers(), Vec::<String>::new());
}

#[test]
fn a_context_is_named_fixed_when_the_session_begins_and_never_guessed() {
    let Some(sandbox) = Sandbox::carried(Kind::Pod) else {
        return;
    };
    let project = project(&sandbox);
    let canonical = sandbox.target(&project);
    let marked = canonical.strip_prefix(&format!("k8s://{CONTEXT}/")).unwrap();
    let plain = format!("k8s://{}", marked.replacen(':', "", 1));
    let named = canonical
        .replacen(':', "\0", 1)
        .replacen(':', "", 1)
        .replacen('\0', ":", 1);
    let container = canonical
        .replacen(":/", "\0", 1)
        .replacen(":/", ":main/", 1)
        .replacen('\0', ":/", 1);
    for (typed, meant) in [
        (&plain, &canonical),
        (&named, &canonical),
        (&container, &container),
        (&canonical, &canonical),
    ] {
        let told = sandbox
            .jackin(["explain", "--json", "--snapshot", "project", typed])
            .ok();
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        assert_eq!(told["mounts"][0]["root"], meant.as_str(), "{typed}");
    }
    let id = sandbox.begin(&plain);
    fs::remove_file(project.join(".env")).unwrap();
    sandbox.jackin(["end", &id]).ok();
    // Another cluster is current now; it has a pod of the same name.
    sandbox.machine().cluster().change(|state| {
        state["contexts"] = json!([CONTEXT, "production"]);
        state["current"] = "production".into();
    });
    let file = format!("{plain}/.env").replace("k8s://", &format!("k8s://{CONTEXT}/"));
    sandbox.restore(&id, &[&file]).touched(&[".env"]);
    sandbox
        .jackin(["explain", "--snapshot", "project", &plain])
        .ok()
        .shows("k8s://production/");
    // A word that is a context, and may be a namespace too, is refused with both addresses.
    let either = canonical
        .replacen(CONTEXT, "default", 1)
        .replacen(":/", "\0", 1)
        .replacen(":/", "/", 1)
        .replacen('\0', ":/", 1);
    sandbox.machine().cluster().change(|state| {
        state["contexts"] = json!([CONTEXT, "default"]);
        state["current"] = CONTEXT.into();
    });
    let words = ["explain", "--snapshot", "project", &either];
    sandbox
        .jackin(words)
        .code(2)
        .shows("default is a context of kubectl, and may be a namespace")
        .shows(&format!("write {CONTEXT}/default/default: for"))
        .shows("or default/default/POD: for");
    // So is one about whose namespace the cluster does not say.
    let denied = either.replacen("default", "limited", 1);
    let change = |denied: Value| {
        sandbox.machine().cluster().change(|state| {
            state["contexts"] = json!([CONTEXT, "limited"]);
            state["denied"] = denied.clone();
        });
    };
    let words = ["explain", "--snapshot", "project", &denied];
    change(json!(["get namespaces"]));
    sandbox
        .jackin(words)
        .code(2)
        .shows("limited is a context of kubectl, and may be a namespace");
    // One that is no namespace is a context.
    change(json!([]));
    sandbox.jackin(words).ok().shows("k8s://limited/default/");
    sandbox
        .machine()
        .cluster()
        .change(|state| state["contexts"] = json!([CONTEXT, "production"]));
    // A container or a context that is not there has a name in the error.
    let missing = container.replace(":main/", ":none/");
    sandbox
        .jackin(["explain", "--snapshot", "project", &missing])
        .code(2)
        .shows("is not valid for pod");
    let nowhere = canonical.replace(CONTEXT, "nowhere");
    sandbox
        .jackin(["explain", "--snapshot", "project", &nowhere])
        .code(2)
        .shows("context \"nowhere\" does not exist");
}

#[test]
fn the_doctor_asks_for_each_right_and_names_those_that_are_missing() {
    let Some(sandbox) = Sandbox::carried(Kind::Pod) else {
        return;
    };
    let project = project(&sandbox);
    let pod = sandbox.target(&project);
    let mounts = [(pod.as_str(), "/w"), ("k8s-pvc://default/data", "/d")];
    let mounts = mounts.map(|(src, dst)| format!("[[mounts]]\nsrc = \"{src}\"\ndst = \"{dst}\"\n"));
    let text = format!("{}\n[recovery]\nsnapshot = \"project\"\n", mounts.concat());
    sandbox.configure("workspaces/cluster.toml", &text);
    let told = || {
        let run = sandbox.jackin(["doctor", "--json"]).code_in(&[0, 1]);
        let told: Value = serde_json::from_slice(&run.stdout).unwrap();
        let all = told["findings"].as_array().unwrap().clone();
        let ours = all
            .into_iter()
            .filter(|one| one["what"].as_str().unwrap().starts_with("k8s"));
        ours.collect::<Vec<_>>()
    };
    let fine = told();
    assert_eq!(fine.len(), 2, "{fine:?}");
    assert!(fine.iter().all(|one| one["severity"] == "ok"), "{fine:?}");
    let words = fine.iter().map(Value::to_string).collect::<String>();
    for right in [
        "get pods",
        "create pods/exec",
        "get pods/exec",
        "get persistentvolumeclaims",
        "list pods",
        "create pods,",
        "delete pods",
    ] {
        assert!(words.contains(right), "{right}: {words}");
    }
    let deny = |denied: Value| {
        let cluster = sandbox.machine().cluster();
        cluster.change(|state| state["denied"] = denied);
    };
    deny(json!(["get pods/exec"]));
    let slower = told();
    let is_note = |one: &Value| {
        one["severity"] == "note"
            && one["what"]
                .as_str()
                .unwrap()
                .contains("you may not get pods/exec")
    };
    assert!(slower.iter().all(is_note), "{slower:?}");
    // What snapshots would need is not missing where nothing works at all.
    deny(json!([
        "create pods/exec",
        "delete pods",
        "create volumesnapshots.snapshot.storage.k8s.io"
    ]));
    let whole = told();
    sandbox
        .machine()
        .cluster()
        .change(|state| state["rules_incomplete"] = true.into());
    let lacking = told();
    assert_eq!(whole, lacking, "asked at once, and one by one");
    let error = |one: &&Value| one["severity"] == "error";
    assert_eq!(lacking.iter().filter(error).count(), 2, "{lacking:?}");
    let claim = lacking
        .iter()
        .find(|one| one["what"].as_str().unwrap().starts_with("k8s-pvc"))
        .unwrap();
    assert!(
        claim["what"]
            .as_str()
            .unwrap()
            .ends_with("missing permission: delete pods, create pods/exec"),
        "{claim}"
    );
}

#[test]
fn a_stream_that_never_ends_by_itself_leaves_nothing_running() {
    let Some(sandbox) = Sandbox::carried(Kind::Pod) else {
        return;
    };
    let project = project(&sandbox);
    let id = sandbox.launch(&project, "rm .env");
    sandbox.restore(&id, &[]).touched(&[".env"]);
    let name = sandbox.machine().container().to_owned();
    let running = run_tool(Command::new("docker").args(["top", &name, "-eo", "pid,args"]));
    let running = String::from_utf8_lossy(&running).into_owned();
    assert!(!running.contains("__agent"), "{running}");
    let carriers = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        words.contains(&name) && words.contains("kubectl")
    });
    assert_eq!(carriers.count(), 0);
    assert!(Path::new(&project).join(".env").exists());
}

/// Begins a session on the claim `data`, and returns its id.
fn begun_on_claim(sandbox: &Sandbox) -> String {
    let begin = ["begin", "--snapshot", "project", "k8s-pvc://default/data"];
    let run = sandbox.jackin(begin).ok();
    String::from_utf8_lossy(&run.stdout).trim().to_owned()
}

/// A new claim is filled; one that holds anything is never touched.
#[test]
fn a_snapshot_goes_into_a_new_claim_and_into_no_other() {
    let Some(claimed) = Claimed::new("anew") else {
        return;
    };
    let sandbox = &claimed.sandbox;
    let before = Tree::read(&claimed.project);
    let id = begun_on_claim(sandbox);
    fs::remove_file(claimed.project.join("run.sh")).unwrap();
    sandbox.jackin(["end", &id]).ok();
    let new = sandbox.project("new-volume");
    let volume = format!("jr-claim-new-{}", std::process::id());
    make_volume(&volume, &new);
    claimed.cluster().change(|state| {
        state["claims"]["new"] = json!({ "volume": volume, "modes": ["ReadWriteOnce"] });
    });
    // As a new ext4 has it.
    let lost = new.join("lost+found");
    fs::create_dir(&lost).unwrap();
    fs::set_permissions(&lost, fs::Permissions::from_mode(0o700)).unwrap();
    let to = |claim: &str, how: &str| {
        let to = format!("k8s-pvc://default/{claim}");
        sandbox.jackin(["restore", &id, "--from", "baseline", "--to", &to, how])
    };
    to("new", "--dry-run")
        .ok()
        .shows(&format!("k8s-pvc://{CONTEXT}/default/new:"));
    assert_eq!(Tree::read(&new).nodes.len(), 2);
    to("data", "--yes").code(2).shows("is not empty");
    to("new", "--yes").ok().shows("written");
    to("new", "--yes").code(2).shows("is not empty");
    fs::remove_dir(&lost).unwrap();
    let [mut wanted, mut written] = [before, Tree::read(&new)];
    for tree in [&mut wanted, &mut written] {
        tree.nodes.remove([].as_slice());
    }
    assert_same_tree(&wanted, &written);
    assert_eq!(claimed.helpers(), Vec::<String>::new());
    remove_volume(&volume);
}

/// A claim that was deleted, or a second one beside it: it is made like the first, or large enough, and is the operator's.
#[test]
fn a_claim_that_is_not_there_is_made_first() {
    let Some(claimed) = Claimed::new("made") else {
        return;
    };
    let sandbox = &claimed.sandbox;
    let before = Tree::read(&claimed.project);
    let id = begun_on_claim(sandbox);
    sandbox.jackin(["end", &id]).ok();
    let to = |claim: &str, how: &[&str]| {
        let to = format!("k8s-pvc://default/{claim}");
        let words = ["restore", &id, "--from", "baseline", "--to", &to];
        sandbox.jackin(words.iter().chain(how).copied())
    };
    let is_there = |claim: &str| claimed.cluster().state()["claims"].get(claim).is_some();
    to("second", &["--dry-run"])
        .ok()
        .shows("is made first: 4Gi of the class quick, like data.");
    to("second", &[]).refused();
    let set = |key: &'static str, value: Value| claimed.cluster().change(|state| state[key] = value);
    set(
        "refused",
        json!({ "PersistentVolumeClaim": "Error from server (Forbidden): exceeded quota: storage" }),
    );
    to("second", &["--yes"]).code(1).shows("exceeded quota: storage");
    assert!(!is_there("second"));
    set("refused", json!({}));
    let done = to("second", &["--yes", "--json"]).ok().json();
    assert_eq!(done["new_claim"]["storage"], "4Gi");
    let made = claimed.cluster().claimed();
    assert_eq!(made["spec"]["storageClassName"], "quick");
    assert_eq!(made["spec"]["accessModes"], json!(["ReadWriteOnce"]));
    claimed.cluster().change(|state| {
        state["claims"].as_object_mut().unwrap().remove("data");
    });
    set("no_default_class", true.into());
    to("data", &["--yes"]).code(1).shows("no default StorageClass");
    assert!(!is_there("data"));
    set("no_default_class", false.into());
    to("data", &["--yes"])
        .ok()
        .shows("is made first: 1Gi of the cluster's default class.");
    to("data", &["--yes"]).code(2).shows("is not empty");
    for claim in ["second", "data"] {
        let claims = claimed.cluster().state()["claims"].clone();
        let [mut wanted, mut written] = [
            before.clone(),
            Tree::read(Path::new(claims[claim]["made"].as_str().unwrap())),
        ];
        for tree in [&mut wanted, &mut written] {
            tree.nodes.remove([].as_slice());
        }
        assert_same_tree(&wanted, &written);
        let volume = claims[claim]["volume"].as_str().unwrap().to_owned();
        remove_volume(&volume);
    }
    assert_eq!(claimed.helpers(), Vec::<String>::new());
}
