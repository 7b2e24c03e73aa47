"""``kernelet plugins lock``: writes down what runs here, or says what differs from what was written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelet.cli.plugin_options import add_plugin_options, given
from kernelet.config.plugins import LOCK_FILE

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Writes the plugins that run here and what they require directly: versions, and hashes of files and offers. The same
wheels make the same file in every environment. `kernelet run --locked` starts with nothing else.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    parser.description = DESCRIPTION
    parser.add_argument("-o", "--output", metavar="FILE", default=LOCK_FILE, help=f"the file (default: {LOCK_FILE})")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 and say what differs")
    add_plugin_options(parser, locked=False)


def run(options: argparse.Namespace) -> int:
    """Writes or checks the file.

    Raises:
        LockError: something cannot be locked, or what is installed is not what the file says.
    """
    from kernelet.engine.bootstrap import boot_kernel
    from kernelet.kernel.lock import read_lock, to_text

    file = Path(options.output)
    engine = given(options, locked=False)
    if options.check:
        read_lock(str(file), "-o FILE")
        boot_kernel(replace(engine, locked=str(file)))
        print(f"{file}: what is installed here is what it says")
        return 0
    check_place(file)
    lock = boot_kernel(engine).make_lock()
    text = to_text(lock)
    same = file.is_file() and file.read_bytes() == text.encode()
    if not same:
        write(file, text)
    print(f"{file}: {'unchanged, ' if same else ''}{lock.summary}")
    return 0


def check_place(file: Path) -> None:
    """Says before anything is done that a file cannot lie there.

    Raises:
        LockError: a folder of that name exists, or its own does not.
    """
    from kernelet.errors import LockError

    if file.is_dir():
        raise LockError(f"{file} is a folder: name a file in it, -o {file / LOCK_FILE}")
    if not file.parent.is_dir():
        raise LockError(f"the folder {file.parent} does not exist: make it, or name another file: -o FILE")


def write(file: Path, text: str) -> None:
    """Writes the lock file.

    Raises:
        LockError: the system refuses.
    """
    from kernelet.errors import LockError

    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LockError(f"{file} cannot be written ({error.strerror or error}): name another file: -o FILE") from error
