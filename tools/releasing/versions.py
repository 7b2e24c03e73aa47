"""Versions of distributions, and how far one must rise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from releasing.errors import ReleaseError


class Number(NamedTuple):
    """``X.Y.Z``."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Number:
        """Reads it.

        Raises:
            ReleaseError: another form, leading zeros included.
        """
        if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", text):
            raise ReleaseError(f"the version {text!r} is not of the form X.Y.Z")
        return cls(*map(int, text.split(".")))

    def __str__(self) -> str:
        return ".".join(map(str, self))


def check_order(version: Number, last: Number | None, stated: Number) -> None:
    """A version rises above the last release; the first may be the one that pyproject.toml has.

    Raises:
        ReleaseError: it does not.
    """
    if last is not None and version <= last:
        raise ReleaseError(f"{version} is not greater than the last release, {last}: choose a greater one")
    if version < stated:
        raise ReleaseError(f"{version} is smaller than the version in pyproject.toml, {stated}: choose a greater one")


def check_bump(version: Number, last: Number, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """The core's version rises with its contracts: a major with a major, a minor with a minor.

    Before 1.0 the minor is the place of both, as SemVer leaves it: a patch release changes no contract.

    Args:
        version: The release.
        last: The one before.
        before: Contract versions of that one, by domain.
        now: Contract versions of this one.

    Raises:
        ReleaseError: naming the contracts and the version that it needs at least.
    """
    risen = {domain: f"{domain} {before.get(domain, 'none')} -> {text}" for domain, text in now.items()}
    risen = {domain: text for domain, text in risen.items() if now[domain] != before.get(domain)}
    majors = [domain for domain in risen if domain in before and _major(now[domain]) > _major(before[domain])]
    least = last
    if risen:
        least = Number(last.major, last.minor + 1, 0)
    if majors and last.major:
        least = Number(last.major + 1, 0, 0)
    if version < least:
        why = ", ".join(risen[domain] for domain in (majors or risen))
        raise ReleaseError(f"{version} is too small a step from {last}: contracts rose ({why}); it needs {least}")


def _major(text: str) -> int:
    return int(text.partition(".")[0])
