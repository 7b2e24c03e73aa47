"""The folder that is written: whole, or not there."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelet.errors import ConfigError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NO_ROOM_TEXT = tuple(f"os error {number}" for number in NO_ROOM)
"""As the library that writes tensors says it."""


@contextmanager
def new_folder(out: Path, least: int = 0) -> Iterator[Path]:
    """A folder beside ``out``, empty, that becomes ``out`` at the end; after any error it is gone.

    Args:
        out: Is not there yet, or an empty folder.
        least: Bytes that there must be room for.

    Raises:
        ConfigError: ``out`` holds something or cannot be made, or there is no room.
    """
    check_free(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
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
