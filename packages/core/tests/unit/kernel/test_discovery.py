from __future__ import annotations

import sys

import pytest

from kernelet.kernel.discovery import Candidate, Discovery, discover

ENTRY_POINTS = """\
[kernelet.plugins]
{0} = {0}_module.plugin

[kernelet.api]
op = kernelet.contracts.op:v1
attention = kernelet.contracts.attention:v1

[console_scripts]
{0} = {0}_module:main
"""


def test_metadata_is_recorded_sorted_and_nothing_is_imported(distributions):
    for name in ("zeta", "alpha", "mid"):
        distributions.write(
            name,
            version="2.5",
            metadata="Requires-Dist: kernelet-core>=0.1\nRequires-Dist: Foo_Bar; extra == 'x'\n",
            entry_points=ENTRY_POINTS.format(name),
            files={f"{name}_module/plugin.py": "raise SystemExit"},
        )
    distributions.write("other", entry_points="[console_scripts]\nx = y:z\n")
    found = discover([str(distributions.folder)])
    assert [c.name for c in found.candidates] == ["alpha", "mid", "zeta"]
    candidate = found.candidates[0]
    assert (candidate.distribution, candidate.version) == ("alpha", "2.5")
    assert candidate.entry_point == "alpha_module.plugin"
    assert candidate.path == str(distributions.folder)
    assert candidate.requirements == ("kernelet-core>=0.1", "Foo_Bar; extra == 'x'")
    assert candidate.api == (("attention", "kernelet.contracts.attention:v1"), ("op", "kernelet.contracts.op:v1"))
    assert candidate.domains == {"attention", "op"}
    assert not {"alpha_module", "mid_module", "zeta_module"} & sys.modules.keys()


def test_sys_path_is_the_default(distributions):
    distributions.write("here", entry_points=ENTRY_POINTS.format("here"))
    assert "here" in {c.name for c in discover().candidates}


def test_two_distributions_of_one_name_are_both_found(distributions):
    for name in ("b-dist", "a-dist"):
        distributions.write(name, entry_points=ENTRY_POINTS.format("same"))
    assert [c.distribution for c in discover([str(distributions.folder)]).candidates] == ["a-dist", "b-dist"]


@pytest.mark.parametrize(
    "requirements, names",
    [
        (("Foo_Bar>=1", "kernelet-core"), {"foo-bar", "kernelet-core"}),
        (("foo; extra == 'test'",), set()),
        (("foo; python_version >= '3'",), {"foo"}),
        (("foo; python_version < '3'",), set()),
        (("not a requirement!!",), set()),
    ],
)
def test_required_distributions(requirements, names):
    candidate = Candidate(name="x", entry_point="x", distribution="x", requirements=requirements)
    assert candidate.required_distributions() == names


@pytest.mark.parametrize("as_file", [False, True])
def test_egg_info(tmp_path, as_file):
    """A folder with its requirements in a file of their own, as setuptools leaves it, or one file, which has none."""
    text = "Metadata-Version: 2.1\nName: acme-old\nVersion: 1.5\n\nRequires-Dist: is only text here\n"
    info = tmp_path / "acme_old.egg-info"
    if as_file:
        info.write_text(text)
        assert discover([str(tmp_path)]) == Discovery(candidates=())
        return
    info.mkdir()
    (info / "PKG-INFO").write_text(text)
    (info / "requires.txt").write_text("kernelet-core>=0.1\n\n[testing]\npytest\n")
    (info / "entry_points.txt").write_text("[kernelet.plugins]\nold = acme_old.plugin\n")
    (found,) = discover([str(tmp_path)]).candidates
    assert (found.name, found.distribution, found.version) == ("old", "acme-old", "1.5")
    assert found.required_distributions() == {"kernelet-core"}


def test_text_for_people():
    candidate = Candidate(name="x", entry_point="m.plugin", distribution="d", version="3", path="/p")
    assert str(candidate) == "plugin 'x' (d 3, entry point x = m.plugin, in /p)"
    assert candidate.origin == "d 3 /p"
    assert not candidate.handed


def test_text_of_one_that_was_handed_over():
    candidate = Candidate(name="x", entry_point="", instance=object())
    assert str(candidate) == "plugin 'x' (handed to this process: object)"
    assert candidate.handed


@pytest.mark.parametrize(
    "lines, problem",
    [
        ("x = acme/plugin.py", "its entry point 'acme/plugin.py' is not of the form package.module"),
        ("x = acme.plugin:", "its entry point 'acme.plugin:' is not of the form package.module"),
        ("x = acme.one\nx = acme.two", "its metadata lists the entry point 'x' 2 times: acme.one, acme.two"),
    ],
)
def test_entry_points_that_are_wrong(distributions, lines, problem):
    distributions.write("acme", entry_points=f"[kernelet.plugins]\n{lines}\n")
    (found,) = discover([str(distributions.folder)]).candidates
    assert found.name == "x"
    assert found.problem == f"{problem}; tell its author"


@pytest.mark.parametrize("value", ["acme", "acme.plugin", "_a1.b_2:Plugin", "a.b:C.d"])
def test_entry_points_that_are_right(distributions, value):
    distributions.write("acme", entry_points=f"[kernelet.plugins]\nx = {value}\n")
    (found,) = discover([str(distributions.folder)]).candidates
    assert (found.entry_point, found.problem) == (value, "")


def test_a_distribution_without_a_version(tmp_path):
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\n")
    (info / "entry_points.txt").write_text("[kernelet.plugins]\nx = acme\n")
    (found,) = discover([str(tmp_path)]).candidates
    assert (found.version, found.problem) == (
        "",
        f"its metadata has no version: reinstall it, or delete {info}",
    )
