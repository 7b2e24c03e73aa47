"""The parts of a release that are decisions."""

from __future__ import annotations

import pytest
from releasing.changelog import released
from releasing.contracts import Contracts, padded
from releasing.edits import Edits
from releasing.errors import ReleaseError
from releasing.steps import with_version
from releasing.versions import Number, check_bump, check_order

DAY = "2026-05-04"
LOG = "# Changelog\n\nIntro.\n\n{}## 0.9.0 - 2026-01-01\n\n- Old.\n"


@pytest.mark.parametrize(
    "section, heading",
    [
        ("## Unreleased\n\n- New.\n\n", "## 1.0.0 - 2026-05-04"),
        ("## [Unreleased]\n\n### Added\n\n- New.\n\n", "## 1.0.0 - 2026-05-04"),
        ("## 1.0.0 - unreleased\n\n- New.\n\n", "## 1.0.0 - 2026-05-04"),
        ("## 1.0.0 - 2026-04-01\n\n- New.\n\n", "## 1.0.0 - 2026-04-01"),
    ],
)
def test_the_section_of_a_version(section, heading):
    text = LOG.format(section)
    expected = text.replace(section.splitlines()[0], heading)
    assert released(text, "1.0.0", DAY) == expected


@pytest.mark.parametrize(
    "section, error",
    [
        ("", "has no section for 1.0.0"),
        ("## 1.0.0.1 - unreleased\n\n- New.\n\n", "has no section for 1.0.0"),
        ("## Unreleased\n\n", "says nothing of 1.0.0"),
        ("## Unreleased\n\n### Added\n\n### Fixed\n\n", "says nothing of 1.0.0"),
        ("## Unreleased\n\n- New.\n\n## 1.0.0 - unreleased\n\n- New.\n\n", "put both into one section"),
    ],
)
def test_a_changelog_that_does_not_say_what_changed(section, error):
    with pytest.raises(ReleaseError, match=error):
        released(LOG.format(section), "1.0.0", DAY)


def test_the_first_version_may_be_the_one_that_is_stated():
    check_order(Number(0, 1, 0), None, Number(0, 1, 0))
    check_order(Number(0, 10, 0), Number(0, 9, 9), Number(0, 9, 9))
    for version, last in ((Number(0, 9, 9), Number(0, 9, 9)), (Number(0, 9, 10), Number(0, 10, 0))):
        with pytest.raises(ReleaseError, match="not greater than the last release"):
            check_order(version, last, Number(0, 0, 1))


@pytest.mark.parametrize("text", ["1", "1.0", "1.0.0rc1", "v1.0.0", "01.0.0", "1.0.0.0", "1.0.-1", ""])
def test_other_forms(text):
    with pytest.raises(ReleaseError, match="not of the form"):
        Number.parse(text)


NOW = {"op": "1.3", "cache": "2.0"}


@pytest.mark.parametrize(
    "last, before, least",
    [
        ("0.4.2", NOW, "0.4.2"),
        ("0.4.2", NOW | {"op": "1.2"}, "0.5.0"),
        ("0.4.2", NOW | {"cache": "1.9"}, "0.5.0"),
        ("1.4.2", NOW | {"op": "1.2"}, "1.5.0"),
        ("1.4.2", NOW | {"cache": "1.9"}, "2.0.0"),
        ("1.4.2", {"op": "1.3"}, "1.5.0"),  # a new domain adds
    ],
)
def test_the_core_rises_with_its_contracts(last, before, least):
    last, least = Number.parse(last), Number.parse(least)
    check_bump(least, last, before, NOW)
    for smaller in (Number(last.major, last.minor, last.patch + 1), Number(last.major, last.minor + 1, 0)):
        if smaller < least:
            with pytest.raises(ReleaseError, match=rf"it needs {least}"):
                check_bump(smaller, last, before, NOW)


def test_what_was_announced_to_go_has_gone():
    assert (padded("0.3"), padded("1"), padded("1.2.3")) == (Number(0, 3, 0), Number(1, 0, 0), Number(1, 2, 3))
    found = Contracts({}, {}, [("the thing", "0.3")])
    found.check_removed(Number(0, 2, 9))
    for version in (Number(0, 3, 0), Number(1, 0, 0)):
        with pytest.raises(ReleaseError, match="was to remove: the thing"):
            found.check_removed(version)


def test_only_the_projects_version_is_changed():
    text = '[tool.a]\nversion = "7"\n[project]\nname = "n"\nversion = "0.1.0"\n[project.b]\nversion = "9"\n'
    assert with_version(text, Number(1, 2, 3)) == text.replace('"0.1.0"', '"1.2.3"')
    for wrong in (
        '[project]\nname = "n"\ndynamic = ["version"]\n',
        '[project]\nname = "n"\n[tool.a]\nversion = "1.0"\n',
    ):
        with pytest.raises(ReleaseError, match="no line"):
            with_version(wrong, Number(1, 2, 3))


def test_edits_are_taken_back(tmp_path):
    kept, new, same = (tmp_path / name for name in ("kept", "new", "same"))
    kept.write_text("old")
    same.write_text("same")
    edits = Edits()
    edits.write(kept, "new")
    edits.write(new, "new")
    edits.watch(same)
    assert edits.paths == [kept, new]
    edits.restore()
    assert (kept.read_text(), new.exists(), same.read_text()) == ("old", False, "same")
