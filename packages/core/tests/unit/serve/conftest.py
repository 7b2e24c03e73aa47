"""A null model, and the options with which it is served."""

from __future__ import annotations

import os

import pytest

from kernelet.testing.null.model import null_config, write_model


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    """The developer's own KERNELET_* variables change nothing."""
    for name in list(os.environ):
        if name.startswith("KERNELET_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def null_folder(tmp_path_factory):
    return str(write_model(tmp_path_factory.mktemp("null-model"), null_config(max_model_len=1 << 16)))


@pytest.fixture(scope="session")
def null_options():
    plugins = ["core", "kernelet.testing.null:plugin", "kernelet.testing.server.reference:plugin"]
    return {"plugins": plugins, "platform": "null"}
