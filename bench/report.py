"""The measured numbers as one markdown table."""

from dataclasses import dataclass, field

# Which floor a step is held against.
FLOORS = {
    "cold": "pack",
    "unchanged": "walk",
    "one": "walk",
    "changed": "walk",
    "still": "walk",
    "diff": "walk",
    "dry": "walk",
    "noop": "walk",
    "to": "write",
    "gone": "write",
}
FLOOR_WORDS = {
    "walk": "walk: list and stat everything",
    "pack": "pack: read everything, zstd -1",
    "write": "write: create and write the same files",
}


@dataclass
class About:
    """What was measured where."""

    tree: str
    files: int
    bytes: int
    runs: int
    machine: str
    versions: list = field(default_factory=list)
    least_memory: int = 0


def row(cells):
    return "| " + " | ".join(cells) + " |"


def times(ours, theirs):
    """Ours over theirs: above 1 we are slower or larger, below 1 the other one is."""
    ratio = ours / theirs if theirs else 0
    return f"{ratio:.1f}×" if ratio >= 10 else f"{ratio:.2f}×"


def seconds(value):
    return f"{value:.2f} s" if value >= 0.1 else f"{value * 1000:.0f} ms"


def kibibytes(value):
    return f"{value / 2**10:.1f} KiB"


def mebibytes(value):
    return f"{value / 2**20:.1f} MiB"


def markdown(about, steps, names, results, median):
    ours, peers = names[0], names[1:]

    def of(table, tool, step):
        found = table.get((tool, step))
        return median(found) if found else None

    lines = [
        f"Tree `{about.tree}`: {about.files:,} files, {mebibytes(about.bytes)}. Medians of {about.runs} runs. {about.machine}.",
        "",
        "Versions: " + "; ".join(about.versions) + ".",
        "",
        f"The second column is {ours}. The others say how much of their time, memory or space ours is: above 1 ours is",
        "slower or larger, below 1 the other one is. In brackets: what the other one needed.",
        "",
        row(["", ours, "floor", *peers]),
        row(["---", "--:", "--:", *["--:" for _ in peers]]),
    ]

    def line(title, table, step, shown, floor):
        mine = of(table, ours, step)
        if mine is None:
            return
        cells = [title, shown(mine)]
        for other in [floor, *[of(table, peer, step) for peer in peers]]:
            cells.append(f"{times(mine, other)} ({shown(other)})" if other else "–")
        lines.append(row(cells))

    for step, title in steps:
        line(title, results.seconds, step, seconds, of(results.seconds, "floor", FLOORS.get(step, "")))
    def memory(kib):
        # Below this the measuring process itself is seen.
        least = kib <= about.least_memory * 1.05
        return ("under " if least else "") + mebibytes(kib * 1024)

    for step, title in [("cold", "memory, first capture"), ("unchanged", "memory, nothing changed"), ("restore", "memory, restore"), ("to", "memory, into an empty directory"), ("gone", "memory, everything deleted")]:
        line(title, results.memory, step, memory, None)
    line("store after the first capture", results.sizes, "cold", mebibytes, of(results.sizes, "floor", "pack"))
    growth = {}
    for before, after in [("cold", "unchanged"), ("unchanged", "one")]:
        for name in names:
            sizes = zip(results.sizes.get((name, before), []), results.sizes.get((name, after), []))
            growth[(name, after)] = [later - earlier for earlier, later in sizes]
    line("store, added by an unchanged capture", growth, "unchanged", kibibytes, None)
    line("store, added by one changed file", growth, "one", kibibytes, None)
    line("store after all four", results.sizes, "changed", mebibytes, None)

    floors = [f"{words} {seconds(of(results.seconds, 'floor', name))}" for name, words in FLOOR_WORDS.items()]
    lines += [
        "",
        "Every time ends when what was written is on the disk. Floors, on all cores, nothing kept; only what `write` wrote is synced: " + "; ".join(floors) + ". Memory is the",
        f"peak of a tool's largest process; less than {mebibytes(about.least_memory * 1024)} cannot be seen.",
    ]
    if results.notes:
        lines += ["", *[f"- {note}" for note in results.notes]]
    return "\n".join(lines)
