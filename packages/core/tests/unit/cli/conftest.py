"""Commands run in this process, on the null platform."""

from __future__ import annotations

import logging
import os

import pytest

from kernelet.cli.main import main
from kernelet.testing.null.model import null_config, write_model


@pytest.fixture(scope="session")
def null_folder(tmp_path_factory):
    return str(write_model(tmp_path_factory.mktemp("null-model"), null_config(max_model_len=256)))


@pytest.fixture(autouse=True)
def null_platform(monkeypatch):
    """Only the core and the null platform, whatever is installed; the log is put back."""
    for name in list(os.environ):
        if name.startswith("KERNELET_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("KERNELET_PLUGINS", "core,kernelet.testing.null:plugin")
    monkeypatch.setenv("KERNELET_PLATFORM", "null")
    log = logging.getLogger("kernelet")
    before = log.handlers[:], log.propagate, log.level
    yield
    log.handlers[:], log.propagate, log.level = before


@pytest.fixture
def kernelet(capsys):
    """Runs a command line; returns exit code, stdout and stderr."""

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run
