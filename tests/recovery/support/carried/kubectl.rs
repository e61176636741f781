//! The stand-in for kubectl: speaks the part of its command line that is used, and runs what it is told in containers of docker.
//!
//! What there is stands in `cluster.json` beside it. A pod is a container of the same name, a claim is a volume. Its `exec` never tells
//! the other side that its input has ended, as a stream in a cluster may not.
//!
//! It is a script that starts this very binary with the one test below. That begins at once; an interpreter that reads JSON takes 30 ms.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Map, Value, json};

use crate::support::machine::{run_tool, write_script};

const SNAPSHOTS: &str = "volumesnapshots.snapshot.storage.k8s.io";
const CLASSES: &str = "volumesnapshotclasses.snapshot.storage.k8s.io";

/// Says that this process is the stand-in, and where what it knows lies.
const PLACE: &str = "JACKIN_TEST_KUBECTL";

/// Writes the script into a directory. The harness prints what it runs, so answers go to a descriptor that it does not know.
pub(super) fn install(place: &Path) {
    let test = module_path!().split_once("::").unwrap().1;
    let script = format!(
        "#!/bin/sh\nexec 3>&1 >/dev/null\nexport {PLACE}='{}'\n\
         exec '{}' --exact --nocapture --test-threads=1 {test}::stands_in -- \"$@\"\n",
        place.display(),
        std::env::current_exe().unwrap().display(),
    );
    let kubectl = place.join("kubectl");
    write_script(&kubectl, &script);
}

/// Nothing but a start of the script runs what is in it.
#[test]
fn stands_in() {
    let Some(place) = std::env::var_os(PLACE) else {
        return;
    };
    let words: Vec<OsString> = std::env::args_os()
        .skip_while(|word| word != "--")
        .skip(1)
        .collect();
    let place = PathBuf::from(place);
    Kubectl {
        answers: File::options().append(true).open("/dev/fd/3").unwrap(),
        state: load(&place),
        place,
        lock: None,
    }
    .run(&words);
    end(0);
}

#[allow(
    clippy::exit,
    reason = "the process is the stand-in, and its code is an answer"
)]
fn end(code: i32) -> ! {
    std::process::exit(code)
}

/// Fails as a real server does, which may warn before it says why.
fn fail(text: &str) -> ! {
    let warning =
        "Warning: would violate PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false";
    let _ = writeln!(std::io::stderr(), "{warning}\n{text}");
    end(1)
}

fn missing(kind: &str, name: &str) -> ! {
    fail(&format!(
        "Error from server (NotFound): {kind} \"{name}\" not found"
    ))
}

fn load(place: &Path) -> Value {
    serde_json::from_slice(&fs::read(place.join("cluster.json")).unwrap()).unwrap()
}

fn docker(words: &[&str]) -> Output {
    let mut command = Command::new("docker");
    command.args(words).stdin(Stdio::null()).output().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn list(items: impl Iterator<Item = Value>) -> Value {
    json!({ "kind": "List", "items": items.collect::<Vec<_>>() })
}

/// One call of it.
struct Kubectl {
    place: PathBuf,
    state: Value,
    answers: File,
    lock: Option<File>,
}

impl Kubectl {
    fn say(&mut self, line: impl std::fmt::Display) {
        writeln!(self.answers, "{line}").unwrap();
    }

    fn save(&self) {
        let draft = self.place.join("cluster.json.new");
        fs::write(&draft, self.state.to_string()).unwrap();
        fs::rename(draft, self.place.join("cluster.json")).unwrap();
    }

    /// Nobody else changes what there is until this process ends.
    fn alone(&mut self) {
        if self.lock.is_none() {
            let lock = File::options()
                .create(true)
                .append(true)
                .open(self.place.join("lock"))
                .unwrap();
            flock(&lock, FlockOperation::LockExclusive).unwrap();
            self.lock = Some(lock);
        }
        self.state = load(&self.place);
    }

    fn denies(&self, what: &str) -> bool {
        let denied = self.state["denied"].as_array();
        denied.is_some_and(|all| all.iter().any(|one| one == what))
    }

    /// A part of the state, by name; empty when there is none.
    fn part(&self, name: &str) -> Map<String, Value> {
        self.state[name].as_object().cloned().unwrap_or_default()
    }

    fn note(&self, name: &str, made: &Value) {
        fs::write(self.place.join(name), made.to_string()).unwrap();
    }

    fn run(&mut self, all: &[OsString]) {
        let shown: Vec<String> = all
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let flags = shown.iter().take_while(|word| word.starts_with("--")).count();
        let (mut context, mut namespace) = (None, "default".to_owned());
        for flag in &shown[..flags] {
            match flag.split_once('=') {
                Some(("--context", value)) => context = Some(value.to_owned()),
                Some(("--namespace", value)) => value.clone_into(&mut namespace),
                _ => fail(&format!("error: unknown flag: {flag}")),
            }
        }
        let words: Vec<&str> = shown[flags..].iter().map(String::as_str).collect();
        let (verb, words) = words.split_first().unwrap();
        let contexts = self.state["contexts"].as_array().unwrap().clone();
        if *verb == "config" {
            return match words {
                ["current-context"] => match self.state["current"].as_str() {
                    Some(current) if !current.is_empty() => self.say(current.to_owned()),
                    _ => fail("error: current-context is not set"),
                },
                ["get-contexts", "-o", "name"] => {
                    let names: Vec<&str> = contexts.iter().map(text).collect();
                    self.say(names.join("\n"));
                }
                _ => panic!("{words:?}"),
            };
        }
        if context.is_none() && !contexts.is_empty() {
            // Where it would lead depends on what is current: nothing of ours may do that.
            let astray = File::options()
                .create(true)
                .append(true)
                .open(self.place.join("astray"));
            writeln!(astray.unwrap(), "{}", shown.join(" ")).unwrap();
            context = self.state["current"].as_str().map(str::to_owned);
        }
        if let Some(context) = context.filter(|context| !contexts.iter().any(|known| known == context)) {
            fail(&format!("error: context \"{context}\" does not exist"));
        }
        if namespace != "default" {
            fail(&format!(
                "Error from server (NotFound): namespaces \"{namespace}\" not found"
            ));
        }
        match (*verb, words) {
            ("get", ["namespace", name, "-o", "name", "--request-timeout=5s"]) => {
                let more = self.state["namespaces"].as_array().cloned().unwrap_or_default();
                if self.denies("get namespaces") {
                    let who = "User \"dev\" cannot get resource \"namespaces\" in API group \"\" at the cluster scope";
                    fail(&format!(
                        "Error from server (Forbidden): namespaces \"{name}\" is forbidden: {who}"
                    ));
                }
                match *name == "default" || more.iter().any(|one| one == name) {
                    true => self.say(format!("namespace/{name}")),
                    false => missing("namespaces", name),
                }
            }
            ("exec", _) => self.execute(words, &all[flags + 1..]),
            ("get", ["--raw", path]) => {
                assert_eq!(*path, "/apis/snapshot.storage.k8s.io/v1");
                if self.state["snapshots_known"] != true {
                    fail("Error from server (NotFound): the server could not find the requested resource");
                }
                self.say(json!({ "kind": "APIResourceList", "resources": [{ "name": "volumesnapshots" }] }));
            }
            ("get", ["persistentvolumeclaim", name, "--ignore-not-found", "-o", "json"]) => {
                if self.part("claims").contains_key(*name) {
                    let found = self.get("persistentvolumeclaim", Some(name));
                    self.say(found);
                }
            }
            ("get", [SNAPSHOTS, name, "--ignore-not-found", "-o", "name"]) => {
                if let Some(why) = self.state["unreachable"].as_str() {
                    fail(why);
                }
                if self.part("snapshots").contains_key(*name) {
                    self.say(format!("volumesnapshot.snapshot.storage.k8s.io/{name}"));
                }
            }
            ("get", [kind, names @ .., "-o", "json"]) => {
                let name = match names {
                    [name] => Some(*name),
                    _ => None,
                };
                let found = self.get(kind, name);
                self.say(found);
            }
            ("create", ["--dry-run=server", "-o", "name", "-f", "-"]) => self.try_out(),
            ("create", ["-f", "-"]) => self.create(),
            ("create", ["-f", "-", "-o", "json"]) => self.review(),
            ("delete", [kind, name, "--ignore-not-found", "--wait=false"]) => self.delete(kind, name),
            ("auth", [_, asked, what, part]) => {
                let part = part.split_once('=').map_or("", |(_, part)| part);
                let slash = if part.is_empty() { "" } else { "/" };
                if self.denies(&format!("{asked} {what}{slash}{part}")) {
                    self.say("no");
                    end(1);
                }
                self.say("yes");
            }
            ("get" | "create" | "delete" | "auth", _) => panic!("{verb} {words:?}"),
            _ => fail(&format!("error: unknown command \"{verb}\"")),
        }
    }

    fn get(&mut self, kind: &str, name: Option<&str>) -> Value {
        const OURS: &str = "--selector=app.kubernetes.io/managed-by=jackin-recovery";
        if name == Some(OURS) {
            return self.ours(kind);
        }
        match (kind, name) {
            ("pod" | "pods", None) => {
                let pods = self.part("pods");
                return list(pods.iter().map(|(name, pod)| pod_object(name, pod)));
            }
            ("pod" | "pods", Some(name)) => match self.part("pods").get(name) {
                Some(pod) => return pod_object(name, pod),
                None => missing("pods", name),
            },
            (SNAPSHOTS, Some(name)) => {
                self.alone();
                if !self.part("snapshots").contains_key(name) {
                    missing(SNAPSHOTS, name);
                }
                let polls = self.state["snapshots"][name]["polls"].as_u64().unwrap() + 1;
                self.state["snapshots"][name]["polls"] = polls.into();
                self.save();
                return self.snapshot_object(name);
            }
            ("events", Some(name)) => {
                let of = name
                    .strip_prefix("--field-selector=involvedObject.kind=")
                    .unwrap();
                let (kind, _) = of.split_once(",involvedObject.name=").unwrap();
                let all = self.state["events"].as_array().into_iter().flatten();
                let of_kind =
                    all.filter(|event| event["involvedObject"]["kind"].as_str().unwrap_or("Pod") == kind);
                return list(of_kind.cloned());
            }
            (CLASSES, _) => {
                if self.denies(&format!("get {CLASSES}")) {
                    fail(&format!("Error from server (Forbidden): {CLASSES} is forbidden"));
                }
                return list(self.state["classes"].as_array().into_iter().flatten().cloned());
            }
            ("storageclasses", None) => {
                let notes = match self.state["no_default_class"] == true {
                    true => json!({}),
                    false => json!({ "storageclass.kubernetes.io/is-default-class": "true" }),
                };
                let quick = json!({ "metadata": { "name": "quick", "annotations": notes } });
                return list([quick].into_iter());
            }
            ("storageclass", Some(name)) => {
                if self.denies("get storageclasses") {
                    fail("Error from server (Forbidden): storageclasses is forbidden");
                }
                let or = |key: &str, usual: &str| self.state[key].as_str().unwrap_or(usual).to_owned();
                return json!({
                    "metadata": { "name": name },
                    "provisioner": or("provisioner", "disks.example"),
                    "reclaimPolicy": or("reclaim", "Delete"),
                });
            }
            _ => {}
        }
        let name = name.unwrap();
        let claims = self.part("claims");
        let Some(claim) = claims.get(name) else {
            missing("persistentvolumeclaims", name);
        };
        let or = |key: &str, usual: &str| claim[key].as_str().unwrap_or(usual).to_owned();
        let class = claim.get("class").cloned().unwrap_or_else(|| "quick".into());
        json!({
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "uid": or("uid", &format!("uid-of-{name}")),
                "annotations": { "volume.kubernetes.io/storage-provisioner": "disks.example" },
            },
            "spec": {
                "accessModes": claim["modes"],
                "volumeMode": or("mode", "Filesystem"),
                "storageClassName": class,
                "resources": { "requests": { "storage": "3Gi" } },
            },
            "status": { "phase": "Bound", "capacity": { "storage": "4Gi" } },
        })
    }

    fn snapshot_object(&self, name: &str) -> Value {
        let snapshot = &self.state["snapshots"][name];
        let polls = snapshot["polls"].as_u64().unwrap();
        let after = |key: &str| polls > self.state[key].as_u64().unwrap_or(0);
        let mut status = json!({ "readyToUse": after("ready_after") });
        if after("taken_after") {
            status["creationTime"] = "2026-11-23T12:00:00Z".into();
            status["restoreSize"] = "1Gi".into();
        }
        if let Some(late) = self.state.get("late_error") {
            status["error"] = json!({ "message": late });
        }
        if let Some(error) = self.state.get("snapshot_error") {
            status = json!({ "readyToUse": false, "error": { "message": error } });
        }
        let mut found = snapshot["made"].clone();
        found["status"] = status;
        found["metadata"]["uid"] = format!("uid-of-{name}").into();
        found
    }

    /// Says whether it would be made, and makes nothing.
    fn try_out(&mut self) {
        let made = asked();
        if let Some(refused) = self.state["refused"][text(&made["kind"])].as_str() {
            fail(refused);
        }
        self.say(text(&made["metadata"]["name"]));
    }

    /// The rules that apply to the operator, as far as they are asked for here.
    fn review(&mut self) {
        let asked = asked();
        assert_eq!(asked["kind"], "SelfSubjectRulesReview", "{asked}");
        assert_eq!(asked["spec"]["namespace"], "default", "{asked}");
        let all = ["pods", "pods/exec", "persistentvolumeclaims", SNAPSHOTS, CLASSES];
        let mut rules = Vec::new();
        for what in all {
            let (name, group) = what.split_once('.').unwrap_or((what, ""));
            let verbs = ["get", "list", "create", "delete"].into_iter();
            let granted: Vec<&str> = verbs
                .filter(|verb| !self.denies(&format!("{verb} {what}")))
                .collect();
            rules.push(json!({ "verbs": granted, "apiGroups": [group], "resources": [name] }));
        }
        let incomplete = self.state["rules_incomplete"] == true;
        self.say(
            json!({ "status": { "resourceRules": rules, "nonResourceRules": [], "incomplete": incomplete } }),
        );
    }

    fn create(&mut self) {
        let made = asked();
        if self.state["held"] == made["kind"] {
            // A client that dies now does not withdraw its request.
            fs::write(self.place.join("held"), "").unwrap();
            while load(&self.place)["held"] == made["kind"] {
                sleep(Duration::from_millis(20));
            }
        }
        self.alone();
        let kind = text(&made["kind"]);
        for (named, resource) in [
            ("VolumeSnapshot", SNAPSHOTS),
            ("PersistentVolumeClaim", "persistentvolumeclaims"),
        ] {
            if kind == named && self.denies(&format!("create {resource}")) {
                fail(&format!("Error from server (Forbidden): {resource} is forbidden"));
            }
        }
        match kind {
            "VolumeSnapshot" => self.create_snapshot(&made),
            "PersistentVolumeClaim" => self.create_claim(&made),
            _ => self.create_pod(&made),
        }
    }

    fn create_snapshot(&mut self, made: &Value) {
        if made["apiVersion"] != "snapshot.storage.k8s.io/v1" || self.state["snapshots_known"] != true {
            fail("error: no matches for kind \"VolumeSnapshot\"");
        }
        let name = text(&made["metadata"]["name"]);
        let claim = text(&made["spec"]["source"]["persistentVolumeClaimName"]);
        if self.part("snapshots").contains_key(name) {
            fail(&format!(
                "Error from server (AlreadyExists): volumesnapshots \"{name}\" already exists"
            ));
        }
        let claims = self.part("claims");
        let Some(shown) = claims.get(claim) else {
            missing("persistentvolumeclaims", claim);
        };
        self.note("snapshot.json", made);
        let place = self.place.join(name);
        // The directory that the claim shows.
        let device = docker(&[
            "volume",
            "inspect",
            text(&shown["volume"]),
            "--format",
            "{{.Options.device}}",
        ]);
        let device = String::from_utf8(device.stdout).unwrap();
        run_tool(Command::new("cp").args(["-a", device.trim()]).arg(&place));
        self.state["snapshots"][name] =
            json!({ "place": place.to_str(), "made": made, "polls": 0, "claim": claim });
        self.save();
        self.say(format!("volumesnapshot/{name} created"));
    }

    fn create_claim(&mut self, made: &Value) {
        let (name, spec) = (text(&made["metadata"]["name"]), &made["spec"]);
        let modes = &spec["accessModes"];
        let source = &spec["dataSource"];
        let (device, claim) = if source.is_null() {
            // A claim of the operator's; its files lie in the directory `made`.
            assert!(made["metadata"].get("labels").is_none(), "{made}");
            let device = self.place.join("made").join(name);
            fs::create_dir_all(&device).unwrap();
            let volume = format!("{name}-{}", std::process::id());
            let claim = json!({ "volume": volume, "modes": modes, "made": device.to_str() });
            (device.to_str().unwrap().to_owned(), claim)
        } else {
            assert_eq!(source["apiGroup"], "snapshot.storage.k8s.io");
            assert_eq!(source["kind"], "VolumeSnapshot");
            let snapshots = self.part("snapshots");
            let of = text(&source["name"]);
            let Some(snapshot) = snapshots.get(of) else {
                missing("volumesnapshots", of);
            };
            let claim = json!({ "volume": format!("{name}-shown"), "modes": modes, "helper": true });
            (text(&snapshot["place"]).to_owned(), claim)
        };
        self.note("claim.json", made);
        let device = format!("device={device}");
        let options = ["--opt", "type=none", "--opt", "o=bind", "--opt", &device];
        let words = ["volume", "create", "--driver", "local"];
        let done = docker(&[&words[..], &options, &[text(&claim["volume"])]].concat());
        self.succeeded(&done);
        self.state["claims"][name] = claim;
        self.save();
        self.say(format!("persistentvolumeclaim/{name} created"));
    }

    fn succeeded(&self, done: &Output) {
        if !done.status.success() {
            fail(&format!(
                "Error from server: {}",
                String::from_utf8_lossy(&done.stderr)
            ));
        }
    }

    fn create_pod(&mut self, made: &Value) {
        if self.denies("create pods") {
            fail(
                "Error from server (Forbidden): pods is forbidden: User \"ann\" cannot create resource \"pods\"",
            );
        }
        if made["kind"] != "Pod" || made["apiVersion"] != "v1" {
            fail("error: this is no pod");
        }
        let (name, spec) = (text(&made["metadata"]["name"]), &made["spec"]);
        let rights = &spec["containers"][0]["securityContext"];
        if self.state["restricted"] == true && rights["runAsNonRoot"] != true {
            fail(&format!(
                "Error from server (Forbidden): error when creating \"STDIN\": pods \"{name}\" is forbidden: violates PodSecurity \
                 \"restricted:latest\": unrestricted capabilities (container \"jackin-recovery\" must not include \"CHOWN\" in \
                 securityContext.capabilities.add), runAsNonRoot != true (pod or container \"jackin-recovery\" must set \
                 securityContext.runAsNonRoot=true), runAsUser=0 (container \"jackin-recovery\" must not set runAsUser=0)"
            ));
        }
        let [container] = spec["containers"].as_array().unwrap().as_slice() else {
            panic!("{made}")
        };
        let [mounted] = container["volumeMounts"].as_array().unwrap().as_slice() else {
            panic!("{made}")
        };
        let mut volumes = spec["volumes"].as_array().unwrap().iter();
        let volume = volumes.find(|one| one["name"] == mounted["name"]).unwrap();
        let claim = text(&volume["persistentVolumeClaim"]["claimName"]);
        self.note("created.json", made);
        let node = spec["nodeName"].as_str().unwrap_or("node-1");
        let mut pod = json!({ "node": node, "claim": claim, "helper": true, "user": rights["runAsUser"] });
        for (key, value) in self.part("new_pods") {
            pod[key] = value;
        }
        if pod.get("waiting").is_none() && pod.get("condition").is_none() {
            let only = if mounted["readOnly"] == true { ":ro" } else { "" };
            let volume = text(&self.state["claims"][claim]["volume"]);
            let shown = format!("{volume}:{}{only}", text(&mounted["mountPath"]));
            let user = container["securityContext"]["runAsUser"].to_string();
            let command: Vec<&str> = container["command"]
                .as_array()
                .unwrap()
                .iter()
                .map(text)
                .collect();
            let run = ["run", "-d", "--init=false", "--network", "none", "--name", name];
            let how = ["-v", &shown, "-u", &user, "--entrypoint", command[0]];
            let done = docker(&[&run[..], &how, &[text(&container["image"])], &command[1..]].concat());
            self.succeeded(&done);
        }
        self.state["pods"][name] = pod;
        self.save();
        self.say(format!("pod/{name} created"));
    }

    fn delete(&mut self, kind: &str, name: &str) {
        self.alone();
        let part = match kind {
            "pod" => "pods",
            "persistentvolumeclaim" => "claims",
            SNAPSHOTS => "snapshots",
            _ => panic!("{kind}"),
        };
        let removed = self.state[part].as_object_mut().and_then(|all| all.remove(name));
        if let Some(removed) = removed {
            assert!(
                part != "claims" || removed["helper"] == true,
                "{name} is the operator's"
            );
            self.save();
            match part {
                "pods" => drop(docker(&["rm", "-f", name])),
                "claims" => drop(docker(&["volume", "rm", text(&removed["volume"])])),
                _ => drop(fs::remove_dir_all(text(&removed["place"]))),
            }
        }
        self.say(format!("{kind} \"{name}\" deleted"));
    }

    /// What is labeled as ours, as a list.
    fn ours(&self, kind: &str) -> Value {
        let part = match kind {
            "pods" => "pods",
            "persistentvolumeclaims" => "claims",
            SNAPSHOTS => "snapshots",
            _ => panic!("{kind}"),
        };
        let old: Vec<&str> = self.state["old"][kind]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect();
        let made = self.part(part);
        let helpers = made
            .iter()
            .filter(|(_, one)| part == "snapshots" || one["helper"] == true);
        let young = helpers
            .map(|(name, _)| name.as_str())
            .filter(|name| !old.contains(name));
        let named = |name: &str, at: &str| json!({ "metadata": { "name": name, "creationTimestamp": at } });
        let young: Vec<Value> = young.map(|name| named(name, "2100-01-01T00:00:00Z")).collect();
        let old = old.iter().map(|name| named(name, "2026-01-01T00:00:00Z"));
        list(young.into_iter().chain(old))
    }

    /// Runs a command in a pod and ends as it does.
    fn execute(&self, shown: &[&str], words: &[OsString]) -> ! {
        let split = shown.iter().position(|word| *word == "--").unwrap();
        let options = &shown[..split];
        let ["-i", name, ..] = options else {
            panic!("{options:?}")
        };
        if !self.part("pods").contains_key(*name) {
            missing("pods", name);
        }
        let chosen = options.iter().position(|word| *word == "-c");
        match chosen.map(|at| options[at + 1]) {
            None => drop(writeln!(
                std::io::stderr(),
                "Defaulted container \"main\" out of: main, beside"
            )),
            Some("main" | "jackin-recovery") => {}
            Some(other) => fail(&format!(
                "Error from server (BadRequest): container {other} is not valid for pod {name}"
            )),
        }
        if self.denies("create pods/exec") {
            fail("Error from server (Forbidden): User \"ann\" cannot create resource \"pods/exec\"");
        }
        let pods = self.part("pods");
        let user = pods[*name]["user"].as_u64().unwrap_or(0);
        let user = format!("{user}:{user}");
        let mut child = Command::new("docker")
            .args(["exec", "-i", "-u", &user, name])
            .args(&words[split + 1..])
            .stdin(Stdio::piped())
            .stdout(self.answers.try_clone().unwrap())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let pause = Duration::from_secs_f64(self.state["pause"].as_f64().unwrap_or(0.0));
        let record = self.state["record"].as_str().map(|file| {
            let mut options = fs::OpenOptions::new();
            options.append(true).create(true).open(file).unwrap()
        });
        std::thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while let Ok(count) = std::io::stdin().read(&mut bytes) {
                sleep(pause);
                if let Some(mut record) = record.as_ref() {
                    record.write_all(&bytes[..count]).unwrap();
                }
                // The other side never hears of an end: its input stays open until it ends itself.
                if count == 0 || input.write_all(&bytes[..count]).is_err() {
                    break;
                }
            }
            std::mem::forget(input);
        });
        let status = child.wait().unwrap();
        let code = status.code().unwrap_or_else(|| -status.signal().unwrap_or(1));
        if code != 0 {
            let _ = writeln!(std::io::stderr(), "command terminated with exit code {code}");
        }
        end(code)
    }
}

/// What is to be made, as standard input has it.
fn asked() -> Value {
    serde_json::from_reader(std::io::stdin()).unwrap()
}

fn pod_object(name: &str, pod: &Value) -> Value {
    let claim = pod["claim"].as_str().filter(|claim| !claim.is_empty());
    let volumes: Vec<Value> = claim
        .map(|claim| json!({ "name": "v", "persistentVolumeClaim": { "claimName": claim } }))
        .into_iter()
        .collect();
    let phase = pod["phase"].as_str().unwrap_or("Running");
    let mut status = json!({ "phase": phase });
    if let Some(waiting) = pod.get("waiting") {
        // In the order of their names: one that the cluster added may be the first.
        status = json!({ "phase": "Pending", "containerStatuses": [
            { "name": "istio-proxy", "state": { "running": {} } },
            { "name": "jackin-recovery", "state": { "waiting": waiting } },
        ] });
    }
    if let Some(condition) = pod.get("condition") {
        status = json!({ "phase": "Pending", "conditions": [condition] });
    }
    let mut metadata = json!({ "name": name });
    if let Some(uid) = pod.get("uid") {
        metadata["uid"] = uid.clone();
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "nodeName": pod["node"].as_str().unwrap_or("node-1"),
            "securityContext": pod.get("security").cloned().unwrap_or_else(|| json!({})),
            "containers": [{ "name": "main", "volumeMounts": [{ "name": "v", "mountPath": "/data" }] }],
            "volumes": volumes,
        },
        "status": status,
    })
}
