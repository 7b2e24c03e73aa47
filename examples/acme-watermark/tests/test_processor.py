"""Rows that want it get delta on their green list, and no other row or token changes."""

from __future__ import annotations

import pytest
import torch
from acme_watermark.processor import Watermark
from acme_watermark.scheme import Scheme

from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import LogitsRow
from kernelet.errors import ParameterError

VOCAB = 120


def make(**values):
    return Watermark(Settings(plugin="acme-watermark", values={"key": 9, "delta": 0.0} | values), VOCAB)


def row(index, name, prompt, output=()):
    return LogitsRow(index=index, request_id=name, prompt_token_ids=prompt, output_token_ids=output)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_delta_on_the_green_tokens_of_each_row(dtype):
    processor = make()
    assert processor.add_request("a", {"delta": 2.0}, [4])
    assert processor.add_request("b", {"delta": 3.0, "gamma": 0.5, "context": 3}, [4, 5])
    logits = torch.zeros(3, VOCAB, dtype=dtype)
    got = processor.apply(logits, [row(0, "a", [4], [7, 8]), row(2, "b", [4, 5], [6])])
    assert got.dtype == dtype
    for index, delta, scheme, before in (
        (0, 2.0, Scheme(key=9, vocab_size=VOCAB), [8]),
        (2, 3.0, Scheme(key=9, vocab_size=VOCAB, gamma=0.5, context=3), [4, 5, 6]),
    ):
        expected = torch.zeros(VOCAB, dtype=dtype)
        expected[scheme.green(before).tolist()] = delta
        assert torch.equal(got[index], expected)
    assert not got[1].any()


def test_who_wants_none_gets_none():
    assert not make().add_request("a", {}, [1])
    assert not make(delta=2.0).add_request("a", {"delta": 0}, [1])
    processor = make(delta=2.0)
    assert processor.add_request("a", {}, [1])
    processor.remove_request("a")
    processor.remove_request("a")
    assert processor.wanted == {}


def test_the_first_token_follows_the_prompt():
    processor = make(delta=1.0)
    processor.add_request("a", {}, [3, 4])
    got = processor.apply(torch.zeros(1, VOCAB), [row(0, "a", [3, 4])])
    assert set(got[0].nonzero().flatten().tolist()) == set(Scheme(key=9, vocab_size=VOCAB).green([4]).tolist())


@pytest.mark.parametrize(
    "arguments, names",
    [
        ({"strength": 2}, "strength"),
        ({"delta": -1}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"delta": True}, "delta"),
        ({"gamma": 0}, "gamma"),
        ({"gamma": 1.0}, "gamma"),
        ({"gamma": "half"}, "gamma"),
        ({"context": 0}, "context"),
        ({"context": 17}, "context"),
        ({"context": 1.5}, "context"),
    ],
)
def test_a_wrong_argument_is_named(arguments, names):
    with pytest.raises(ParameterError, match=f"^{names}: ") as raised:
        Watermark.validate_params(arguments)
    assert raised.value.parameter == names


def test_right_arguments_pass():
    Watermark.validate_params({"delta": 2, "gamma": 0.25, "context": 16})
    Watermark.validate_params({})
