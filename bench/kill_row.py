"""kill -9 in the middle of restores of 412 files, 72 MB: what lies there right after each kill, and after `resume` or `abort`.

usage: kill_row.py JACKIN [KILLS]

Torn: content that is neither the snapshot's nor that from before the restore. Mixed: some files old, some new. The kills are
spread evenly over the time that a restore takes. Prints one JSON object; exits with 1 when anything is wrong after recovery.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def files(seed):
    """400 small files in 20 directories and 12 of 6 MB, other bytes for each seed."""
    rng = random.Random(seed)
    made = {f"d{i % 20}/s{i}.txt": rng.randbytes(rng.randint(200, 8000)) for i in range(400)}
    made.update({f"big{i}.bin": rng.randbytes(6_000_000) for i in range(12)})
    return made


GOOD, BAD = files(10), files(20)
BAD.update({f"new/n{i}.txt": b"agent new %d" % i for i in range(50)})
for i in range(30):
    del BAD[f"d{i % 20}/s{i}.txt"]


def put(work, tree):
    """Makes the directory hold these files and nothing else."""
    for name in os.listdir(work):
        path = os.path.join(work, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    for path, content in tree.items():
        place = os.path.join(work, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(content)


def look(work):
    """How many files are as in the snapshot, as before the restore, neither, or missing."""
    found = dict(new=0, old=0, extra=0, torn=0)
    seen = set()
    for directory, _, names in os.walk(work):
        for name in names:
            place = os.path.join(directory, name)
            path = os.path.relpath(place, work)
            seen.add(path)
            with open(place, "rb") as file:
                content = file.read()
            if GOOD.get(path) == content:
                found["new"] += 1
            elif BAD.get(path) == content:
                found["old" if path in GOOD else "extra"] += 1
            else:
                found["torn"] += 1
    found["missing"] = sum(1 for path in GOOD if path not in seen and path in BAD)
    return found


def is_mixed(found):
    return found["new"] > 0 and (found["old"] > 0 or found["extra"] > 0)


def main():
    program, kills = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 16
    base = tempfile.mkdtemp(prefix="kill-row-")
    work, home = base + "/ws", base + "/home"
    os.mkdir(work)
    os.mkdir(home)
    environment = dict(HOME=home, PATH=os.environ["PATH"])

    def jackin(*words, codes=(0,)):
        run = subprocess.run([program, "recovery", *words], env=environment, cwd=base, capture_output=True)
        if run.returncode not in codes:
            sys.exit(f"{words}: {run.returncode}\n{run.stdout.decode()}{run.stderr.decode()}")
        return run

    put(work, GOOD)
    session = jackin("begin", "--snapshot", "project", work).stdout.decode().strip()
    put(work, BAD)
    jackin("end", session)
    command = [program, "recovery", "restore", session, "--yes"]
    takes = 0
    for _ in range(2):
        begun = time.time()
        jackin("restore", session, "--yes")
        takes = time.time() - begun
        at_end = look(work)
        jackin("undo", session, "--yes")
    at_once, after, waited, ended = [], [], 0, dict(old=0, new=0)
    for kill in range(kills):
        process = subprocess.Popen(command, env=environment, cwd=base, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(takes * (kill + 0.5) / kills)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        landed = process.wait() == -signal.SIGKILL
        at_once.append((look(work), landed))
        waits = jackin("restore", session, "--dry-run", codes=(0, 8)).returncode == 8
        waited += waits
        # Taken back and finished in turn; where nothing waits either says so, and clears up.
        how = ["abort", "resume"][kill % 2]
        jackin(how, session, "--yes", codes=(0,) if waits else (0, 5))
        found = look(work)
        after.append(found)
        is_new = found["new"] > 0
        ended["new" if is_new else "old"] += 1
        if waits and is_new != (how == "resume"):
            sys.exit(f"{how} gave the other tree: {found}")
        if is_new:
            jackin("undo", session, "--yes")
    jackin("verify", "--read-data")
    jackin("log", "--verify")
    first = [found for found, _ in at_once]
    result = dict(
        tool="jackin", full_s=round(takes, 2), at_end=at_end, kills=kills, landed=sum(landed for _, landed in at_once),
        torn_or_missing=sum(1 for found in first if found["torn"] or found["missing"]),
        mixed=sum(1 for found in first if is_mixed(found)),
        worst_torn=max(found["torn"] for found in first), worst_missing=max(found["missing"] for found in first),
        said_that_it_waits=waited,
        after_recovery=dict(
            torn_or_missing=sum(1 for found in after if found["torn"] or found["missing"]),
            mixed=sum(1 for found in after if is_mixed(found)), **ended),
    )
    print(json.dumps(result), flush=True)
    shutil.rmtree(base, ignore_errors=True)
    sys.exit(any(result["after_recovery"][key] for key in ("torn_or_missing", "mixed")))


if __name__ == "__main__":
    main()
