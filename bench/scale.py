"""How the cost of a capture grows with the number of files: ours and the bare walk, one row a tree."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import measure
import tools
import trees


def run(directory, runs, markdown):
    rows = [
        "| files | first capture | a file | nothing changed | a file | of the bare walk | 1 % changed | names, nothing changed | memory, first | memory, nothing changed |",
        "| --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for name, count in trees.SIZES.items():
        print(f"{name} files", file=sys.stderr)
        rows.append(row(directory, name, count, runs))
        print(rows[-1], file=sys.stderr)
    text = "\n".join(rows)
    print(text)
    if markdown:
        with open(markdown, "w") as file:
            file.write(text + "\n")


def row(directory, name, count, runs):
    scratch = tempfile.mkdtemp(prefix="jackin-bench-", dir=directory)
    seconds, memory = {}, {}
    try:
        tree = os.path.join(scratch, "tree")
        trees.make(name, tree)
        changes = trees.Changes(tree)
        # So that every run finds the same in memory.
        tools.launch([os.environ["FLOOR"], "pack", tree, place(scratch)], dict(os.environ))
        for _ in range(runs):
            walk = float(tools.launch([os.environ["FLOOR"], "walk", tree], dict(os.environ)))
            seconds.setdefault("walk", []).append(walk)
            work = os.path.join(scratch, "work")
            os.makedirs(work)
            tool = tools.Jackin(tree, work)

            def step(name, words):
                took, peak, output = measure.measured(words, tool.env, work)
                seconds.setdefault(name, []).append(took)
                memory.setdefault(name, []).append(peak)
                return output

            tool.after_capture(0, step("first", tool.capture(0)))
            step("same", tool.capture(1))
            step("still", tool.diff_from(1))
            changes.make()
            step("changed", tool.capture(2))
            changes.back()
            shutil.rmtree(work)
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", scratch], check=False)
        shutil.rmtree(scratch)
    first, same, walk, changed, still = (statistics.median(seconds[key]) for key in ["first", "same", "walk", "changed", "still"])
    peaks = [f"{statistics.median(memory[key]) / 1024:.0f} MiB" for key in ["first", "same"]]
    cells = [
        f"{count:,}",
        f"{first:.3f} s",
        f"{first / count * 1e6:.1f} µs",
        f"{same:.3f} s",
        f"{same / count * 1e6:.2f} µs",
        f"{same / walk:.2f}×",
        f"{changed:.3f} s",
        f"{still:.3f} s",
        *peaks,
    ]
    return "| " + " | ".join(cells) + " |"


def place(scratch):
    made = os.path.join(scratch, "packed")
    os.makedirs(made)
    return made
