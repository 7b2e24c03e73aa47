"""The checkout as git has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from releasing.commands import run
from releasing.errors import ReleaseError
from releasing.versions import Number


class Repository:
    """A checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def check_clean(self) -> None:
        """Nothing is changed, staged or new.

        Raises:
            ReleaseError: naming what is.
        """
        changed = self._git("status", "--porcelain").splitlines()
        if changed:
            more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
            raise ReleaseError(
                f"the tree has changes ({', '.join(line[3:] for line in changed[:5])}{more}): commit or remove them"
            )

    def last(self, package: str) -> Number | None:
        """The highest version with a tag of that package; None: none was released."""
        form = re.compile(re.escape(package) + r"-v(\d+\.\d+\.\d+)")
        found = [match[1] for tag in self._git("tag", "--list").splitlines() if (match := form.fullmatch(tag))]
        return max(map(Number.parse, found), default=None)

    def commit(self, paths: Sequence[Path], message: str) -> None:
        """Commits these paths.

        Raises:
            ReleaseError: with what git says; nothing is staged.
        """
        names = [str(path.relative_to(self.root)) for path in paths]
        try:
            self._git("add", "--", *names)
            self._git("commit", "--quiet", "--message", message, "--", *names)
        except ReleaseError:
            self._git("reset", "--quiet", "--", *names)
            raise

    def tag(self, tag: str, message: str) -> None:
        """Names the last commit."""
        self._git("tag", "--annotate", tag, "--message", message)

    def _git(self, *arguments: str) -> str:
        return run(self.root, "git", *arguments, failed=f"git {arguments[0]} failed")
