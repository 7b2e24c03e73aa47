from __future__ import annotations

import sys
from importlib.metadata import version

import pytest

from kernelet.kernel.select.requirements import missing_requirements

NUMPY = version("numpy")


@pytest.mark.parametrize(
    "requirements, reason",
    [
        ((), ""),
        (("numpy",), ""),
        (("numpy>=1.0",), ""),
        ((f"numpy=={NUMPY}", "Pluggy"), ""),
        (("numpy>=999",), f"needs numpy>=999, here is {NUMPY}"),
        (("acme-not-there>=2.6",), "needs acme-not-there>=2.6, which is not installed"),
        (
            ("acme-not-there", "numpy<1"),
            f"needs acme-not-there, which is not installed; needs numpy<1, here is {NUMPY}",
        ),
        (("acme-not-there; sys_platform == 'plan9'",), ""),
    ],
)
def test_what_is_not_met_is_said(requirements, reason):
    assert missing_requirements(requirements) == reason


def test_a_prerelease_that_is_installed_counts(tmp_path, monkeypatch):
    folder = tmp_path / "acme_early-3.0.0b1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-early\nVersion: 3.0.0b1\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert missing_requirements(("acme-early>=3.0.0b1",)) == ""
    assert missing_requirements(("acme-early>=3.0",)) == "needs acme-early>=3.0, here is 3.0.0b1"
    assert "acme_early" not in sys.modules
