"""A release from its checks to its tag."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from releasing import artifacts, changelog
from releasing.commands import python
from releasing.contracts import BASELINE, check_surface, contracts, freeze
from releasing.edits import Edits
from releasing.errors import ReleaseError
from releasing.repository import Repository
from releasing.versions import Number, check_bump, check_order

MATRIX = "tests/matrix/run.py"
PAGE = "docs/matrix.md"


@dataclass(frozen=True)
class Release:
    """One version of one package.

    Attributes:
        root: The checkout.
        package: Folder of packages/.
        version: The version to be.
        project: ``[project]`` of its pyproject.toml.
    """

    root: Path
    package: str
    version: Number
    project: dict[str, Any]

    @classmethod
    def of(cls, root: Path, package: str, version: str) -> Self:
        """Reads the package's state.

        Raises:
            ReleaseError: there is no such package, or the version has another form.
        """
        known = sorted(path.parent.name for path in root.glob("packages/*/pyproject.toml"))
        if package not in known:
            raise ReleaseError(f"there is no package {package!r}; there are {', '.join(known)}")
        text = (root / "packages" / package / "pyproject.toml").read_text(encoding="utf-8")
        return cls(root, package, Number.parse(version), tomllib.loads(text)["project"])

    @property
    def folder(self) -> Path:
        return self.root / "packages" / self.package

    @property
    def tag(self) -> str:
        return f"{self.package}-v{self.version}"

    @property
    def title(self) -> str:
        """Distribution and version."""
        return f"{self.project['name']} {self.version}"

    def run(self, *, dry: bool) -> None:
        """All of it; a dry run takes its edits back and neither commits nor tags.

        Raises:
            ReleaseError: it is refused; the tree is as it was.
        """
        repository, edits = Repository(self.root), Edits()
        self._check(repository)
        try:
            self._edit(edits)
            self._build()
            self._matrix(edits)
            if not dry:
                repository.commit(edits.paths, self.title)
        except BaseException:
            edits.restore()
            raise
        if dry:
            edits.restore()
            print(f"{self.title}: nothing stands in its way; this was a dry run, the tree is as it was")
            return
        repository.tag(self.tag, self.title)
        print(f"{self.title}: committed and tagged {self.tag}; nothing was pushed. Next:")
        print(f"  git push origin HEAD {self.tag}\n  upload {self._out}/*")

    def _check(self, repository: Repository) -> None:
        """Everything that can be said before a file is touched."""
        self._say("tree, version, contracts")
        repository.check_clean()
        last = repository.last(self.package)
        check_order(self.version, last, Number.parse(self.project["version"]))
        if self.package == "core":
            check_surface(self.root)
            found = contracts(self.root)
            found.check_removed(self.version)
            if last is not None:
                check_bump(self.version, last, found.before, found.now)

    def _edit(self, edits: Edits) -> None:
        self._say("version and changelog")
        notes = self.folder / "CHANGELOG.md"
        today = dt.datetime.now(tz=dt.UTC).date().isoformat()
        edits.write(notes, changelog.released(notes.read_text(encoding="utf-8"), str(self.version), today))
        project = self.folder / "pyproject.toml"
        edits.write(project, with_version(project.read_text(encoding="utf-8"), self.version))
        if self.package == "core":
            self._say("the contracts' surface is frozen")
            edits.watch(self.root / BASELINE)
            freeze(self.root)

    def _build(self) -> None:
        self._say("wheel and sdist")
        name, version = self.project["name"], str(self.version)
        wheel, sdist = artifacts.build(self.root, self.folder, self._out)
        artifacts.check_wheel(wheel, self.folder, name, version)
        artifacts.check_sdist(sdist, self.folder, name, version)
        print(f"  {wheel.name}, {sdist.name}")

    def _matrix(self, edits: Edits) -> None:
        self._say("matrix (minutes)")
        edits.watch(self.root / PAGE)
        python(self.root, MATRIX, failed="the matrix is red: mend the rows above first", shown=True)

    @property
    def _out(self) -> Path:
        return self.root / "dist" / self.tag

    def _say(self, text: str) -> None:
        print(f"{self.title}: {text}", flush=True)


def with_version(text: str, version: Number) -> str:
    """A pyproject.toml with another version of its project.

    Raises:
        ReleaseError: it has no static version.
    """
    head, mark, rest = text.partition("[project]\n")
    changed, count = re.subn(r'^version = "[^"]*"$', f'version = "{version}"', rest, count=1, flags=re.MULTILINE)
    if not count or tomllib.loads(head + mark + changed)["project"].get("version") != str(version):
        raise ReleaseError('pyproject.toml has no line `version = "..."` in [project]')
    return head + mark + changed
