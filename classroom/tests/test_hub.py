"""Twelve learners on one hub at once: each server started, a lesson run, an exercise checked."""

import asyncio
import os
import shutil
import subprocess
import time
from pathlib import Path

import nbformat
import pytest
from hub import running_hub

from helpers import exercise

pytest.importorskip("jupyterhub", reason="needs the extra: pip install -e '.[classroom]'")
pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="JupyterHub does not run on Windows"),
    pytest.mark.skipif(not shutil.which("git"), reason="nbgitpuller needs git, and there is none"),
]

ROOT = Path(__file__).resolve().parent.parent.parent
USERS = [f"learner{k:02}" for k in range(1, 13)]
LESSON = "03_v1_block_shared"
EXERCISE = "v1/block_max"
ROOM = 1.5e9  # bytes a user may take; 12 of them fit in 24 GB with room to spare


@pytest.fixture
def repository(tmp_path):
    """The lessons as a git repository, which nbgitpuller fetches from."""
    folder = tmp_path / "lessons"
    shutil.copytree(ROOT / "notebooks", folder / "notebooks")
    author = ["-c", "user.name=class", "-c", "user.email=class@localhost"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*author, "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder.as_uri()


async def learner(hub, user, repository, start, seconds):
    """One user's hour in short; notes the seconds of each part in `seconds`."""

    async def timed(what, awaited):
        began = time.perf_counter()
        result = await awaited
        seconds[user, what] = time.perf_counter() - began
        return result

    async def lesson(kernel):
        for cell in nbformat.read(ROOT / "notebooks" / f"{LESSON}.ipynb", as_version=4).cells:
            if cell.cell_type == "code":
                await kernel.run(cell.source)

    await start.wait()
    await timed("spawn", hub.spawn(user))
    await timed("fetch", hub.pull(user, repository, "lessons"))
    async with hub.kernel(user, "lessons/notebooks") as kernel:
        await timed("lesson", lesson(kernel))
        await kernel.run("from helpers import exercise")
        answer = f"%%exercise {EXERCISE}\n{exercise.load(EXERCISE).solution}"
        said = await timed("check", kernel.run(answer))
        where = await kernel.run("from helpers import device; print(device.name())")
    return said, where


async def together(hub, repository):
    """All users at once: (what each saw, seconds of each part, bytes of each)."""
    await hub.ready()
    start, seconds = asyncio.Event(), {}
    tasks = [asyncio.create_task(learner(hub, user, repository, start, seconds)) for user in USERS]
    await asyncio.sleep(0)
    start.set()
    seen = await asyncio.gather(*tasks)
    return seen, seconds, hub.memory()


def test_twelve_learners_at_once(tmp_path, repository):
    """Each gets a server, the lessons, a lesson run through, and a check that passes, without a
    GPU; memory a user and the slowest times are reported."""
    folder = tmp_path / "hub"
    folder.mkdir()
    began = time.perf_counter()
    with running_hub(folder) as hub:
        seen, seconds, memory = asyncio.run(together(hub, repository))
    print(f"\n{len(USERS)} learners at once, {time.perf_counter() - began:.0f} s in all")
    for part in ("spawn", "fetch", "lesson", "check"):
        times = sorted(seconds[user, part] for user in USERS)
        print(f"  {part:7} slowest {times[-1]:6.1f} s, median {times[len(times) // 2]:6.1f} s")
    largest = max(memory.values())
    print(f"  memory a user: at most {largest / 1e6:.0f} MB, all {sum(memory.values()) / 1e6:.0f}")
    for said, where in seen:
        assert f"{EXERCISE}: passed" in said
        assert "simulat" in where.lower()
    assert memory.keys() == set(USERS)
    assert largest < ROOM
