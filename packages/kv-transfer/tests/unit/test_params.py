from __future__ import annotations

import json

import pytest

from kernelet.errors import ParameterError
from kernelet_kv_transfer.params import KEYS, Remote, asks_for_handover, handover_params, remote_of

REMOTE = Remote(
    remote_engine_id="e",
    remote_host="h",
    remote_port=1,
    tp_size=2,
    remote_num_tokens=3,
    remote_lease=4,
    remote_generation="g",
    remote_ranks=(("h", 1), ("h", 2)),
)
PARAMS = handover_params(remote=REMOTE, request_id="r", block_ids=((1, 2), (3,)))


def test_what_one_engine_says_the_other_understands_after_a_way_as_json():
    assert set(PARAMS) == set(KEYS)
    assert PARAMS["remote_block_ids"] == [[1, 2], [3]]
    assert remote_of(json.loads(json.dumps(PARAMS))) == REMOTE


@pytest.mark.parametrize("nothing", [None, {}, {"do_remote_prefill": False}, {"do_remote_decode": True}, {"other": 1}])
def test_nothing_is_to_be_taken(nothing):
    assert remote_of(nothing) is None


def test_asking_for_a_handover():
    assert asks_for_handover({"do_remote_decode": True})
    assert not asks_for_handover({"do_remote_decode": False})
    assert not asks_for_handover(PARAMS)
    assert not asks_for_handover(None)


@pytest.mark.parametrize(
    "key, value",
    [
        ("remote_port", None),
        ("remote_ranks", None),
        ("remote_lease", "four"),
        ("remote_ranks", [["h", "1"]]),
        ("tp_size", 3),
        ("tp_size", 0),
        ("remote_num_tokens", 0),
        ("remote_num_tokens", 1 << 63),
        ("remote_lease", -1),
        ("remote_port", 65536),
        ("remote_port", 2),
        ("remote_host", "another"),
        ("remote_host", "h\n"),
        ("remote_engine_id", ""),
        ("remote_engine_id", "e" * 257),
        ("remote_engine_id", "e\nERROR: forged"),
        ("remote_engine_id", "e\u2028"),
        ("remote_generation", "\x1b[2J"),
        ("remote_ranks", [["h", 1], ["h\r", 2]]),
        ("do_remote_prefill", "yes"),
        ("do_remote_decode", True),
    ],
)
def test_wrong_ones_are_named(key, value):
    with pytest.raises(ParameterError) as caught:
        remote_of({**PARAMS, key: value})
    assert caught.value.parameter.startswith("kv_transfer_params")
    assert key.removeprefix("do_") in str(caught.value)
