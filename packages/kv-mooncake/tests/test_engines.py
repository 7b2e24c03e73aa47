"""Prefill and decode in two processes over Mooncake's transfer engine."""

from __future__ import annotations

import pytest
from kv_pairs import (
    PARTS,
    Pair,
    ends_well,
    nothing_is_left_of_aborted_requests,
    one_loses_its_process,
    one_stops,
    requests_are_aborted,
    waits_for_longer_than_its_lease,
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    pytest.importorskip(
        "mooncake.engine", reason="Mooncake, or the libibverbs1 that it needs, is not installed", exc_type=ImportError
    )
    made = Pair(tmp_path_factory.mktemp("pair"), "kv-mooncake")
    yield made
    made.close()


def test_same_text_when_all_is_well_aborted_or_the_other_is_gone(pair):
    pair.loads()
    requests_are_aborted(pair, 6)
    one_loses_its_process(pair, "prefill", 3)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("who", ["prefill", "decode"])
@pytest.mark.parametrize("what", [one_loses_its_process, one_stops])
def test_at_every_part(pair, what, who, part):
    what(pair, who, part)


@pytest.mark.long
def test_a_transfer_waits_for_longer_than_its_lease(pair):
    waits_for_longer_than_its_lease(pair)


@pytest.mark.long
def test_300_aborted(pair):
    nothing_is_left_of_aborted_requests(pair, 300)
    ends_well(pair)
