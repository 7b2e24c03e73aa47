"""An engine on the null platform, whose tokens are a function of what stands before them."""

from __future__ import annotations

import pytest

from kernelet.testing.null.model import null_config, write_model

PLUGIN = "kernelet.testing.null:plugin"


@pytest.fixture(scope="session")
def null_folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("null-model"), null_config(max_model_len=256))


@pytest.fixture(scope="session")
def endless_folder(tmp_path_factory):
    """A context that no test fills: a request can be caught while it runs."""
    return write_model(tmp_path_factory.mktemp("endless-model"), null_config(max_model_len=1 << 20))


@pytest.fixture(scope="session")
def null_options():
    return {"plugins": ["core", PLUGIN], "platform": "null"}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    """The developer's own KERNELET_* variables change nothing."""
    import os

    for name in list(os.environ):
        if name.startswith("KERNELET_"):
            monkeypatch.delenv(name)
