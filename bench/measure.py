"""Measures one capture, diff and restore of ours beside what people would use instead, and the floors of the machine.

Every run begins with a new store for each tool and the same tree. The page cache is warm for all of them: what is
compared is the work, not the disk's mood. Ratios are what counts; seconds belong to the machine.
"""

import argparse
import ctypes
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import report
import scale
import tools
import trees

STEPS = [
    ("cold", "first capture"),
    ("unchanged", "capture, nothing changed"),
    ("one", "capture, one file changed"),
    ("changed", "capture, 1 % of the files changed"),
    ("still", "names of what changed: nothing"),
    ("diff", "names of what changed: 1 %"),
    ("restore", "restore, 1 % changed"),
    ("dry", "restore, nothing to do, dry run"),
    ("noop", "restore, nothing to do"),
    ("to", "restore into an empty directory"),
    ("gone", "restore, everything deleted"),
]


def sync(path):
    """Waits until what was written to the file system of `path` is on its disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        if LIBC.syncfs(handle) != 0:
            raise OSError(ctypes.get_errno(), "syncfs")
    finally:
        os.close(handle)


def measured(words, env, durable=None):
    """Runs a command; gives seconds, peak memory in KiB of its largest process, and its output. With `durable`, the
    seconds end when what was written to that file system is on its disk."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if durable:
            sync(durable)
        began = time.perf_counter()
        child = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        if durable:
            sync(durable)
        seconds = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        if child.returncode != 0:
            err.seek(0)
            said = err.read().decode(errors="replace").strip().splitlines()
            raise tools.Failed(f"{os.path.basename(words[0])} ended with {child.returncode}: {said[-1] if said else ''}")
        return seconds, usage.ru_maxrss, out.read().decode(errors="replace")


LIBC = ctypes.CDLL(None, use_errno=True)


class Results:
    """Everything that was measured: by tool and step, one number a run."""

    def __init__(self):
        self.seconds, self.memory, self.sizes, self.notes = {}, {}, {}, []

    def add(self, into, tool, step, value):
        into.setdefault((tool, step), []).append(value)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)
            print(f"note: {text}", file=sys.stderr)


class Done:
    """What is over, kept until room is short: ext4 does not use a deleted file's inode again for a minute or more, and
    looks at each of them for every file that is made. Ten thousand deletions make what is measured next ten times as
    slow."""

    def __init__(self, scratch, least, results):
        self.scratch, self.least, self.results = scratch, least, results
        self.places = []

    def add(self, work):
        place = os.path.join(self.scratch, f"done{len(self.places)}")
        os.rename(work, place)
        self.places.append(place)

    def make_room(self):
        """Removes what is over when there is not room for one more."""
        if shutil.disk_usage(self.scratch).free >= self.least:
            return
        self.results.note("room was short, so files were deleted between the measurements; on ext4 that slows what follows")
        for place in self.places:
            if os.path.exists(place):
                tools.remove(place)


def cycle(kind, tree, work, results, changes, check, restores, done):
    """One tool once through all steps."""
    os.makedirs(work)
    tool = kind(tree, work)

    def step(name, words):
        if words is None:
            return ""
        seconds, memory, output = measured(words, tool.env, work)
        results.add(results.seconds, kind.name, name, seconds)
        results.add(results.memory, kind.name, name, memory)
        return output

    try:
        tool.prepare()
        for number, name in enumerate(["cold", "unchanged", "one", "changed"]):
            if name == "one":
                changes.one()
            if name == "changed":
                step("still", tool.diff_from(number - 1))
                changes.make()
            tool.after_capture(number, step(name, tool.capture(number)))
            results.add(results.sizes, kind.name, name, tools.size(tool.store))
        step("diff", tool.diff())
        if not restores:
            return
        tool.before_restore()
        step("restore", tool.restore())
        wrong = changes.back()
        if wrong:
            results.note(f"{kind.name} left {wrong} changed files as they were")
        step("dry", tool.dry_run())
        step("noop", tool.restore())
        target = os.path.join(work, "to")
        step("to", tool.restore_to(target))
        if check:
            compare(tree, target, kind, results)
        # Out of the way and not removed: a tool that does not bring everything back must not spoil it for the next.
        aside = os.path.join(work, "aside")
        move_all(tree, aside)
        try:
            step("gone", tool.restore_gone())
            if check:
                compare(aside, tree, kind, results)
        finally:
            move_all(tree, os.path.join(work, "restored"))
            move_all(aside, tree)
    except tools.Failed as error:
        results.note(f"{kind.name}: {error}")
    finally:
        changes.back()
        done.add(work)


def move_all(above, to):
    """Moves everything in one directory into another one, which is made when it is missing."""
    os.makedirs(to, exist_ok=True)
    for name in os.listdir(above):
        os.rename(os.path.join(above, name), os.path.join(to, name))


def compare(tree, target, kind, results):
    """Whether a restore of everything gave the right bytes."""
    done = subprocess.run(["diff", "-rq", "--no-dereference", tree, target], capture_output=True, text=True)
    if done.returncode != 0:
        first = (done.stdout or done.stderr).strip().splitlines()
        results.note(f"{kind.name}: what it restored differs: {first[0] if first else ''}")


def floors(tree, work, results, done):
    """The bare work on all cores."""
    floor = os.environ["FLOOR"]
    packed, written = os.path.join(work, "packed"), os.path.join(work, "written")
    for place in (packed, written):
        os.makedirs(place)
    for name, words in [
        ("walk", [floor, "walk", tree]),
        ("pack", [floor, "pack", tree, packed]),
        ("write", [floor, "write", tree, written]),
    ]:
        sync(work)
        seconds = float(tools.launch(words, dict(os.environ)))
        if name == "write":
            # As with the tools, it ends when what was written is on the disk.
            began = time.perf_counter()
            sync(work)
            seconds += time.perf_counter() - began
        results.add(results.seconds, "floor", name, seconds)
    results.add(results.sizes, "floor", "pack", tools.size(packed))
    done.add(work)


def machine(scratch):
    """What it ran on, in lines."""
    model = "unknown processor"
    memory = 0
    try:
        with open("/proc/cpuinfo") as file:
            model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), model)
        with open("/proc/meminfo") as file:
            memory = int(file.readline().split()[1]) // 1024
    except OSError:
        pass
    system = "unknown file system"
    if shutil.which("findmnt"):
        system = subprocess.run(["findmnt", "-no", "FSTYPE", "-T", scratch], capture_output=True, text=True).stdout.split("\n")[0]
    return f"{model}, {os.cpu_count()} cores, {memory / 1024:.0f} GiB of memory, Linux {platform.release().split('-')[0]}, {system}"


def main():
    words = argparse.ArgumentParser(prog="bench/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--tree", default="10k", help="1k, 10k, 100k, 1m, or real: a copy of cargo's unpacked sources (default 10k)")
    words.add_argument("--runs", type=int, default=5, help="medians of so many runs (default 5)")
    words.add_argument("--dir", default=None, help="where to work (default: the temporary directory); the more room, the better: what is over is deleted when it runs short")
    words.add_argument("--markdown", metavar="FILE", help="write the table to FILE, too")
    words.add_argument("--only-ours", action="store_true", help="leave the peers out")
    words.add_argument("--captures", action="store_true", help="leave the restores out")
    words.add_argument("--scale", action="store_true", help="instead: ours and the bare walk on 1k, 10k, 100k and 1m files, one row each")
    args = words.parse_args()
    if args.scale:
        return scale.run(args.dir, args.runs, args.markdown)
    scratch = tempfile.mkdtemp(prefix="jackin-bench-", dir=args.dir)
    results = Results()
    try:
        tree = os.path.join(scratch, "tree")
        trees.make(args.tree, tree)
        all_files = trees.files(tree)
        about = report.About(
            tree=args.tree,
            files=len(all_files),
            bytes=sum(os.path.getsize(path) for path in all_files),
            runs=args.runs,
            machine=machine(scratch),
            versions=[f"jackin recovery: {tools.Jackin.version()}"],
        )
        kinds = [tools.Jackin]
        missing = []
        for kind in [] if args.only_ours else tools.PEERS:
            version = kind.version()
            if version is None:
                missing.append(kind.name)
            else:
                kinds.append(kind)
                about.versions.append(f"{kind.name}: {version}")
        if missing:
            results.note("not installed, so not measured: " + ", ".join(missing))
        changes = trees.Changes(tree)
        # A store, what is restored twice, what is set aside, and what the file system needs for small files.
        done = Done(scratch, 6 * about.bytes + (4 << 30), results)
        # A child counts the memory of the process that it was forked from, so nothing smaller than this can be seen.
        about.least_memory = measured(["true"], dict(os.environ))[1]
        tools.launch([os.environ["FLOOR"], "walk", tree], dict(os.environ))
        for run in range(args.runs):
            print(f"run {run + 1} of {args.runs}", file=sys.stderr)
            done.make_room()
            floors(tree, os.path.join(scratch, "floors"), results, done)
            for kind in kinds:
                done.make_room()
                work = os.path.join(scratch, "work")
                cycle(kind, tree, work, results, changes, run == 0, not args.captures, done)
        text = report.markdown(about, STEPS, [kind.name for kind in kinds], results, statistics.median)
        print(text)
        if args.markdown:
            with open(args.markdown, "w") as file:
                file.write(text + "\n")
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", scratch], check=False)
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
