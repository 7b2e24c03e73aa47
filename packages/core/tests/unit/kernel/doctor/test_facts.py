from __future__ import annotations

from importlib.metadata import version

import pytest

from kernelet.kernel.doctor.facts import environment, unmet


def test_facts_have_no_values_of_variables(monkeypatch):
    monkeypatch.setenv("KERNELET_SET", "p.key=secret")
    found = environment()
    assert "KERNELET_SET" in found["variables"]
    assert "secret" not in str(found)
    assert f"kernelet-core {version('kernelet-core')} in " in found["core"]
    assert "cache 2.0 and v1" in found["contracts"]
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
