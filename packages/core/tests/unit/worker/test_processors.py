from __future__ import annotations

import pytest
from worker_doubles import TinyPlugins

from kernelet.contracts.sampling import LogitsProcessor, LogitsProcessorOffer
from kernelet.errors import PluginError
from kernelet.worker.processors import make_processors


class Nothing(LogitsProcessor):
    def add_request(self, request_id, arguments, prompt_token_ids):
        return False

    def apply(self, logits, rows):
        return logits


def plugins(target):
    offers = [LogitsProcessorOffer(name=name, target=name) for name in ("first", "second")]
    return TinyPlugins(*offers, first=target, second=target)


def test_named_ones_in_order():
    assert make_processors((), plugins(Nothing), 48) == ()
    second, first = make_processors(("second", "first"), plugins(Nothing), 48)
    assert second.plugin == first.plugin == "tiny"
    assert second.processor is not first.processor
    assert first.processor.vocab_size == 48


def test_wrong_target():
    with pytest.raises(PluginError, match="'first' is no LogitsProcessor"):
        make_processors(("first",), plugins(lambda settings, vocab_size: object()), 48)
