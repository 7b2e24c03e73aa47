from __future__ import annotations

import signal

import pytest

from kernelet.kernel.doctor.load import load

TWICE = """
CALLS = []


@hookimpl
def kernelet_schedulers():
    CALLS.append(1)
    return (SchedulerOffer(name="x", target="m:X", priority={priority}),)
"""


def results(found):
    return {check.what: check.result for check in found.checks}


def test_a_plugin_as_it_should_be(job):
    found = load(job("load", TWICE.format(priority=1)))
    assert results(found) == {"registration is data": "ok", "kernelet_schedulers called twice": "ok"}
    assert found.cost.packages == ()


def test_hooks_that_depend_on_how_often_they_are_called(job):
    found = load(job("load", TWICE.format(priority="len(CALLS)")))
    (check,) = [check for check in found.checks if check.result == "failed"]
    assert check.message.startswith("kernelet_schedulers returns other offers when it is called again")


def test_what_a_plugin_brings_in(job, module):
    module("heavy_library", "import time\ntime.sleep(0.01)\n")
    found = load(job("load", "import heavy_library\n" + TWICE.format(priority=1)))
    assert found.cost.packages == ("heavy_library",)
    assert results(found)["registration is data"] == "warning"
    assert "brings in heavy_library; every process pays" in found.checks[0].message


def test_an_import_that_raises_is_the_boots_to_report(job):
    assert load(job("load", "raise SystemExit(3)")).cost is None


def test_a_hook_that_raises_is_the_boots_to_report(job):
    source = "@hookimpl\ndef kernelet_schedulers():\n    raise OSError\n"
    assert set(results(load(job("load", source)))) == {"registration is data"}


@pytest.mark.parametrize("hook", ["kernelet_options", "kernelet_hookspecs"])
def test_hooks_that_offer_nothing_are_called_too(job, tmp_path, hook):
    """So that one that ends its process is found here, where it is known whose it is."""
    called = tmp_path / "called"
    load(job("load", f"@hookimpl\ndef {hook}():\n    open({str(called)!r}, 'w').close()\n"))
    assert called.exists()


def test_what_registration_leaves_behind(job, capsys):
    source = "import signal, sys, threading\nsignal.signal(signal.SIGUSR1, lambda *_: None)\nprint('welcome')\n"
    source += "threading.Thread(target=threading.Event().wait, name='left', daemon=True).start()\nsys.stdout = None\n"
    handler = signal.getsignal(signal.SIGUSR1)
    try:
        found = load(job("load", source + TWICE.format(priority=1)))
    finally:
        signal.signal(signal.SIGUSR1, handler)
    warnings = {check.what: check.message for check in found.checks if check.result == "warning"}
    assert "'left'" in warnings["no thread is left"]
    assert "SIGUSR1" in warnings["signals are left alone"]
    assert "'welcome'" in warnings["nothing is printed"]
    assert capsys.readouterr() == ("", "welcome\n")
