//! Pods and claims of the cluster that `JACKIN_TEST_CLUSTER` names by its context, in a namespace that is deleted afterwards. The same
//! tests run on the stand-in for kubectl.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::carried_cluster::Claimed;
use crate::support::carried::CONTEXT;
use crate::support::machine::{skip, tool, write_script};
use crate::support::patience::{await_moment, await_that};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

/// Names and kinds that are easily lost, and a file that takes a while to read.
const FILL: &str = "mkdir -p many/inner empty own && i=0 && while [ $i -lt 50 ]; do echo \"before $i\" >many/$i; i=$((i+1)); done \
    && printf x >\"it's\" && printf y >\"$(printf 'a\\nb')\" && printf z >./-r && ln -s many/1 link && ln -s /nowhere dangling \
    && ln many/2 hard && chmod 0751 many/3 && chmod 4755 many/4 && mkfifo pipe && chmod 0700 own \
    && dd if=/dev/urandom of=big bs=1048576 count=48 2>/dev/null";
const DAMAGE: &str = "rm -r many/inner empty link hard && echo agent >many/1 && chmod 600 many/3 && rm ./-r && ln -s many made && \
    echo new >new";
/// Prints everything that a restore brings back but times.
const LIST: &str = "find . -exec stat -c '%n %F %a %u %g %h' {} + | LC_ALL=C sort; find . -type l -exec readlink {} + | LC_ALL=C sort; \
    find . -type f -exec sha256sum {} + | LC_ALL=C sort";

/// A namespace with a pod and maybe a claim; directories in the pod.
struct Place {
    host: Host,
    context: String,
    namespace: String,
    pod: String,
    /// A directory of the pod's own.
    own: String,
    /// A claim, and the directory that shows it.
    claim: Option<(String, String)>,
}

enum Host {
    StandIn(Claimed),
    Real {
        sandbox: Sandbox,
        /// Directory of a `kubectl` that notes how it is called, and starts the real one.
        noting: PathBuf,
        configuration: String,
    },
}

impl Place {
    /// The stand-in, and the cluster that the operator named.
    fn all(name: &str) -> Vec<Self> {
        let named = match std::env::var("JACKIN_TEST_CLUSTER") {
            Ok(context) => Some(Self::real(name, context)),
            Err(_) => {
                skip("a real cluster", "JACKIN_TEST_CLUSTER names none");
                None
            }
        };
        Self::stand_in(name).into_iter().chain(named).collect()
    }

    fn stand_in(name: &str) -> Option<Self> {
        let claimed = Claimed::new(name)?;
        let directory = claimed.project.join("tree");
        std::fs::create_dir(&directory).unwrap();
        let directory = directory.to_str().unwrap().to_owned();
        Some(Self {
            context: CONTEXT.to_owned(),
            namespace: "default".to_owned(),
            pod: claimed.sandbox.machine().container().to_owned(),
            own: directory.clone(),
            claim: Some(("data".to_owned(), directory)),
            host: Host::StandIn(claimed),
        })
    }

    fn real(name: &str, context: String) -> Self {
        let sandbox = Sandbox::new();
        let kubectl = tool("kubectl").expect("JACKIN_TEST_CLUSTER needs kubectl");
        let noting = sandbox.scratch("noting");
        std::fs::create_dir(&noting).unwrap();
        let script = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$1\" >>'{}'\nexec '{}' \"$@\"\n",
            noting.join("calls").display(),
            kubectl.display()
        );
        write_script(&noting.join("kubectl"), &script);
        let home = std::env::var("HOME").unwrap_or_default();
        let configuration = std::env::var("KUBECONFIG").unwrap_or_else(|_| format!("{home}/.kube/config"));
        let mut place = Self {
            host: Host::Real {
                sandbox,
                noting,
                configuration,
            },
            context,
            namespace: format!("jackin-test-{name}-{}", std::process::id()),
            pod: "web-0".to_owned(),
            own: "/work".to_owned(),
            claim: None,
        };
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": place.namespace } });
        place.make(&namespace);
        let classes = place.object(&["get", "storageclasses"]);
        let is_default = |class: &Value| {
            class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true"
        };
        let mut volumes = vec![json!({ "name": "work", "emptyDir": {} })];
        let mut mounts = vec![json!({ "name": "work", "mountPath": "/work" })];
        if classes["items"].as_array().unwrap().iter().any(is_default) {
            place.claim = Some(("data".to_owned(), "/data/tree".to_owned()));
            place.make(&json!({
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": { "name": "data" },
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": { "requests": { "storage": "256Mi" } },
                },
            }));
            volumes.push(json!({ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }));
            mounts.push(json!({ "name": "data", "mountPath": "/data" }));
        } else {
            skip("claims of a real cluster", "it has no default StorageClass");
        }
        place.make(&json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": { "name": place.pod },
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "main",
                    "image": "busybox",
                    "command": ["sleep", "100000"],
                    "volumeMounts": mounts,
                }],
                "volumes": volumes,
            },
        }));
        let pod = format!("pod/{}", place.pod);
        place.ask(&["wait", "--for=condition=Ready", "--timeout=180s", &pod], None);
        if place.claim.is_some() {
            place.run("/data", "mkdir tree");
        }
        place
    }

    fn sandbox(&self) -> &Sandbox {
        match &self.host {
            Host::StandIn(claimed) => &claimed.sandbox,
            Host::Real { sandbox, .. } => sandbox,
        }
    }

    fn variables(&self) -> Vec<(String, String)> {
        match &self.host {
            Host::StandIn(claimed) => vec![claimed.cluster().search()],
            Host::Real {
                noting,
                configuration,
                ..
            } => {
                let search = std::env::var("PATH").unwrap_or_default();
                vec![
                    ("PATH".to_owned(), format!("{}:{search}", noting.display())),
                    ("KUBECONFIG".to_owned(), configuration.clone()),
                ]
            }
        }
    }

    /// Asks the cluster as the operator would.
    fn ask(&self, words: &[&str], input: Option<&Value>) -> String {
        let mut child = Command::new("kubectl")
            .envs(self.variables())
            .args([
                format!("--context={}", self.context),
                format!("--namespace={}", self.namespace),
            ])
            .args(words)
            .stdin(if input.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        if let Some(input) = input {
            let mut to = child.stdin.take().unwrap();
            to.write_all(input.to_string().as_bytes()).unwrap();
        }
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "kubectl {words:?}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    fn object(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.ask(&[words, &["-o", "json"]].concat(), None)).unwrap()
    }

    fn make(&self, object: &Value) {
        self.ask(&["create", "-f", "-"], Some(object));
    }

    /// Runs a script in a directory of the pod.
    fn run(&self, directory: &str, script: &str) -> String {
        let script = format!("cd {directory} && {{ {script}; }}");
        let exec = ["exec", "-i", &self.pod, "-c", "main", "--", "sh", "-c", &script];
        self.ask(&exec, None)
    }

    fn command<'p>(&'p self, words: &[&str]) -> crate::support::invocation::Invocation<'p> {
        let variables = self.variables();
        let command = self.sandbox().command(words);
        variables
            .iter()
            .fold(command, |command, (name, value)| command.with(name, value))
    }

    fn jackin(&self, words: &[&str]) -> Run {
        self.command(words).run()
    }

    /// Number of pods and claims of jackin.
    fn helpers(&self) -> usize {
        let own = "--selector=app.kubernetes.io/managed-by=jackin-recovery";
        let count = |kind| {
            self.object(&["get", kind, own])["items"]
                .as_array()
                .unwrap()
                .len()
        };
        count("pods") + count("persistentvolumeclaims")
    }

    #[track_caller]
    fn there_and_back(&self, target: &str, directory: &str) {
        self.run(directory, FILL);
        let before = self.run(directory, LIST);
        let begun = self.jackin(&["begin", "--snapshot", "project", target]).ok();
        let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
        self.run(directory, DAMAGE);
        let damaged = self.run(directory, LIST);
        self.jackin(&["end", &id]).ok();
        self.jackin(&["diff", &id]).code_in(&[0, 1]).shows("M many/1");
        for (words, wanted) in [
            (["restore", &id, "--yes"], &before),
            (["undo", &id, "--yes"], &damaged),
            (["undo", &id, "--yes"], &before),
        ] {
            self.jackin(&words).ok();
            assert_eq!(&self.run(directory, LIST), wanted, "{words:?}");
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Host::Real { noting, .. } = &self.host else {
            return;
        };
        let calls = std::fs::read_to_string(noting.join("calls")).unwrap_or_default();
        let delete = ["delete", "namespace", &self.namespace, "--wait=false"];
        self.ask(&delete, None);
        let is_named = |word: &str| word.starts_with("--context=") || word == "config";
        assert!(std::thread::panicking() || calls.lines().all(is_named), "{calls}");
    }
}

#[test]
fn a_directory_of_a_pod_comes_back_exactly() {
    for place in Place::all("pod") {
        let target = format!(
            "k8s://{}/{}/{}:main{}",
            place.context, place.namespace, place.pod, place.own
        );
        place.there_and_back(&target, &place.own);
    }
}

#[test]
fn a_claim_comes_back_exactly_and_no_helper_stays() {
    for place in Place::all("claim") {
        let Some((claim, directory)) = &place.claim else {
            continue;
        };
        let target = format!("k8s-pvc://{}/{}/{claim}:/tree", place.context, place.namespace);
        place.there_and_back(&target, directory);
        assert_eq!(place.helpers(), 0);
        let mut begin = place
            .command(&["begin", "--snapshot", "project", &target])
            .start();
        await_moment("a helper", || {
            assert!(begin.child.try_wait().unwrap().is_none(), "no helper came");
            place.helpers() > 0
        });
        begin.child.kill().unwrap();
        begin.finish();
        await_that("the end of the helper", || place.helpers() == 0);
    }
}

#[test]
fn what_a_cluster_refuses_is_named_with_its_reason() {
    for place in Place::all("refused") {
        let [pod, claim] =
            ["k8s", "k8s-pvc"].map(|scheme| format!("{scheme}://{}/{}", place.context, place.namespace));
        let explain = |target: &str| {
            place
                .jackin(&["explain", "--snapshot", "project", target])
                .code(2)
        };
        explain(&format!("{pod}/gone-0:/srv"))
            .shows("pods \"gone-0\" not found")
            .hides("No route to host");
        explain(&format!("{claim}/gone:"))
            .shows("persistentvolumeclaims \"gone\" not found")
            .hides("No route to host");
        explain(&format!("{pod}/{}:main/no/such/directory", place.pod)).shows(&format!(
            "kubectl --context={} --namespace={} exec {} -c main -- mkdir -p /no/such/directory",
            place.context, place.namespace, place.pod
        ));
        assert_eq!(place.helpers(), 0);
    }
}
