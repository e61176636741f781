"""Every tool of `mcp`, called by the official client of the protocol, in both of its eras.

    python3 client.py PROGRAM PROJECT

PROJECT lies in a workspace that is captured, whose agent may restore checkpoints, and in which one checkpoint is kept at a time
beside the newest. Prints what it did;
the first thing that is wrong ends it with a traceback.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from mcp import Client, MCPError, StdioServerParameters

PROGRAM, PROJECT = sys.argv[1], Path(sys.argv[2])
WRONG = [".secret", "a/b", "--output=/x", "two words", "", "../up", "-", "s1;rm -rf ."]


def server(*arguments):
    return StdioServerParameters(
        command=PROGRAM,
        args=["recovery", "mcp", *arguments],
        cwd=str(PROJECT),
        env={"HOME": os.environ["HOME"], "PATH": os.environ["PATH"]},
    )


def text(result):
    return "\n".join(part.text for part in result.content)


async def good(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, (tool, arguments, text(result))
    return result


async def bad(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert result.is_error and text(result), (tool, arguments, text(result))
    return text(result)


def tree():
    files = (path for path in sorted(PROJECT.rglob("*")) if path.is_file())
    return {str(path.relative_to(PROJECT)): path.read_bytes() for path in files}


async def through_every_tool(mode, tag):
    async with Client(server(), mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert len(tools) == 8, sorted(tools)
        assert tools["snapshot_list"].annotations.read_only_hint
        assert tools["snapshot_restore"].annotations.destructive_hint
        assert not any(tool.annotations.open_world_hint for tool in tools.values())

        made = await good(client, "snapshot_create", name=f"s{tag}", description="the beginning")
        first = made.structured_content["snapshot"]
        assert text(await good(client, "snapshot_diff", name=f"s{tag}")) == "no differences"
        before = tree()
        (PROJECT / "a").write_text("changed\n")
        (PROJECT / "new").write_text("new\n")
        differing = await good(client, "snapshot_diff", name=first)
        assert "+changed" in text(differing) and differing.structured_content["files_changed"] == 2

        plan = await good(client, "snapshot_restore", name=first, dry_run=True)
        assert text(plan).startswith("would restore") and tree() != before
        restored = await good(client, "snapshot_restore", name=f"s{tag}")
        assert text(restored).startswith(f"restored snapshot s{tag} (2 file(s) changed):"), text(restored)
        assert tree() == before

        checkpoint = (await good(client, "session_checkpoint", label="words and more")).structured_content
        (PROJECT / "a").write_text("again\n")
        went = json.loads(text(await good(client, "session_restore")))
        assert went == {"restored_to": checkpoint["checkpoint_id"], "files_changed": 1}, went
        assert tree() == before
        found = json.loads(text(await good(client, "session_checkpoints")))["checkpoints"]
        assert found[0]["id"] == checkpoint["checkpoint_id"] and found[0]["label"] == "words and more"

        fork = await good(client, "snapshot_fork", branch=f"b{tag}")
        reference = {key: fork.structured_content[key] for key in ("provider", "id", "snapshot", "mounts")}
        copy = Path(reference["mounts"][0]["path"])
        assert (copy / "a").read_bytes() == before["a"] and PROJECT not in copy.parents
        for tool in ("snapshot_diff", "snapshot_restore", "snapshot_fork"):
            await good(client, tool, name=reference)
            await good(client, tool, name=json.dumps(reference))

        for name in WRONG:
            for tool in ("snapshot_create", "snapshot_diff", "snapshot_restore", "snapshot_fork"):
                await bad(client, tool, name=name)
            await bad(client, "session_restore", checkpoint_id=name)
        for tool in ("snapshot_restore", "snapshot_diff", "snapshot_fork"):
            await bad(client, tool, name="sn-00000000")
        await bad(client, "snapshot_restore", name="baseline")
        await bad(client, "snapshot_create", nome="s9")
        try:
            await client.call_tool("snapshot_prune", {})
            raise AssertionError("there is no such tool")
        except MCPError:
            pass

        # Two more, and the first is given up.
        for number in range(2):
            (PROJECT / "a").write_text(f"{number}\n")
            await good(client, "snapshot_create", name=f"more{tag}{number}")
        assert "was pruned" in await bad(client, "snapshot_restore", name=f"s{tag}")
        await good(client, "snapshot_restore", name=f"more{tag}0")
        assert (PROJECT / "a").read_text() == "0\n"
    print(f"every tool, {mode}")


async def two_at_once():
    async def one(who):
        async with Client(server()) as client:
            for number in range(5):
                (PROJECT / who).write_text(f"{number}\n")
                await good(client, "snapshot_create", name=f"{who}{number}")
                await good(client, "snapshot_diff")
                await good(client, "snapshot_list")

    await asyncio.gather(one("x"), one("y"))
    print("two clients at once")


async def only_reading():
    async with Client(server("--read-only")) as client:
        tools = sorted(tool.name for tool in (await client.list_tools()).tools)
        assert tools == ["session_checkpoints", "snapshot_diff", "snapshot_list"], tools
        for tool in ("snapshot_create", "session_checkpoint", "session_restore", "snapshot_fork"):
            await bad(client, tool)
    print("only reading")


async def main():
    await through_every_tool("legacy", 1)
    await through_every_tool("2026-07-28", 2)
    await through_every_tool("auto", 3)
    await two_at_once()
    await only_reading()


asyncio.run(main())
