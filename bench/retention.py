"""Retention under many checkpoints, and under kills: every snapshot that is listed must restore exactly."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KEEP = 100


class World:
    """A home of its own, a project, and what every checkpoint held."""

    def __init__(self, program, keep):
        self.program = program
        self.top = Path(tempfile.mkdtemp(prefix="retention-"))
        self.home = self.top / "home"
        self.project = self.top / "project"
        config = self.home / ".config/jackin"
        config.mkdir(parents=True)
        (config / "config.toml").write_text(f"[recovery.retention]\ncheckpoints = {keep}\n")
        self.project.mkdir()
        self.store = self.home / ".jackin/data/recovery"
        self.dice = random.Random(int(os.environ.get("JACKIN_SEED", "1")))
        self.trees = {}
        for number in range(200):
            self.write(number)
        self.id = self.run("begin", "--snapshot", "project", str(self.project)).stdout.strip()

    def environment(self):
        own = {key: value for key, value in os.environ.items() if not key.startswith("JACKIN_")}
        return {**own, "HOME": str(self.home), "RUST_BACKTRACE": "0"}

    def command(self, *words):
        return [self.program, "recovery", *words]

    def run(self, *words, check=True):
        done = subprocess.run(self.command(*words), env=self.environment(), capture_output=True, text=True)
        if check and done.returncode != 0:
            raise SystemExit(f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def write(self, number):
        path = self.project / f"dir-{number % 10}" / f"file-{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(self.dice.randbytes(self.dice.randrange(100, 6000)))

    def change(self):
        for _ in range(self.dice.randrange(1, 4)):
            self.write(self.dice.randrange(300))
        gone = self.project / f"dir-{self.dice.randrange(10)}" / f"file-{self.dice.randrange(300)}"
        gone.unlink(missing_ok=True)

    @staticmethod
    def digest(root):
        found = hashlib.sha256()
        for path in sorted(root.rglob("*")):
            found.update(os.fsencode(path.relative_to(root)) + b"\0")
            if path.is_file():
                found.update(hashlib.sha256(path.read_bytes()).digest())
        return found.hexdigest()

    def remember(self, name):
        self.trees[name] = self.digest(self.project)

    def listed(self):
        shown = json.loads(self.run("show", self.id, "--json").stdout)
        return [one["name"] for one in shown["instance"]["snapshots"] if one["name"]]

    def check(self, names):
        """Those that do not come back exactly."""
        wrong = []
        for name in names:
            copy = self.top / "copy"
            done = self.run("restore", self.id, "--from", name, "--to", str(copy), "--yes", check=False)
            if done.returncode != 0 or self.digest(copy) != self.trees[name]:
                wrong.append(name)
            shutil.rmtree(copy, ignore_errors=True)
        return wrong

    def archives(self):
        all_files = list((self.store / "archives").iterdir())
        return len(all_files), sum(path.stat().st_size for path in all_files)

    def pruned(self):
        names = set()
        for line in (self.store / "receipts.log").read_text().splitlines():
            act = json.loads(line.split(" ", 1)[1])["act"]
            if act["act"] == "prune":
                names.update(one.get("name") for one in act["snapshots"])
        return names

    def count(self, kind):
        lines = (self.store / "receipts.log").read_text().splitlines()
        return sum(1 for line in lines if json.loads(line.split(" ", 1)[1])["act"]["act"] == kind)

    def sound(self):
        verified = self.run("verify", "--read-data", check=False)
        chain = self.run("log", "--verify", check=False)
        return verified.returncode == 0 and chain.returncode == 0, verified.stdout + chain.stdout


def ring(world, count):
    print("| checkpoints | files in archives/ | MiB | one checkpoint, ms |\n|--:|--:|--:|--:|")
    largest, began = 0, time.monotonic()
    mark, step = began, max(1, count // 10)
    for number in range(1, count + 1):
        world.change()
        name = f"c{number}"
        world.remember(name)
        world.run("checkpoint", world.id, "--name", name)
        if number % step == 0:
            files, size = world.archives()
            largest = max(largest, size)
            now = time.monotonic()
            print(f"| {number} | {files} | {size / 2**20:.1f} | {(now - mark) / step * 1000:.0f} |", flush=True)
            mark = now
    names = world.listed()
    wrong = world.check(names)
    is_sound, said = world.sound()
    print(f"kept {len(names)}, of which {len(wrong)} are not what they were; largest {largest / 2**20:.1f} MiB")
    print(said.strip())
    return not wrong and is_sound and len(names) == min(KEEP, count)


def kills(world, rounds):
    landed, seen, lost, wrong = 0, set(), [], []
    # A kill comes at any moment of what it would take, and sometimes after it; how long that is, one in ten shows.
    took = {}
    for number in range(1, rounds + 1):
        world.change()
        name = f"c{number}"
        world.remember(name)
        words = ["prune", "--yes"] if number % 4 == 0 else ["checkpoint", world.id, "--name", name]
        started = subprocess.Popen(
            world.command(*words), env=world.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        began = time.monotonic()
        if number % 10 in (1, 4):
            started.wait()
            took[words[0]] = time.monotonic() - began
        else:
            time.sleep(world.dice.random() * took[words[0]] * 1.3)
        if started.poll() is None:
            started.send_signal(signal.SIGKILL)
            landed += 1
        started.wait()
        names = set(world.listed())
        lost += sorted(seen - names - world.pruned())
        seen = (seen | names) & names
        if number % 10 == 0 or number == rounds:
            wrong += world.check(sorted(names))
    world.run("prune", "--yes")
    names = world.listed()
    wrong += world.check(names)
    is_sound, said = world.sound()
    left = sum(1 for _ in (world.store / "tmp").iterdir())
    acts = f"{world.count('capture')} captures, {world.count('prune')} prunes, {world.count('repack')} repacks"
    print(f"{rounds} rounds, {landed} kills while it ran, {acts}; lost {len(lost)}, wrong {len(wrong)}, drafts left {left}")
    print(said.strip())
    return not lost and not wrong and is_sound and left == 0


def main():
    program, what = sys.argv[1], (sys.argv[2:] or ["ring"])[0]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else (10000 if what == "ring" else 500)
    world = World(program, KEEP if what == "ring" else 12)
    try:
        is_good = {"ring": ring, "kills": kills}[what](world, count)
    finally:
        shutil.rmtree(world.top, ignore_errors=True)
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
