"""The names of a new plugin, all made from the name of its distribution as docs/plugins/publishing.md says."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from packaging.utils import InvalidName, canonicalize_name

from kernelet.cli.usage import UsageError

PROJECT = "kernelet"
LONGEST = 50
"""Characters of a distribution's name; longer ones do not fit the lines of the files that are written."""
TESTS = frozenset({"test", "tests"})
"""Import names that many have for their own tests, Python too; ``sys.stdlib_module_names`` leaves them out."""


@dataclass(frozen=True, kw_only=True)
class Names:
    """What everything of a plugin is called.

    Attributes:
        distribution: What ``pip install`` takes: the name that was given, in its normal form.
        package: What ``import`` takes.
        plugin: The entry point, which is the plugin's name and its namespace of options: ``<kind>-<name>``.
        offer: What operators type in a flag: the plugin's name without its kind.
    """

    distribution: str
    package: str
    plugin: str
    offer: str

    @property
    def camel(self) -> str:
        """The offer's name as a class is called."""
        return "".join(word.capitalize() for word in self.offer.split("-"))


def names_of(kind: str, name: str, kinds: Collection[str]) -> Names:
    """Checks a name and makes the others of it.

    Args:
        kind: What the plugin brings, one of ``kinds``.
        name: Of the distribution.
        kinds: All kinds.

    Raises:
        UsageError: the name cannot be a distribution's, a module's or a plugin's.
    """
    try:
        if re.search("[-_.]{2}", name):
            raise InvalidName(name)
        distribution = canonicalize_name(name, validate=True)
    except InvalidName:
        raise UsageError(
            f"{name!r} cannot name a distribution: use ASCII letters and digits, with single '-', '_' or '.' between "
            f"them, as in acme-kernelet-{kind}"
        ) from None
    if len(distribution) > LONGEST:
        raise UsageError(f"{name!r} has {len(distribution)} characters; {LONGEST} are allowed")
    words = distribution.split("-")
    _check_owner(name, words, kinds)
    package = distribution.replace("-", "_")
    _check_package(name, package)
    offer = "-".join(_own_words(kind.split("-"), words))
    if not offer:
        raise UsageError(f"{name!r} says nothing but the kind: add a name of your own, as in acme-{kind}")
    return Names(distribution=distribution, package=package, plugin=f"{kind}-{offer}", offer=offer)


def other_kind(kind: str, names: Names, kinds: Collection[str]) -> str | None:
    """The kind that a name speaks of, where that is another one than the plugin's: what a slip looks like."""
    words = names.distribution.split("-")
    if _has(kind.split("-"), words):
        return None
    return max((other for other in kinds if _has(other.split("-"), words)), key=len, default=None)


def _check_owner(name: str, words: Sequence[str], kinds: Collection[str]) -> None:
    if words[0] != PROJECT:
        return
    taken = {kind.split("-")[0] for kind in kinds} | {"core", "models"}
    if len(words) == 1 or words[1] in taken:
        raise UsageError(
            f"{name!r} looks like a package of Kernelet's own maintainers: put your own name first, as in acme-{name}"
        )


def _check_package(name: str, package: str) -> None:
    if not package.isidentifier():
        raise UsageError(f"{name!r} makes the import name {package!r}, which starts with a digit: start with a letter")
    if keyword.iskeyword(package):
        raise UsageError(f"{name!r} makes the import name {package!r}, which is a keyword of Python: take another one")
    if package in TESTS:
        raise UsageError(f"{name!r} makes the import name {package!r}, which tests have: take another one")
    if package in sys.stdlib_module_names:
        raise UsageError(
            f"{name!r} makes the import name {package!r}, which is a module of Python's own: take another one"
        )


def _own_words(kind: Sequence[str], words: Sequence[str]) -> list[str]:
    """What a name says beside the kind: what follows ``kernelet``, or stands before it where nothing else is left."""
    before, after = list(words), list(words)
    if PROJECT in words:
        place = words.index(PROJECT)
        before, after = list(words[:place]), list(words[place + 1 :])
    return _without(kind, after) or _without(kind, before)


def _has(kind: Sequence[str], words: Sequence[str]) -> bool:
    return len(_without(kind, list(words))) < len(words)


def _without(kind: Sequence[str], words: list[str]) -> list[str]:
    """The words, less the first place where the kind stands in full."""
    for start in range(len(words) - len(kind) + 1):
        if words[start : start + len(kind)] == list(kind):
            return words[:start] + words[start + len(kind) :]
    return words
