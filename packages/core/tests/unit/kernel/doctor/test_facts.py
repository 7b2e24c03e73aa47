from __future__ import annotations

from importlib.metadata import version

import pytest

from kernelet.contracts.versions import API_VERSIONS
from kernelet.kernel.doctor.facts import environment, unmet


def test_facts_have_no_values_of_variables(monkeypatch):
    monkeypatch.setenv("KERNELET_SET", "p.key=secret")
    found = environment()
    assert "KERNELET_SET" in found["variables"]
    assert "secret" not in str(found)
    assert f"kernelet-core {version('kernelet-core')} in " in found["core"]
    assert f"cache {API_VERSIONS['cache']} and v1" in found["contracts"]
    assert f"numpy {version('numpy')}" in found["libraries"]


@pytest.mark.parametrize(
    "line, message",
    [
        ("numpy", None),
        ("numpy>=1", None),
        ("numpy>=99", f"it requires numpy>=99, here is {version('numpy')}"),
        ("no-such-distribution>=1", "it requires no-such-distribution>=1, which is not installed"),
        ("absent; extra == 'x'", None),
        ("absent; python_version < '3'", None),
        ("not a requirement", None),
    ],
)
def test_requirements_that_do_not_hold(line, message):
    assert unmet((line,)) == ([message] if message else [])


def test_damaged_metadata_is_not_blamed_on_who_requires_it(tmp_path, monkeypatch):
    """It is a finding of its own."""
    (tmp_path / "broken-1.0.dist-info").mkdir()
    (tmp_path / "broken-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert unmet(("broken>=1", "no-such-library")) == ["it requires no-such-library, which is not installed"]
