from __future__ import annotations

import os
import select
import stat
import tempfile
from pathlib import Path

import pytest

from kernelet.engine.remote.meeting import LONGEST_PATH, MeetingPlace
from kernelet.errors import ConfigError


@pytest.fixture
def place():
    place = MeetingPlace.make()
    yield place
    place.remove()


def test_nobody_else_may_enter(place):
    assert stat.S_IMODE(Path(place.folder).stat().st_mode) == 0o700


def test_no_engine_has_the_names_of_the_one_before(place):
    names = [f(n) for n in (0, 1) for f in (place.data, place.pulse, place.engine_pipe)]
    assert len(set(names)) == 6
    assert all(len(os.fsencode(place.data(n))) - len("ipc://") <= LONGEST_PATH for n in (0, 999))


def test_a_path_that_sockets_do_not_take(monkeypatch, tmp_path):
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with pytest.raises(ConfigError, match="TMPDIR"):
        MeetingPlace.make()
    assert not list(deep.iterdir())


def test_the_newest_engine(place):
    assert place.newest_generation() == 0
    held = [place.make_pipe(place.engine_pipe(number)) for number in (2, 10, 9)]
    assert place.newest_generation() == 10
    for pipe in held:
        os.close(pipe)


def broken(descriptor):
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def test_a_pipe_breaks_when_its_last_holder_lets_go(place):
    held = place.make_pipe("alive")
    again = os.dup(held)
    watched = place.watch_pipe("alive")
    assert not broken(watched)
    os.close(held)
    assert not broken(watched)
    os.close(again)
    assert broken(watched)
    os.close(watched)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "..", "nothing"])
def test_only_pipes_of_the_place_are_watched(place, name):
    with pytest.raises(FileNotFoundError):
        place.watch_pipe(name)


def test_it_is_removed_with_everything_in_it(place):
    os.close(place.make_pipe("alive"))
    place.remove()
    assert not Path(place.folder).exists()
    place.remove()
