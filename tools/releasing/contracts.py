"""What a release of the core must look at: the contracts' versions, their surface, and what it should remove."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from releasing.commands import python
from releasing.errors import ReleaseError
from releasing.versions import Number

BASELINE = "tests/compat/released.json"
REFERENCE = "tests/support/reference.py"
STATE = """
import json
from kernelet.contracts.versions import API_VERSIONS
from kernelet.kernel.deprecations import DEPRECATIONS
print(json.dumps({
    "versions": {domain: str(version) for domain, version in API_VERSIONS.items()},
    "removals": [[str(one), one.removed] for one in DEPRECATIONS],
}))
"""


@dataclass(frozen=True)
class Contracts:
    """The core's contracts.

    Attributes:
        before: Versions of the last release, by domain.
        now: Versions here.
        removals: What is deprecated, and the release that removes it.
    """

    before: dict[str, str]
    now: dict[str, str]
    removals: list[tuple[str, str]]

    def check_removed(self, version: Number) -> None:
        """What this release was announced to remove is gone.

        Raises:
            ReleaseError: naming what is not.
        """
        late = [text for text, removed in self.removals if version >= padded(removed)]
        if late:
            raise ReleaseError(
                f"{version} was to remove: {'; '.join(late)}. Remove it with its entry of kernel/deprecations.py, or "
                "name a later release there"
            )


def contracts(root: Path) -> Contracts:
    """The contracts of a checkout.

    Raises:
        ReleaseError: the sources cannot be imported.
    """
    found = json.loads(python(root, "-c", STATE, failed="the core's contracts cannot be read"))
    before = json.loads((root / BASELINE).read_text(encoding="utf-8"))["versions"]
    return Contracts(before, found["versions"], [(text, removed) for text, removed in found["removals"]])


def check_surface(root: Path) -> None:
    """Every change of the surface has its bump, and the reference pages are up to date.

    Raises:
        ReleaseError: with the bump that is missing.
    """
    python(root, REFERENCE, failed="contracts changed without their versions, or pages are out of date")


def freeze(root: Path) -> None:
    """The surface as it is now is what later changes are held against.

    Raises:
        ReleaseError: a bump is missing.
    """
    python(root, REFERENCE, "--freeze", failed="the contracts' surface cannot be recorded")


def padded(text: str) -> Number:
    """``0.3`` as a release."""
    parts = [*map(int, text.split(".")), 0, 0]
    return Number(*parts[:3])
