"""CHANGELOG.md: its section of unreleased changes becomes the version's."""

from __future__ import annotations

import re

from releasing.errors import ReleaseError

HEADING = re.compile(r"^## .*$", re.MULTILINE)


def released(text: str, version: str, date: str) -> str:
    """The changelog with the version's section under its date.

    The section is ``## Unreleased``, ``## VERSION - unreleased``, or the version's with a date already.

    Raises:
        ReleaseError: there is no such section, two, or nothing in it.
    """
    mine = re.compile(
        rf"^## (?:\[?unreleased\]?|\[?{re.escape(version)}\]?(?: - .*)?)[ \t]*$", re.MULTILINE | re.IGNORECASE
    )
    found = list(mine.finditer(text))
    if not found:
        raise ReleaseError(f"CHANGELOG.md has no section for {version}: write what changed under `## Unreleased`")
    if len(found) > 1:
        titles = " and ".join(f"`{one[0].strip()}`" for one in found)
        raise ReleaseError(f"CHANGELOG.md has {titles}: put both into one section")
    start, end = found[0].span()
    following = HEADING.search(text, end)
    body = text[end : following.start() if following else len(text)]
    if not re.sub(r"^#+ .*$", "", body, flags=re.MULTILINE).strip():
        raise ReleaseError(f"CHANGELOG.md says nothing of {version}: write what changed under `{found[0][0].strip()}`")
    heading = found[0][0].strip()
    return text if re.search(r"\d{4}-\d\d-\d\d", heading) else f"{text[:start]}## {version} - {date}{text[end:]}"
