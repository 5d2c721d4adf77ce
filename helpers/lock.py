"""A lock that processes of several users share through a file, freed when its holder ends."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Busy", "held", "take"]

LOOK_S = 0.05


class Busy(RuntimeError):
    """The lock was not free in time."""


@contextlib.contextmanager
def held(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock of `path` meanwhile; Busy when it takes more than `seconds` to get it."""
    handle = _opened(path)
    try:
        end = time.monotonic() + seconds
        while not _taken(handle):
            if time.monotonic() > end:
                raise Busy(f"{path} was held by others for {seconds:g} s")
            time.sleep(LOOK_S)
        yield
    finally:
        os.close(handle)


def _opened(path: Path) -> int:
    """The file, made by whoever comes first, for everybody. Without O_CREAT where it is there:
    Linux refuses that for another user's file in /tmp."""
    plain = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
    with contextlib.suppress(FileNotFoundError):
        return os.open(path, plain)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, plain | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return os.open(path, plain)
    with contextlib.suppress(OSError):
        os.chmod(path, 0o666)  # whatever the umask
    return handle


def _taken(handle: int) -> bool:
    """Try once to lock."""
    try:
        take(handle)
    except OSError:
        return False
    return True


def take(handle: int) -> None:
    """Lock an open file at once, until it is closed. BlockingIOError or PermissionError when
    another holds it, another OSError where the file system has no locks."""
    if os.name == "nt":
        import msvcrt

        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
