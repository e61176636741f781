//! Other machines for a sandbox: a real sshd of its own, or a container of the docker that runs here. Each shows the sandbox's own
//! directories, so that a test builds and compares them as it does without.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

mod cluster;
mod images;
mod kubectl;

pub(crate) use cluster::{CONTEXT, Cluster};
pub(crate) use images::busybox;

use images::gnu;

use super::machine::{install_program, is_root, run_tool, tool, write_script};
use super::patience::await_found;

/// How the files of a session are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// They lie here.
    Local,
    /// By ssh.
    Ssh,
    /// In a container with GNU tools.
    Docker,
    /// By ssh, where this program is not: the shell and GNU tools serve.
    Shell,
    /// In a container that has nothing but busybox.
    Busybox,
    /// In a pod: a container with GNU tools that a stand-in for kubectl reaches.
    Pod,
}

impl Kind {
    /// Other machines, each reached in another way.
    pub(crate) const ELSEWHERE: [Self; 5] = [Self::Ssh, Self::Docker, Self::Shell, Self::Busybox, Self::Pod];
}

/// Another machine, as long as the value lives.
pub(crate) struct Carried {
    /// What stands before a path.
    pub(crate) prefix: String,
    /// Variables of the commands.
    pub(crate) variables: Vec<(String, String)>,
    machine: Machine,
    cluster: Option<Cluster>,
    /// Its files: keys, configuration, a wrapper, the program that is installed there.
    own: TempDir,
}

enum Machine {
    Sshd(Child),
    Container(String),
}

impl Carried {
    /// One on which `world` lies at the same path. `Err`: why there is none here.
    pub(crate) fn new(kind: Kind, world: &Path) -> Result<Option<Self>, String> {
        // For whoever looks for one fault.
        if std::env::var("JACKIN_KIND").is_ok_and(|wanted| wanted != format!("{kind:?}")) {
            return Err("another one was asked for".to_owned());
        }
        let needs = match kind {
            Kind::Shell | Kind::Busybox => (cfg!(feature = "remote-shell"), "remote-shell"),
            Kind::Pod => (cfg!(feature = "kubernetes"), "kubernetes"),
            Kind::Local | Kind::Ssh | Kind::Docker => (true, ""),
        };
        if let (false, feature) = needs {
            return Err(format!("the feature {feature} is not built"));
        }
        match kind {
            Kind::Local => Ok(None),
            Kind::Ssh => sshd().map(Some),
            Kind::Docker => container(world, gnu()?, true).map(Some),
            Kind::Shell => sshd().map(|machine| {
                machine.uninstall();
                Some(machine)
            }),
            Kind::Busybox => container(world, busybox()?, false).map(Some),
            Kind::Pod => container(world, gnu()?, true)?.in_cluster().map(Some),
        }
    }

    /// The same container as a pod, which kubectl reaches.
    fn in_cluster(mut self) -> Result<Self, String> {
        let Machine::Container(name) = &self.machine else {
            return Err("it is no container".to_owned());
        };
        let cluster = Cluster::new(self.own.path())?;
        cluster.change(|state| {
            state["pods"][name] = serde_json::json!({});
        });
        self.prefix = format!("k8s://{CONTEXT}/default/{name}:");
        self.variables.push(cluster.search());
        self.cluster = Some(cluster);
        Ok(self)
    }

    /// The address of a directory of this machine.
    pub(crate) fn address(&self, path: &Path) -> String {
        format!("{}{}", self.prefix, path.to_str().unwrap())
    }

    /// The cluster that it is a pod of.
    pub(crate) fn cluster(&self) -> &Cluster {
        self.cluster.as_ref().unwrap()
    }

    /// The name of its container.
    pub(crate) fn container(&self) -> &str {
        match &self.machine {
            Machine::Container(name) => name,
            Machine::Sshd(_) => "",
        }
    }

    /// Takes the program away that is installed there.
    pub(crate) fn uninstall(&self) {
        fs::remove_file(self.own.path().join("there/jackin-recovery")).unwrap();
    }

    /// Keeps what is sent by ssh from now on, and returns the file. Each command of a shell begins with a mark.
    pub(crate) fn record(&self) -> PathBuf {
        let (wrapper, sent) = (self.own.path().join("here/ssh"), self.own.path().join("sent"));
        let script = fs::read_to_string(&wrapper).unwrap();
        let recording = format!("tee -a {} | ", sent.display());
        write_script(&wrapper, &script.replacen("exec ", &recording, 1));
        sent
    }

    /// Where programs on a machine by ssh make what is temporary.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.own.path().join("tmp")
    }

    /// Stops a container.
    pub(crate) fn stop(&self) {
        if let Machine::Container(name) = &self.machine {
            run_tool(Command::new("docker").args(["kill", name]));
        }
    }

    /// Has a shell run `before` whenever a tool is started there. Its arguments are in `$@`.
    pub(crate) fn wrap_tool(&self, name: &str, before: &str) {
        let script = format!("#!/bin/sh\n{before}\nPATH=${{PATH#*:}}\nexec {name} \"$@\"\n");
        write_script(&self.own.path().join("there").join(name), &script);
    }

    /// Puts a tool there that fails, before the others.
    pub(crate) fn break_tool(&self, name: &str) {
        let broken = self.own.path().join("there").join(name);
        write_script(&broken, "#!/bin/sh\nexit 1\n");
    }

    /// Kills what carries the connections that are open now: the program there, or `ssh` and `docker` here.
    pub(crate) fn cut(&self, there: bool) {
        let program = self.own.path().join("there/jackin-recovery");
        let by_shell = !program.exists();
        let there_path = program.parent().and_then(Path::to_str).unwrap();
        let named = match &self.machine {
            Machine::Sshd(_) => self.prefix.rsplit(':').next().unwrap().to_owned(),
            Machine::Container(name) => name.clone(),
        };
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
                continue;
            };
            let runs = fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == program);
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            // The shell there has nothing of the address in its words, but where it looks for programs.
            let variables = fs::read(entry.path().join("environ")).unwrap_or_default();
            let is_there = String::from_utf8_lossy(&variables).contains(there_path);
            let is_shell = words.starts_with("sh\0-c\0") && words.contains("read -r M") && is_there;
            let runs = runs || (by_shell && is_shell);
            let carries = words.contains("read -r M") && words.contains(&named) && !runs;
            if (there && runs) || (!there && carries) {
                let pid = rustix::process::Pid::from_raw(pid).unwrap();
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        match &mut self.machine {
            Machine::Sshd(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Machine::Container(name) => {
                let _ = Command::new("docker")
                    .args(["rm", "-f", name])
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status();
            }
        }
    }
}

/// Lays the program where only the other machine looks for it.
fn install(own: &Path) -> PathBuf {
    let there = own.join("there");
    install_program(&there, "jackin-recovery");
    there
}

fn sshd() -> Result<Carried, String> {
    let sshd = [tool("sshd"), Some(PathBuf::from("/usr/sbin/sshd"))];
    let sshd = sshd.into_iter().flatten().find(|path| path.is_file());
    let sshd = sshd.ok_or("sshd is not installed")?;
    let (ssh, keygen) = (tool("ssh").ok_or("ssh is not installed")?, tool("ssh-keygen"));
    let keygen = keygen.ok_or("ssh-keygen is not installed")?;
    let own = TempDir::with_prefix("jr-sshd-").unwrap();
    let place = own.path();
    let there = install(place);
    for key in ["host", "key"] {
        run_tool(
            Command::new(&keygen)
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(place.join(key)),
        );
    }
    if is_root() {
        // Where it separates privileges; some systems make it at boot.
        let _ = fs::create_dir("/run/sshd");
    }
    let at = |name: &str| place.join(name).display().to_string();
    let search = std::env::var("PATH").unwrap_or_default();
    // A login shell that counts as the second one reads no file of the user who runs the tests.
    let configuration = format!(
        "ListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
         StrictModes no\nPasswordAuthentication no\nMaxStartups 100\nSetEnv PATH={}:/usr/bin:/bin TMPDIR={} SHLVL=1\n",
        at("host"),
        at("key.pub"),
        there.display(),
        at("tmp")
    );
    fs::create_dir(place.join("tmp")).unwrap();
    let (child, port) = listening(&sshd, place, &configuration);
    let mut carried = Carried {
        prefix: format!("ssh://127.0.0.1:{port}"),
        variables: Vec::new(),
        machine: Machine::Sshd(child),
        cluster: None,
        own,
    };
    // Ssh asks the user's record for the home, not HOME: so it is told where everything lies.
    let here = carried.own.path().join("here");
    fs::create_dir(&here).unwrap();
    let known = carried.own.path().join("known");
    // The usual exchange of keys takes each side a tenth of a second of work.
    let words = format!(
        "-oKexAlgorithms=curve25519-sha256 -oIdentityFile={} -oIdentitiesOnly=yes -oStrictHostKeyChecking=no -oUserKnownHostsFile={} -oLogLevel=ERROR",
        carried.own.path().join("key").display(),
        known.display()
    );
    let wrapper = format!("#!/bin/sh\nexec {} -F none {words} \"$@\"\n", ssh.display());
    write_script(&here.join("ssh"), &wrapper);
    carried
        .variables
        .push(("PATH".to_owned(), format!("{}:{search}", here.display())));
    Ok(carried)
}

/// Starts sshd on a port that is free. Another test may take that first, so only what sshd says tells that it listens.
fn listening(sshd: &Path, place: &Path, configuration: &str) -> (Child, u16) {
    let (file, log) = (place.join("sshd.conf"), place.join("log"));
    let said = || fs::read_to_string(&log).unwrap();
    for _ in 0..20 {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        fs::write(&file, format!("Port {port}\n{configuration}")).unwrap();
        let mut child = Command::new(sshd)
            .args(["-D", "-e", "-f"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let listens = format!("Server listening on 127.0.0.1 port {port}.");
        let is_up = await_found("sshd", || match child.try_wait().unwrap() {
            Some(_) => Some(false),
            None => said().contains(&listens).then_some(true),
        });
        if is_up {
            return (child, port);
        }
        assert!(said().contains("in use"), "sshd does not listen: {}", said());
    }
    panic!("sshd finds no port: {}", said());
}

fn container(world: &Path, image: &str, installed: bool) -> Result<Carried, String> {
    let own = TempDir::with_prefix("jr-docker-").unwrap();
    let there = install(own.path());
    if !installed {
        fs::remove_file(there.join("jackin-recovery")).unwrap();
    }
    let name = format!(
        "jr-{}",
        own.path()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .replace('.', "-")
    );
    // As names in a cluster are.
    let name = name.to_lowercase();
    let mount = |path: &Path, how: &str| format!("{}:{}{how}", path.display(), path.display());
    let mut run = Command::new("docker");
    run.args([
        "run",
        "-d",
        "--init=false",
        "--network",
        "none",
        "--name",
        &name,
        "-v",
    ])
    .arg(mount(world, ""))
    .arg("-v")
    .arg(mount(&there, ":ro"))
    .arg("-e")
    .arg(format!("PATH={}:/bin", there.display()))
    .args([image, "sleep", "100000"]);
    run_tool(&mut run);
    // The sandbox has another home, in which docker finds no context.
    let set = |name: &str| std::env::var(name).ok().map(|value| (name.to_owned(), value));
    let home = std::env::var("HOME").map(|home| format!("{home}/.docker"));
    let config = set("DOCKER_CONFIG").or_else(|| Some(("DOCKER_CONFIG".to_owned(), home.ok()?)));
    let variables = [set("DOCKER_HOST"), set("DOCKER_CONTEXT"), config];
    let variables = variables.into_iter().flatten().collect();
    Ok(Carried {
        prefix: format!("docker://{name}"),
        variables,
        machine: Machine::Container(name),
        cluster: None,
        own,
    })
}
