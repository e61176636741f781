"""The trees that are measured: made by rule, always the same, or copied from cargo's unpacked sources."""

import os
import random
import shutil

SIZES = {"1k": 1_000, "5k": 5_000, "10k": 10_000, "100k": 100_000, "1m": 1_000_000}
WORDS = (
    "let mut self state return match error path entry bytes value index write read into from result "
    "option some none while loop break struct impl trait where public module import class function "
    "const static async await test assert string number vector table store record open close"
).split()


def make(name, root):
    """Makes the tree called `name` in the new directory `root`."""
    if name == "real":
        source = os.path.join(os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo")), "registry/src")
        if not os.path.isdir(source):
            raise SystemExit(f"there is no real tree: {source} does not exist; build any crate first")
        shutil.copytree(source, root, symlinks=True)
    elif name in SIZES:
        generate(SIZES[name], root)
    else:
        raise SystemExit(f"no tree is called {name!r}; there are {', '.join(SIZES)} and real")


def generate(count, root):
    """`count` files of source-like text, 20 a directory, three directories deep: 6 KB on average, a few large ones."""
    rng = random.Random(20261121)
    text = " ".join(
        rng.choice(WORDS) + (f"_{rng.randrange(10_000)}" if rng.random() < 0.3 else "") + ("\n" if rng.random() < 0.12 else "")
        for _ in range(60_000)
    ).encode()
    for number in range(count):
        if number % 20 == 0:
            part = number // 20
            directory = os.path.join(root, f"area{part // 400:02}", f"module{part // 20 % 20:02}", f"part{part % 20:02}")
            os.makedirs(directory)
        size = min(int(rng.lognormvariate(8.0, 1.2)), len(text) // 2)
        start = rng.randrange(len(text) - size)
        with open(os.path.join(directory, f"file{number:07}.rs"), "wb") as file:
            file.write(b"// file %d\n" % number + text[start : start + size])


def files(root):
    """Every regular file, sorted."""
    found = []
    for directory, _, names in os.walk(root):
        for name in names:
            path = os.path.join(directory, name)
            if os.path.isfile(path) and not os.path.islink(path):
                found.append(path)
    return sorted(found)


class Changes:
    """One file in a hundred gets a line more; `back` undoes that where a tool did not."""

    def __init__(self, root):
        self.kept = {}
        for path in files(root)[::100]:
            with open(path, "rb") as file:
                self.kept[path] = file.read()

    def one(self):
        """One file gets a line more."""
        path = sorted(self.kept)[len(self.kept) // 2]
        os.chmod(path, os.stat(path).st_mode | 0o200)
        with open(path, "ab") as file:
            file.write(b"// the only change\n")

    def make(self):
        for number, path in enumerate(self.kept):
            os.chmod(path, os.stat(path).st_mode | 0o200)
            with open(path, "ab") as file:
                file.write(b"// changed %d\n" % number)

    def back(self):
        """Gives how many had to be put back."""
        count = 0
        for path, bytes_before in self.kept.items():
            with open(path, "rb") as file:
                same = file.read() == bytes_before
            if not same:
                with open(path, "wb") as file:
                    file.write(bytes_before)
                count += 1
        return count
