"""Prefill and decode in two processes."""

from __future__ import annotations

from contextlib import closing

import pytest
from kv_pairs import (
    PARTS,
    Pair,
    ends_well,
    fails_when_the_other_is_gone,
    nothing_is_left_of_aborted_requests,
    one_loses_its_process,
    one_stops,
    requests_are_aborted,
    waits_for_longer_than_its_lease,
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    made = Pair(tmp_path_factory.mktemp("pair"), "kv-transfer")
    yield made
    made.close()


def test_same_text_also_when_others_are_aborted(pair):
    pair.loads()
    requests_are_aborted(pair, 6)


@pytest.mark.long
def test_two_ranks(tmp_path):
    options = {"tensor_parallel_size": 2, "kv_load_failure_policy": "fail"}
    with closing(Pair(tmp_path, "kv-transfer", settings={}, **options)) as pair:
        pair.loads()
        requests_are_aborted(pair, 30)
        waits_for_longer_than_its_lease(pair)
        fails_when_the_other_is_gone(pair)
        pair.decode.end()


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
