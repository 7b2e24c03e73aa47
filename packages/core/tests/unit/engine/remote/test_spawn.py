"""Whole processes run in ``tests/engine/test_remote.py``."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from kernelet.engine.remote import spawn
from kernelet.engine.remote.line import RemoteOptions
from kernelet.errors import ManifestMismatchError
from kernelet.testing.null.harness import null_engine_config

CONFIGURED = SimpleNamespace(
    kernel=SimpleNamespace(manifest=SimpleNamespace(digest="mine", encode=lambda: b"manifest")),
    config=null_engine_config(),
)


class Client:
    """Stands for ``RemoteClient``."""

    digest = "mine"

    def __init__(self, place, index, options, launcher=None, make_stats=None):
        self.place, self.index, self.options, self.launcher = place, index, options, launcher
        self.started = SimpleNamespace(manifest_digest=self.digest)
        self.closed = False
        made.append(self)

    def shutdown(self):
        self.closed = True


made: list[Client] = []


@pytest.fixture(autouse=True)
def client(monkeypatch):
    made.clear()
    monkeypatch.setattr(spawn, "RemoteClient", Client)
    yield
    for one in made:
        if one.launcher is not None:
            one.place.remove()


def test_the_child_is_told_everything():
    options = RemoteOptions(heartbeat_interval=0.3, max_backlog=77)
    client = spawn.spawn_engine(CONFIGURED, options)
    start = client.launcher._start
    assert (start.manifest, start.config, start.path) == (b"manifest", CONFIGURED.config, sys.path)
    assert (start.folder, start.generation) == (client.place.folder, 0)
    assert (start.heartbeat_interval, start.max_backlog) == (0.3, 77)
    assert (client.index, client.options) == (0, options)


def test_another_digest_names_both_sides(monkeypatch):
    monkeypatch.setattr(Client, "digest", "theirs")
    with pytest.raises(ManifestMismatchError, match=r"theirs.*mine"):
        spawn.spawn_engine(CONFIGURED)
    assert made[0].closed


def test_others_come_to_the_place():
    client = spawn.connect_engine("/folder", 2)
    assert (client.place.folder, client.index, client.launcher) == ("/folder", 2, None)
    with pytest.raises(ValueError, match="frontend 0"):
        spawn.connect_engine("/folder", 0)
