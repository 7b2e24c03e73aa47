"""Plugins that print, hang or interrupt while a process starts: a person learns whose doing it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from planted import Planted, good

HOOK = good("loud").source


@pytest.fixture
def listed(site):
    """Lists plugins in another process: exit code, stdout, stderr."""

    def run(source, *arguments):
        site.install(Planted("loud", source))
        command = [sys.executable, "-m", "kernelet.cli", "plugins", *(arguments or ("list", "--json"))]
        environment = {**os.environ, "PYTHONPATH": str(site.folder)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr

    return run


def states(out):
    return {row["name"]: row["state"] for row in json.loads(out)}


def test_what_it_prints_does_not_reach_stdout(listed):
    code, out, err = listed("print('imported')\n" + HOOK.replace("    return", "    print('called')\n    return"))
    assert (code, states(out)["loud"]) == (0, "active")
    assert "imported\ncalled\n" in err


def test_a_stdout_that_it_took_away_is_there_again(listed):
    code, out, err = listed("import sys\nsys.stdout = None\n" + HOOK)
    assert (code, states(out)["loud"]) == (0, "failed")
    assert "it replaced sys.stdout" in err


def test_an_interruption_names_it(listed):
    code, out, err = listed("raise KeyboardInterrupt\n")
    assert (code, out) == (130, "")
    assert err == "interrupted while importing plugin loud (kernelet-loud 1.0)\n"


def test_a_slow_one_is_named_while_it_is_imported(listed):
    code, out, err = listed("import time\ntime.sleep(4.5)\n" + HOOK)
    assert (code, states(out)["loud"]) == (0, "active")
    assert err == (
        "still importing plugin loud (kernelet-loud 1.0); Ctrl-C stops; run without it: KERNELET_PLUGINS_BLOCK=loud\n"
    )


def test_a_name_that_is_missing_may_be_in_damaged_metadata(listed, site):
    info = site.folder / "broken-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[kernelet.plugins]\nbroken = broken\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\n")
    for action in ("show", "doctor"):
        code, _, err = listed(HOOK, action, "broken")
        assert code == 1
        error = err.partition("error: ")[2]
        assert error.startswith("no plugin is called 'broken'")
        assert f"metadata in {info} cannot be read" in error
