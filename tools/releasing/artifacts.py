"""Wheel and sdist: built, and looked into."""

from __future__ import annotations

import configparser
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

from releasing.commands import run
from releasing.errors import ReleaseError


def build(root: Path, folder: Path, out: Path) -> tuple[Path, Path]:
    """Builds the sdist of a distribution, and of that its wheel, with the backend that it names.

    Raises:
        ReleaseError: with the build's output.
    """
    out.mkdir(parents=True, exist_ok=True)
    for old in out.iterdir():
        old.unlink()
    run(
        folder,
        *(sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check", "--outdir", str(out)),
        failed=f"{folder.relative_to(root)} does not build",
    )
    wheels, sdists = list(out.glob("*.whl")), list(out.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        raise ReleaseError(f"the build left {sorted(path.name for path in out.iterdir())}, not one wheel and one sdist")
    return wheels[0], sdists[0]


def check_wheel(wheel: Path, folder: Path, name: str, version: str) -> None:
    """Name, version, license, entry points, and every module of ``src`` with nothing else.

    Raises:
        ReleaseError: listing what is wrong.
    """
    source = folder / "src"
    (package,) = (path.name for path in source.iterdir() if (path / "__init__.py").is_file())
    wanted = {path.relative_to(source).as_posix() for path in source.rglob("*.py")} | {f"{package}/py.typed"}
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        if f"{info}/METADATA" not in names:
            raise ReleaseError(f"{wheel.name} holds no {info}: name or version differ")
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        points = archive.read(f"{info}/entry_points.txt").decode() if f"{info}/entry_points.txt" in names else ""
    problems = [f"it lacks {one}" for one in sorted(wanted - names)]
    others = {one for one in names if one.partition("/")[0] not in {package, info} or one.endswith(".pyc")}
    problems += [f"it holds {one}" for one in sorted(others)]
    problems += _metadata_problems(metadata, name, version)
    problems += _entry_point_problems(points, folder.name, is_library=f"{package}/plugin.py" not in wanted)
    if f"{info}/licenses/LICENSE" not in names:
        problems.append("it lacks its license")
    if problems:
        raise ReleaseError(f"{wheel.name} is wrong: {'; '.join(problems)}")


def check_sdist(sdist: Path, folder: Path, name: str, version: str) -> None:
    """Everything that is needed to build and test it again.

    Raises:
        ReleaseError: listing what it lacks.
    """
    top = f"{name.replace('-', '_')}-{version}"
    source = [path.relative_to(folder).as_posix() for path in (folder / "src").rglob("*.py")]
    wanted = {f"{top}/{one}" for one in (*source, "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "PKG-INFO")}
    with tarfile.open(sdist) as archive:
        missing = sorted(wanted - set(archive.getnames()))
    if missing:
        raise ReleaseError(f"{sdist.name} lacks {', '.join(missing)}")


def _metadata_problems(metadata: Message, name: str, version: str) -> list[str]:
    stated = (metadata["Name"], metadata["Version"])
    problems = [f"its metadata says {stated[0]} {stated[1]}"] if stated != (name, version) else []
    places = [line for line in metadata.get_all("Requires-Dist", []) if "@" in line]
    return problems + [f"it requires a place instead of a version: {line}" for line in places]


def _entry_point_problems(text: str, plugin: str, *, is_library: bool) -> list[str]:
    points = configparser.ConfigParser(delimiters="=")
    points.optionxform = str  # type: ignore[method-assign,assignment]
    points.read_string(text)
    group, name = ("console_scripts", "kernelet") if plugin == "core" else ("kernelet.plugins", plugin)
    found = list(points[group]) if points.has_section(group) else []
    wanted = [] if is_library and plugin != "core" else [name]
    return [] if found == wanted else [f"its entry points of {group} are {found}, not {wanted}"]
