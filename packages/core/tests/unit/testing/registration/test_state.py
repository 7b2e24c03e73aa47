from __future__ import annotations

import itertools
import logging
import sys
import threading
import types

import pytest

from kernelet.testing.interpreter import call_fresh
from kernelet.testing.registration.state import differences, frozen, snapshot


@pytest.fixture
def module(monkeypatch):
    made = types.ModuleType("acme_state.thing")
    monkeypatch.setitem(sys.modules, "acme_state.thing", made)
    return made


def counter():
    count = 0

    def up():
        nonlocal count
        count += 1

    return up


class Held:
    def __init__(self):
        self.items = {"a": [1]}


@pytest.mark.parametrize(
    "value, change",
    [
        ([1], lambda value: value.append(2)),
        ({"a": {1}}, lambda value: value["a"].add(2)),
        (itertools.count(), next),
        (counter(), lambda value: value()),
        (lambda x=[]: x, lambda value: value().append(1)),
        (Held(), lambda value: value.items["a"].append(2)),
        (type("Own", (), {"calls": [0]}), lambda value: value.calls.append(1)),
        (Held().__init__, lambda value: setattr(value.__func__, "seen", True)),
    ],
    ids=["list", "dict", "iterator", "closure", "default", "object", "class", "method"],
)
def test_a_change_of_a_module_is_seen(module, value, change):
    module.value = value
    before = snapshot(["acme_state"])
    assert differences(before, snapshot(["acme_state"])) == []
    change(value)
    assert differences(before, snapshot(["acme_state"])) == ["acme_state.thing.value"]


def test_what_holds_itself_is_cut_off():
    ring = []
    ring.append(ring)
    assert "..." in repr(frozen(ring))


def test_a_change_of_the_process_is_seen(monkeypatch):
    before = snapshot(())
    monkeypatch.setenv("ACME_SET", "1")
    monkeypatch.syspath_prepend("/nowhere")
    level = logging.getLogger().level
    logging.getLogger().setLevel(level + 1)
    done = threading.Event()
    thread = threading.Thread(target=done.wait, name="acme")
    thread.start()
    after = snapshot(())
    done.set()
    thread.join()
    logging.getLogger().setLevel(level)
    assert differences(before, after) == [
        "sys.path",
        "the environment variable ACME_SET",
        "the root logger",
        "the threads (acme runs)",
    ]


def watched():
    """In an interpreter of its own, as an audit hook stays."""
    import os
    from pathlib import Path

    from kernelet.testing.registration.state import Watch

    with Watch(["acme"]) as watch:
        try:
            import hypothesis  # noqa: F401
        except ModuleNotFoundError:
            Path(os.devnull).write_text("")
        import json.tool  # noqa: F401

        Path("/nowhere/at/all").exists()
        try:
            Path("/nowhere/at/all").write_text("")
        except OSError:
            Path(os.devnull).read_text()
    Path("/tmp").exists()
    import pytest  # noqa: F401

    return watch.heavy, watch.touched


def test_a_watch_refuses_and_notes(tmp_path, monkeypatch):
    text = "from __future__ import annotations\n" + __import__("inspect").getsource(watched)
    (tmp_path / "watching.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    heavy, touched = call_fresh("watching:watched")
    assert heavy == ["hypothesis"]
    assert touched == ["the file /nowhere/at/all"]
