"""The command line and the Python API on the demo model, as a user has them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from kernelet import LLM

OPTIONS = {"dtype": "float32", "max_model_len": 512, "set": {"platform-cpu": {"threads": 1}}}
"""One thread: two that wait for each other are slow on a machine that does something else too."""


def is_option(variable):
    """Whether it is one of ours that would change what is tested; the cache folder stays where it is."""
    return variable.startswith("KERNELET_") and variable != "KERNELET_CACHE_DIR"


@pytest.fixture(scope="session")
def options():
    return OPTIONS


@pytest.fixture(scope="session")
def llm(smollm2_path):
    with pytest.MonkeyPatch.context() as patch:
        for name in filter(is_option, list(os.environ)):
            patch.delenv(name)
        with LLM(str(smollm2_path), **OPTIONS) as llm:
            yield llm


@pytest.fixture(scope="session")
def kernelet():
    """Runs the installed command; returns what it printed."""

    def run(*arguments, stdin="", code=0):
        command = [sys.executable, "-m", "kernelet.cli", *map(str, arguments)]
        kept = {name: value for name, value in os.environ.items() if not is_option(name)}
        environment = kept | {"KERNELET_SET": "platform-cpu.threads=1"}
        done = subprocess.run(
            command, input=stdin, env=environment, capture_output=True, text=True, check=False, encoding="utf-8"
        )
        assert done.returncode == code, done.stderr
        return done.stdout, done.stderr

    return run


@pytest.fixture(scope="session")
def run_json(kernelet):
    """``kernelet run ... --json`` as objects."""

    def run(*arguments):
        out, _ = kernelet("run", *arguments, "--json")
        return [json.loads(line) for line in out.splitlines()]

    return run
