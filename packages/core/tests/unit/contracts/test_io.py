from __future__ import annotations

import asyncio

import pytest

from kernelet.contracts.io import IOContext, IOProcessor, IOProcessorOffer
from kernelet.contracts.offer import Settings
from kernelet.contracts.pooling import PoolingParams
from kernelet.testing.null.harness import null_engine_config

CONTEXT = IOContext(model=null_engine_config().model)


class Upper(IOProcessor[str, list[str]]):
    def parse_data(self, data):
        return str(data)

    def pre_process(self, data):
        return [data.upper()]

    def post_process(self, data, outputs):
        return [data, *outputs]


def test_what_a_processor_must_have():
    assert IOProcessor.__abstractmethods__ == {"parse_data", "pre_process", "post_process"}
    with pytest.raises(TypeError, match="abstract"):
        IOProcessor(Settings(plugin="p"), CONTEXT)
    processor = Upper(Settings(plugin="p"), CONTEXT)
    assert (processor.settings.plugin, processor.context) == ("p", CONTEXT)
    assert processor.validate("x", PoolingParams()) is None


def test_without_a_word_a_request_is_the_processors_own_affair():
    processor, given = Upper(Settings(plugin="p"), CONTEXT), PoolingParams(task="embed", pooling="mean")
    assert processor.merge_pooling_params(None) == PoolingParams(task="plugin")
    assert processor.merge_pooling_params(given) is given


def test_servers_call_the_same_unless_there_is_something_to_wait_for():
    processor = Upper(Settings(plugin="p"), CONTEXT)
    assert asyncio.run(processor.pre_process_async("a")) == ["A"]
    assert asyncio.run(processor.post_process_async("a", ["v"])) == ["a", "v"]


def test_an_offer_is_known_by_its_name():
    offer = IOProcessorOffer(name="upper", target="m:Upper")
    assert (offer.name, offer.target, offer.priority) == ("upper", "m:Upper", 0)
