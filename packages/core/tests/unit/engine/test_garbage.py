from __future__ import annotations

import gc

import pytest

from kernelet.engine.garbage import no_collection


@pytest.fixture(params=[True, False], ids=["on", "off"])
def collector(request):
    was_on = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was_on else gc.disable)()


def test_nothing_is_collected_and_it_is_as_before_afterwards(collector):
    with no_collection():
        assert not gc.isenabled()
    assert gc.isenabled() == collector


def test_an_error_leaves_it_as_before(collector):
    @no_collection()
    def start():
        assert not gc.isenabled()
        raise ValueError

    for _ in range(2):
        with pytest.raises(ValueError):  # noqa: PT011  it is ours
            start()
        assert gc.isenabled() == collector
