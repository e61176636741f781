"""The tools side by side, each as the same list of steps. A step that a tool does not have is None."""

import json
import os
import re
import shlex
import shutil
import subprocess


class Failed(Exception):
    """A command that did not do what it should; the text is what it said."""


def launch(words, env, stdin=None, ok=(0,)):
    """Runs a command; gives its output. What it says goes nowhere unless it fails."""
    done = subprocess.run(words, env=env, stdin=stdin or subprocess.DEVNULL, capture_output=True)
    if done.returncode not in ok:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise Failed(f"{os.path.basename(words[0])} ended with {done.returncode}: {said[-1] if said else ''}")
    return done.stdout.decode(errors="replace")


def size(path):
    """Bytes that files below `path` take, as written (not as allocated)."""
    total = 0
    for directory, _, names in os.walk(path):
        total += sum(os.lstat(os.path.join(directory, name)).st_size for name in names)
    return total


def remove(path):
    """Removes a file, a link or a tree, whatever its modes are."""
    if os.path.isdir(path) and not os.path.islink(path):
        subprocess.run(["chmod", "-R", "u+rwX", path], check=False)
        shutil.rmtree(path)
    else:
        os.remove(path)


class Tool:
    """One tool with a store of its own, for one run."""

    name = ""
    binary = ""

    def __init__(self, tree, work):
        self.tree, self.work = tree, work
        self.store = os.path.join(work, "store")
        self.env = dict(os.environ, HOME=os.path.join(work, "home"), LC_ALL="C")
        os.makedirs(self.env["HOME"])

    @classmethod
    def version(cls):
        """Its own words, or None when it is not installed."""
        if not shutil.which(cls.binary):
            return None
        for words in ([cls.binary, "--version"], [cls.binary, "version"]):
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode == 0:
                return done.stdout.strip().splitlines()[0]
        return "?"

    def prepare(self):
        """What is not measured, before the first capture."""

    def capture(self, number):
        """The command of the capture with this number (0 cold, 1 unchanged, 2 one file changed, 3 one in a hundred)."""

    def after_capture(self, number, output):
        """What the output of a capture says, for the steps that follow. Not measured."""

    def before_restore(self):
        """What is not measured, before the first restore."""

    def diff(self):
        """Names of what changed since capture 0."""
        return None

    def diff_from(self, number):
        """Names of what changed since that capture, the last one."""
        return None

    def restore(self):
        """Back to capture 0, in place."""
        return None

    def restore_gone(self):
        """The same, after everything in the tree was deleted."""
        return self.restore()

    def dry_run(self):
        return None

    def restore_to(self, directory):
        return None

    def shell(self, *parts):
        return ["bash", "-c", "set -eo pipefail; " + " ".join(parts)]


class Jackin(Tool):
    name = "jackin recovery"

    def __init__(self, tree, work):
        super().__init__(tree, work)
        self.env["JACKIN_HOME_DIR"] = self.store
        self.env["JACKIN_CONFIG_DIR"] = os.path.join(work, "config")

    @classmethod
    def version(cls):
        return launch([os.environ["JACKIN"], "--version"], dict(os.environ)).strip()

    def verb(self, *words):
        return [os.environ["JACKIN"], "recovery", "--quiet", *words]

    def capture(self, number):
        if number == 0:
            return self.verb("begin", "--snapshot", "project", "--json", self.tree + "/")
        return self.verb("checkpoint", self.instance, "--name", f"c{number}")

    def after_capture(self, number, output):
        if number == 0:
            self.instance = json.loads(output)["instance"]

    def before_restore(self):
        launch(self.verb("end", self.instance), self.env)

    def diff(self):
        return self.verb("diff", self.instance, "--name-status")

    def diff_from(self, number):
        return self.verb("diff", self.instance, "--from", f"c{number}", "--name-status")

    def restore(self):
        return self.verb("restore", self.instance, "--yes")

    def restore_gone(self):
        # The session is over: that everything is gone is a later edit.
        return self.verb("restore", self.instance, "--yes", "--overwrite-later-edits")

    def dry_run(self):
        return self.verb("restore", self.instance, "--dry-run")

    def restore_to(self, directory):
        return self.verb("restore", self.instance, "--yes", "--to", directory)


class Git(Tool):
    """A shadow repository: every byte of the tree, ignored files too."""

    name = "shadow git"
    binary = "git"

    def prepare(self):
        self.env["GIT_CONFIG_NOSYSTEM"] = "1"
        launch(["git", "init", "-q", "--bare", self.store], self.env)
        launch(["git", "--git-dir", self.store, "config", "core.autocrlf", "false"], self.env)
        launch(["git", "--git-dir", self.store, "config", "advice.addEmbeddedRepo", "false"], self.env)
        # Also in trees that hold attributes of their own, bytes are bytes.
        with open(os.path.join(self.store, "info/attributes"), "w") as file:
            file.write("* -text -filter -ident -working-tree-encoding\n")

    def git(self, *words):
        return ["git", f"--git-dir={self.store}", f"--work-tree={self.tree}", *words]

    def capture(self, number):
        git = shlex.join(self.git())
        return self.shell(f"cd {shlex.quote(self.tree)};", git, "add -A -f . ;", git, "write-tree")

    def after_capture(self, number, output):
        if number == 0:
            self.first = output.strip()
        self.last = output.strip()

    def diff(self):
        return self.git("diff", "--name-status", self.first)

    def diff_from(self, number):
        return self.git("diff", "--name-status", self.last)

    def restore(self):
        return self.git("read-tree", "--reset", "-u", self.first)

    def restore_to(self, directory):
        # The index is that of the first capture again by now.
        return self.git("checkout-index", "-a", "-q", f"--prefix={directory}/")


class Tar(Tool):
    """The whole tree each time, as people do it by hand."""

    name = "tar + zstd -1 -T0"
    binary = "zstd"

    def prepare(self):
        os.makedirs(self.store)

    def archive(self, number):
        return shlex.quote(os.path.join(self.store, f"{number}.tar.zst"))

    def capture(self, number):
        return self.shell(f"tar -C {shlex.quote(self.tree)} -cf - . | zstd -1 -T0 -q -f -o {self.archive(number)}")

    def diff(self):
        return self.diff_from(0)

    def diff_from(self, number):
        compare = f"zstd -dc {self.archive(number)} | tar -C {shlex.quote(self.tree)} -df - || true"
        return self.shell(compare)

    def restore(self):
        return self.shell(f"zstd -dc {self.archive(0)} | tar -C {shlex.quote(self.tree)} -xf -")

    def restore_to(self, directory):
        return self.shell(f"mkdir {shlex.quote(directory)}; zstd -dc {self.archive(0)} | tar -C {shlex.quote(directory)} -xf -")


class Restic(Tool):
    name = binary = "restic"
    ids = r"snapshot ([0-9a-f]{8}) saved"

    def prepare(self):
        self.env["RESTIC_PASSWORD"] = "bench"
        launch(self.command("init"), self.env)

    def command(self, *words):
        return [self.binary, "--repo", self.store, *words]

    def capture(self, number):
        # From within, so that no restore writes above the tree.
        return self.shell(f"cd {shlex.quote(self.tree)};", shlex.join(self.command("backup", ".")))

    def after_capture(self, number, output):
        found = re.search(self.ids, output)
        if number == 0 and found:
            self.first = found.group(1)

    def restore(self):
        return self.command("restore", self.first, "--target", self.tree)

    def restore_to(self, directory):
        return self.command("restore", self.first, "--target", directory)


class Rustic(Restic):
    name = binary = "rustic"
    ids = r"snapshot ([0-9a-f]{8}) successfully saved"

    def prepare(self):
        self.env["RUSTIC_PASSWORD"] = "bench"
        launch(self.command("init"), self.env)

    def after_capture(self, number, output):
        if number == 0:
            listed = json.loads(launch(self.command("snapshots", "--json"), self.env))
            self.first = re.search(r'"id": ?"([0-9a-f]{64})"', json.dumps(listed)).group(1)

    def restore(self):
        return self.command("restore", self.first, self.tree)

    def restore_to(self, directory):
        return self.command("restore", self.first, directory)


class Borg(Tool):
    name = binary = "borg"

    def prepare(self):
        self.env["BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK"] = "yes"
        launch(["borg", "init", "--encryption=none", self.store], self.env)

    def capture(self, number):
        return self.shell(f"cd {shlex.quote(self.tree)}; borg create --compression zstd,1 {shlex.quote(self.store)}::{number} .")

    def restore(self):
        return self.shell(f"cd {shlex.quote(self.tree)}; borg extract {shlex.quote(self.store)}::0")

    def restore_to(self, directory):
        return self.shell(f"mkdir {shlex.quote(directory)}; cd {shlex.quote(directory)}; borg extract {shlex.quote(self.store)}::0")


class Bupstash(Tool):
    name = binary = "bupstash"

    def prepare(self):
        self.key = os.path.join(self.work, "key")
        self.env["BUPSTASH_KEY"], self.env["BUPSTASH_REPOSITORY"] = self.key, self.store
        launch(["bupstash", "new-key", "-o", self.key], self.env)
        launch(["bupstash", "init"], self.env)

    def capture(self, number):
        return ["bupstash", "put", "-q", self.tree]

    def after_capture(self, number, output):
        if number == 0:
            self.first = output.strip()

    def restore(self):
        return ["bupstash", "restore", "-q", "--into", self.tree, f"id={self.first}"]

    def restore_to(self, directory):
        return self.shell(f"mkdir {shlex.quote(directory)}; bupstash restore -q --into {shlex.quote(directory)} id={self.first}")


PEERS = [Git, Tar, Restic, Rustic, Borg, Bupstash]
