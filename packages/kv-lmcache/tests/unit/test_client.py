"""The calls themselves are made by tests/test_conformance.py and tests/test_engine.py, with LMCache."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet_kv_lmcache.client import IDS, SEAL, seal, token_ids

KEYS = st.lists(st.binary(min_size=32, max_size=32), max_size=4)


@given(keys=KEYS, chunk=st.sampled_from([8, 16, 256]))
def test_made_up_tokens_hold_the_keys(keys, chunk):
    found = token_ids(keys, chunk)
    assert len(found) == chunk * len(keys)
    assert all(0 <= token < 1 << 32 for token in found), "LMCache hashes them as 32-bit numbers"
    read = [struct.pack(f">{IDS}I", *found[at : at + IDS]) for at in range(0, len(found), chunk)]
    assert read == keys


@given(keys=KEYS.filter(bool))
def test_a_prefix_of_keys_is_a_prefix_of_tokens(keys):
    whole = token_ids(keys, 16)
    assert whole[: 16 * (len(keys) - 1)] == token_ids(keys[:-1], 16)


def test_a_seal_is_of_the_bytes_and_the_key():
    blake3 = pytest.importorskip("blake3")
    key, other, payload = b"k" * 32, b"o" * 32, bytes(range(256)) * 4
    assert seal(payload, key) == blake3.blake3(payload, key=key).digest()[:SEAL]
    flipped = bytes([payload[0] ^ 1]) + payload[1:]
    assert len({seal(payload, key), seal(payload, other), seal(flipped, key)}) == 3
