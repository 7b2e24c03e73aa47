"""The folder that is written: whole, or not there."""

from __future__ import annotations

import errno
import fcntl
import glob
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelet.errors import ConfigError

logger = logging.getLogger("kernelet.quant_tools")

UNFINISHED = ".unfinished-"

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NO_ROOM_TEXT = tuple(f"os error {number}" for number in NO_ROOM)
"""As the library that writes tensors says it."""


@contextmanager
def new_folder(out: Path, least: int = 0) -> Iterator[Path]:
    """A folder beside ``out``, empty, that becomes ``out`` at the end; after any error it is gone.

    What runs of the same ``out`` that were killed left there is gone too: who writes holds a lock on its folder.

    Args:
        out: Is not there yet, or an empty folder.
        least: Bytes that there must be room for.

    Raises:
        ConfigError: ``out`` holds something or cannot be made, or there is no room.
    """
    check_free(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder, lock = _begin(out)
    except OSError as error:
        raise ConfigError(f"--out {out}: it cannot be made: {error.strerror}") from error
    try:
        free = shutil.disk_usage(folder).free
        if free < least:
            raise ConfigError(
                f"--out {out}: {free // 10**6} MB are free there, the checkpoint needs at least {least // 10**6}: "
                f"make room, or name another place"
            )
        yield folder
        folder.chmod(0o777 & ~_umask())
        folder.replace(out)
    except Exception as error:
        if is_no_room(error):
            raise ConfigError(f"--out {out}: there is no room left: make some, or name another place") from error
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """What else would end this process at once ends it as an error does, with what that cleans up. In the main thread.

    Raises:
        SystemExit: SIGTERM or SIGHUP came.
    """

    def end(number: int, _: object) -> None:
        logger.warning("ended by %s: nothing is left of it", signal.Signals(number).name)
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _begin(out: Path) -> tuple[Path, int]:
    """An empty folder beside ``out``, and its lock; those that nobody holds are removed."""
    beside = _locked(out.parent)  # or a new one could be removed before it is locked
    assert beside is not None
    try:
        for path in out.parent.glob(f".{glob.escape(out.name)}{UNFINISHED}*"):
            if path.is_dir() and (lock := _locked(path, wait=False)) is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}{UNFINISHED}", dir=out.parent))
        lock = _locked(folder)
        assert lock is not None
        return folder, lock
    finally:
        os.close(beside)


def _locked(folder: Path, *, wait: bool = True) -> int | None:
    """A descriptor of the folder with its lock, which ends with it; None: somebody else has it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:  # of a file system without locks
        if not wait:
            os.close(descriptor)
            return None
    return descriptor


def check_free(out: Path) -> None:
    """Nothing is overwritten.

    Raises:
        ConfigError: something is there.
    """
    try:
        if out.exists() and not out.is_dir():
            raise ConfigError(f"--out {out} is a file: name a folder")
        if out.exists() and any(out.iterdir()):
            raise ConfigError(f"--out {out} is not empty: name another folder, or empty it")
    except OSError as error:
        raise ConfigError(f"--out {out} cannot be read: {error.strerror}") from error


def is_no_room(error: BaseException) -> bool:
    """Whether a disk or a quota is full."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in NO_ROOM
    return any(text in str(error) for text in NO_ROOM_TEXT)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
