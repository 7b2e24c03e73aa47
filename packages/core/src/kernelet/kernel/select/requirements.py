"""Whether what an offer needs from other distributions is installed; reads metadata, and imports nothing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from packaging.requirements import Requirement


def missing_requirements(requirements: Sequence[str]) -> str:
    """Which requirements no installed distribution meets, in one line with what to do; empty if none.

    Args:
        requirements: As PEP 508 writes them.
    """
    reasons = [reason for text in requirements if (reason := _unmet(Requirement(text)))]
    return "; ".join(reasons)


def _unmet(wanted: Requirement) -> str:
    if wanted.marker is not None and not wanted.marker.evaluate():
        return ""
    asked = f"{wanted.name}{wanted.specifier}"
    try:
        found = version(wanted.name)
    except PackageNotFoundError:
        return f"needs {asked}, which is not installed"
    if wanted.specifier.contains(found, prereleases=True):
        return ""
    return f"needs {asked}, here is {found}"
