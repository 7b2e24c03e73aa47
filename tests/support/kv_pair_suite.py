"""What connectors show that hand keys and values to another engine: prefill and decode in two processes."""

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
    texts_are_those_of_one_engine,
    waits_for_longer_than_its_lease,
)


class PairSuite:
    """A package's test class derives from it.

    Attributes:
        connector: Its name.
    """

    connector = ""

    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls, tmp_path_factory):
        with closing(Pair(tmp_path_factory.mktemp("pair"), cls.connector)) as made:
            yield made

    def test_the_demo_model_says_the_same_also_when_requests_are_aborted_and_the_other_is_gone(self, tmp_path):
        with closing(Pair(tmp_path, self.connector, model="smollm2-135m", dtype="bfloat16")) as pair:
            texts_are_those_of_one_engine(pair)
            requests_are_aborted(pair, 6)
            one_loses_its_process(pair, "prefill", 3)

    @pytest.mark.long
    def test_two_ranks(self, tmp_path):
        options = {"tensor_parallel_size": 2, "kv_load_failure_policy": "fail"}
        with closing(Pair(tmp_path, self.connector, settings={}, **options)) as pair:
            pair.loads()
            requests_are_aborted(pair, 30)
            waits_for_longer_than_its_lease(pair)
            fails_when_the_other_is_gone(pair)
            pair.decode.end()

    @pytest.mark.long
    @pytest.mark.parametrize("part", range(PARTS))
    @pytest.mark.parametrize("who", ["prefill", "decode"])
    @pytest.mark.parametrize("what", [one_loses_its_process, one_stops])
    def test_at_every_part(self, pair, what, who, part):
        what(pair, who, part)

    @pytest.mark.long
    def test_a_transfer_waits_for_longer_than_its_lease(self, pair):
        waits_for_longer_than_its_lease(pair)

    @pytest.mark.long
    def test_300_aborted(self, pair):
        nothing_is_left_of_aborted_requests(pair, 300)
        ends_well(pair)
