"""SHA-256 over what a plugin, or a distribution that it requires, has on disk. Where that is never counts."""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import importlib.machinery
import importlib.util
import inspect
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path

from kernelet.kernel.discovery import PLUGIN_GROUP, Candidate

COMPILED = ".pyc"
INSTALLERS_OWN = (".dist-info", ".egg-info", ".pth")
"""What an installer writes by itself, each in another way."""


@dataclass(frozen=True)
class Recorded:
    """A file and what an installer recorded of it.

    Attributes:
        path: Where it is.
        sha256: Its hash in hexadecimal; empty: not recorded, or the file has another size by now.
    """

    path: str
    sha256: str


def content_hash(candidate: Candidate, plugin: object = None) -> str:
    """The hash of a plugin's files: what its wheel installed or, in a checkout, its package; empty: it has none.

    A module that lies in its package without being recorded counts too, as it could be imported.
    """
    files = {name: file.path for name, file in _recorded(candidate.metadata).items()}
    files = files | _unrecorded(files) if files else _package_files(candidate, plugin)
    return _total({name: _sha256(path) for name, path in files.items()})


def distribution_hash(distribution: Distribution) -> str:
    """The hash of a distribution's files, equal to ``content_hash`` where nobody changed them; empty: none are known.

    It may be gigabytes: a file that still has the size that the installer recorded is not read.
    """
    if recorded := _recorded(distribution):
        return _total({name: file.sha256 or _sha256(file.path) for name, file in recorded.items()})
    points = distribution.entry_points
    tops = [point.value for group in (PLUGIN_GROUP, "console_scripts") for point in points.select(group=group)]
    tops += [*(distribution.read_text("top_level.txt") or "").split(), distribution.name.replace("-", "_")]
    files = next((found for top in tops if (found := _top_files(top))), {})
    return _total({name: _sha256(path) for name, path in files.items()})


def _total(hashes: dict[str, str]) -> str:
    lines = "".join(f"{name}\0{hashes[name]}\n" for name in sorted(hashes))
    return hashlib.sha256(lines.encode()).hexdigest() if hashes else ""


def _sha256(path: str) -> str:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - hundreds of small files, as below
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files_below(folder: str) -> Iterator[tuple[str, str]]:
    """Name, which starts with the folder's own, and path of every file that is not compiled."""
    start = len(os.path.dirname(folder)) + 1  # noqa: PTH120 - as above
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for file in files:
            path = os.path.join(parent, file)  # noqa: PTH118
            if not file.endswith(COMPILED) and os.path.isfile(path):  # noqa: PTH113
                yield path[start:].replace(os.sep, "/"), path


def _recorded(distribution: Distribution | None) -> dict[str, Recorded]:
    """Files of RECORD but the metadata itself, which differs by installer; none for an editable installation."""
    text = distribution.read_text("RECORD") if distribution else None
    if distribution is None or not text or is_editable(distribution):
        return {}
    root = str(distribution.locate_file(""))
    found = {}
    for row in csv.reader(text.splitlines()):
        name, expected, size = [*row, "", "", ""][:3]
        top = name.partition("/")[0]
        if not name or top == ".." or top.endswith(INSTALLERS_OWN) or name.endswith(COMPILED):
            continue
        path = os.path.join(root, name)  # noqa: PTH118 - thousands of files: a Path each would take a second
        with contextlib.suppress(FileNotFoundError):
            same = size == str(os.stat(path).st_size)  # noqa: PTH116
            found[name] = Recorded(path, _hexadecimal(expected) if same else "")
    return found


def is_editable(distribution: Distribution) -> bool:
    """Whether it was installed in place (PEP 610): its RECORD then lists an import hook and what was compiled."""
    text = distribution.read_text("direct_url.json")
    return bool(text and json.loads(text).get("dir_info", {}).get("editable"))


def _hexadecimal(recorded: str) -> str:
    method, _, value = recorded.partition("=")
    return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex() if method == "sha256" else ""


def _unrecorded(files: dict[str, str]) -> dict[str, str]:
    """Modules in the recorded top-level packages that no installer put there."""
    suffixes = tuple(suffix for suffix in importlib.machinery.all_suffixes() if suffix != COMPILED)
    tops = [name for name in files if name.endswith("/__init__.py") and name.count("/") == 1]
    return {
        name: path
        for folder in (os.path.dirname(files[top]) for top in tops)  # noqa: PTH120
        for name, path in _files_below(folder)
        if name.endswith(suffixes) and name not in files
    }


def _package_files(candidate: Candidate, plugin: object) -> dict[str, str]:
    if candidate.file:
        return {Path(candidate.file).name: candidate.file}
    if candidate.entry_point:
        return _top_files(candidate.entry_point)
    try:
        source = inspect.getsourcefile(plugin if inspect.ismodule(plugin) else type(plugin))
    except TypeError:  # written at a prompt
        source = None
    return {Path(source).name: source} if source else {}


def _top_files(entry_point: str) -> dict[str, str]:
    """All files of the top-level package, or the one of the top-level module, that an import string starts with."""
    spec = importlib.util.find_spec(entry_point.partition(":")[0].partition(".")[0])
    if spec is None:
        return {}
    folders = list(spec.submodule_search_locations or ())
    if not folders:
        return {Path(spec.origin).name: spec.origin} if spec.origin else {}
    return {name: path for folder in folders for name, path in _files_below(folder)}
