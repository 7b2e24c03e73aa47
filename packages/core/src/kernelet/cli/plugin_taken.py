"""Names that a new plugin cannot have here: its wheel would replace what somebody else installed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions, requires
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kernelet.cli.plugin_name import Names
from kernelet.cli.usage import UsageError

CORE = "kernelet-core"
GROUP = "kernelet.plugins"


def check_free(names: Names, dependencies: Iterable[str]) -> None:
    """Refuses what the core or a new package requires, and what is installed and is not the plugin itself.

    Args:
        names: Of the new plugin.
        dependencies: What new packages require beside the core.

    Raises:
        UsageError: the name is taken.
    """
    needed = {canonicalize_name(Requirement(one).name) for one in (*(requires(CORE) or ()), *dependencies)}
    if names.distribution in needed:
        raise UsageError(
            f"{names.distribution!r} is a distribution that Kernelet or its plugins require, which yours would "
            f"replace: put a name of your own first, as in acme-{names.distribution}"
        )
    if is_installed(names):
        return
    if is_distribution(names.distribution):
        raise UsageError(
            f"{names.distribution!r} is installed here and is another distribution, which yours would replace: put a "
            f"name of your own first, as in acme-{names.distribution}"
        )
    if not is_import(names.package):
        return
    imports = {name.lower(): sorted(set(owners)) for name, owners in packages_distributions().items()}
    if names.package in imports:
        raise UsageError(
            f"{names.distribution!r} makes the import name {names.package!r}, which {', '.join(imports[names.package])}"
            f" installed here has: put a name of your own first, as in acme-{names.distribution}"
        )


def is_distribution(name: str) -> bool:
    """Whether a distribution is installed."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def is_import(package: str) -> bool:
    """Whether something has an import name, in any case: some file systems do not tell two cases apart.

    Who has it takes a third of a second to find, so that is asked later.
    """
    folders = [folder for folder in map(Path, sys.path) if folder.is_dir()]
    found = (entry.name.partition(".")[0].lower() for folder in folders for entry in folder.iterdir())
    return package in found or find_spec(package) is not None


def is_installed(names: Names) -> bool:
    """Whether the distribution that is installed is this plugin, written before."""
    try:
        points = distribution(names.distribution).entry_points.select(group=GROUP)
    except PackageNotFoundError:
        return False
    return any(point.value.partition(".")[0] == names.package for point in points)
