"""Facts of the environment that a report of a problem should have."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, distribution, version

from packaging.requirements import InvalidRequirement, Requirement

from kernelet.config import env
from kernelet.contracts.versions import API_VERSIONS
from kernelet.kernel.compat import CORE, oldest_major


def environment() -> dict[str, str]:
    """Labels and values. Of variables the names only: their values may be secrets."""
    served = ", ".join(
        f"{domain} {now}" + (f" and v{oldest_major(now)}" if oldest_major(now) != now.major else "")
        for domain, now in sorted(API_VERSIONS.items())
    )
    return {
        "core": f"{CORE} {version(CORE)} in {distribution(CORE).locate_file('')}",
        "contracts": served,
        "python": f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})",
        "platform": f"{platform.platform()}, {platform.machine()}, {os.cpu_count()} CPUs",
        "variables": ", ".join(env.variables()) or "none",
        "libraries": ", ".join(_libraries()),
    }


def _libraries() -> list[str]:
    """What the core is installed with, for people who compare two machines."""
    names = [line for line in distribution(CORE).requires or () if ";" not in line]
    return [f"{Requirement(name).name} {version(Requirement(name).name)}" for name in names]


def unmet(requirements: tuple[str, ...]) -> list[str]:
    """Requirements of a plugin that do not hold here, in words."""
    found = []
    for line in requirements:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue  # the check of metadata says so
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            here = version(requirement.name)
        except PackageNotFoundError:
            found.append(f"it requires {requirement.name}{requirement.specifier}, which is not installed")
            continue
        except (KeyError, UnicodeError):  # damaged metadata, which is a finding of its own
            continue
        if not here:
            continue
        if not requirement.specifier.contains(here, prereleases=True):
            found.append(f"it requires {requirement.name}{requirement.specifier}, here is {here}")
    return found
