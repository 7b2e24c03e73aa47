"""What keys and values are a function of: what differs in it is a miss; block sizes do not count."""

from __future__ import annotations

import msgspec
import pytest

from kernelet.config import CacheConfig, SchedulerConfig
from kernelet.config.kv import KVTransferConfig
from kernelet.request.request import Segment
from kernelet.testing.kv_connector.fake import fake_offer
from kernelet.testing.kv_connector.null_engine import kv_core
from kernelet.testing.kv_connector.requests import IDENTITY
from kernelet.testing.kv_connector.script import LoadScript, World
from kernelet.testing.null.harness import null_engine_config, null_request
from kernelet.testing.null.tokens import straight_line

VOCAB = 50
PROMPT = [(index * index + 3) % VOCAB for index in range(27)]


class Engines:
    """Engines one after the other, that share a store."""

    def __init__(self, *loads):
        self.world = World(loads)

    def run(self, block_size=4, identity=IDENTITY, **fields):
        """The tokens of the prompt, and how many tokens of it were loaded."""
        config = null_engine_config(
            vocab_size=VOCAB,
            max_model_len=64,
            cache=CacheConfig(block_size=block_size, num_blocks=80),
            scheduler=SchedulerConfig(max_num_batched_tokens=10),
        )
        offers, transfer = [fake_offer(self.world)], KVTransferConfig(connectors=("fake",))
        core, _ = kv_core(config, offers, transfer, identity=identity, pause=lambda _: None)
        request = null_request("r", PROMPT, 6, **fields)
        core.add_request(request)
        tokens = []
        while core.has_unfinished():
            tokens += [token for output in core.step() for token in output.token_ids]
        assert tokens == straight_line(request, VOCAB)
        core.close()
        return sum(stats.external_hits for stats in core.take_step_stats())


@pytest.mark.parametrize("load", [LoadScript(), LoadScript(sync=True)])
@pytest.mark.parametrize("block_size", [1, 2, 8, 16])
def test_another_block_size_finds_all(load, block_size):
    engines = Engines(load)
    assert engines.run() == 0
    assert engines.run(block_size) == len(PROMPT) - 1


@pytest.mark.parametrize("name", IDENTITY.__struct_fields__)
def test_another_identity_is_a_miss(name):
    engines = Engines()
    assert engines.run() == 0
    assert engines.run(identity=msgspec.structs.replace(IDENTITY, **{name: "other"})) == 0
    assert engines.run() == len(PROMPT) - 1


def picture(digest, offset=0):
    return {"segments": (Segment(offset=offset, length=4, kind="image", content_hash=digest),)}


@pytest.mark.parametrize("facts", [{"cache_salt": "salt"}, picture(b"one"), picture(b"two")])
def test_another_salt_or_picture_is_a_miss(facts):
    engines = Engines()
    assert engines.run() == 0
    assert engines.run(**facts) == 0
    assert engines.run(**facts) == len(PROMPT) - 1
    assert engines.run(**picture(b"three")) == 0


def test_what_stands_before_a_picture_is_found():
    engines = Engines()
    engines.run(**picture(b"one", offset=9))
    assert engines.run(**picture(b"two", offset=9)) == 9
