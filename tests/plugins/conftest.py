"""A folder on ``sys.path`` into which tests install planted plugins."""

from __future__ import annotations

import importlib
import sys

import pytest
from planted import Site


@pytest.fixture
def site(tmp_path, monkeypatch):
    """An empty folder that is searched first; what was imported from it is forgotten at the end."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield Site(folder)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
    importlib.invalidate_caches()
