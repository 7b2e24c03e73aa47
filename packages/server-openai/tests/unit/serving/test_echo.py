from __future__ import annotations

import pytest
from scripted_engine import choice, lp, output

from kernelet.contracts.sampling import SamplingParams
from kernelet_server_openai.protocol.completions import CompletionRequest
from kernelet_server_openai.serving.echo import Echo

OUTPUT = output(choice("d", (4,)), prompt_logprobs=[None, {2: lp("b")}, {3: lp("c")}])


def echo(tokenizer=None, **fields):
    return Echo(CompletionRequest(prompt="abc", **fields), tokenizer)


@pytest.mark.parametrize(
    "fields, given, expected",
    [
        ({}, None, None),
        ({"logprobs": 3}, None, None),
        ({"echo": True}, 2, 2),
        ({"echo": True, "logprobs": 3}, None, 3),
        ({"echo": True, "logprobs": 3}, 5, 5),
        ({"echo": True, "logprobs": 5}, 3, 5),
        ({"echo": True, "logprobs": -1}, 3, -1),
        ({"echo": True, "logprobs": 3}, -1, -1),
    ],
)
def test_an_echoed_prompt_needs_log_probabilities(fields, given, expected):
    assert echo(**fields).params(SamplingParams(prompt_logprobs=given)).prompt_logprobs == expected


def test_nothing_without_echo():
    found = echo(logprobs=1)
    assert (found.text(OUTPUT), found.token_ids(OUTPUT), found.positions(OUTPUT)) == ("", (), ())


def test_the_prompt_with_echo():
    found = echo(echo=True, logprobs=1)
    assert found.text(OUTPUT) == "abc"
    assert list(found.token_ids(OUTPUT)) == [1, 2, 3]
    assert list(found.positions(OUTPUT)) == OUTPUT.prompt_logprobs


def test_a_prompt_of_token_ids_is_decoded(engine):
    ids = output(choice("d", (4,)), prompt=(97, 98))
    ids.prompt = None
    assert echo(engine.get_tokenizer(), echo=True).text(ids) == "ab"
    assert echo(None, echo=True).text(ids) == ""


def test_texts_of_tokens_without_log_probabilities(engine):
    found = echo(engine.get_tokenizer(), echo=True, logprobs=1)
    assert found.texts([None, {98: lp("b")}], [97, 98]) == [b"a", b""]
    assert echo(echo=True, logprobs=1).texts([None], [97]) == [b""]


def test_special_tokens_are_hidden_unless_they_are_shown(engine):
    special = {256: lp("<s>")}, {97: lp("a")}
    for shown, offsets in ((None, [0, 0]), (True, [0, 0]), (False, [0, 3])):
        writer = echo(engine.get_tokenizer(), logprobs=0, skip_special_tokens=shown).writer()
        assert writer.write(special, [256, 97], [b"", b""])["text_offset"] == offsets
