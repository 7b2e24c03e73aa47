"""On the null platform: log-probabilities are its own, so only what a search asks of an engine is looked at here."""

from __future__ import annotations

import pytest
from acme_beam_search import BeamSearchParams, beam_search
from acme_beam_search.generate import POLICY

from kernelet import LLM
from kernelet.errors import ParameterError, PromptError
from kernelet.testing.null import NullPlugin, write_model

PARAMS = BeamSearchParams(beam_width=3, max_tokens=5, ignore_eos=True)
CONTEXT = 256


@pytest.fixture(scope="module")
def llm(tmp_path_factory):
    folder = str(write_model(tmp_path_factory.mktemp("null")))
    options = {"platform": "null", "scheduling_policy": POLICY, "max_model_len": CONTEXT}
    with LLM(folder, plugins=[NullPlugin()], **options) as llm:
        yield llm


@pytest.fixture
def asked(llm, monkeypatch):
    """What the engine is asked for, call by call."""
    calls, generate = [], llm.generate

    class Watched:
        config, get_tokenizer = llm.config, llm.get_tokenizer

        def generate(self, prompts, params, **options):
            calls.append((prompts, params))
            return generate(prompts, params, **options)

    return Watched(), calls


def test_each_step_is_one_batch_of_all_beams(asked):
    llm, calls = asked
    found = beam_search(llm, ["hello", [1, 2, 3], {"prompt_token_ids": [9], "cache_salt": "s"}], PARAMS)
    assert [one.prompt_token_ids for one in found] == [list(b"hello"), [1, 2, 3], [9]]
    assert [len(prompts) for prompts, _ in calls] == [3, 9, 9, 9, 9]
    for one in found:
        assert [len(entry.token_ids) for entry in one.sequences] == [5, 5, 5]
        assert {entry.finish_reason for entry in one.sequences} == {"length"}
        scores = [entry.score for entry in one.sequences]
        assert scores == sorted(scores, reverse=True)
        assert scores == pytest.approx([entry.cumulative_logprob / 5 for entry in one.sequences])
        assert len({tuple(entry.token_ids) for entry in one.sequences}) == 3
    prompts, params = calls[-1]
    assert [prompt["cache_salt"] for prompt in prompts] == [""] * 6 + ["s"] * 3
    assert {(each.max_tokens, each.logprobs) for each in params} == {(1, 6)}
    searches = [each.extra_args["acme-beam-search"] for each in params]
    assert [search["search"] for search in searches] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert len({search["began"] for search in searches}) == 1


def test_text_and_stop_tokens(llm):
    (plain,) = beam_search(llm, ["hello"], PARAMS)
    stop = plain.sequences[0].token_ids[2]
    params = BeamSearchParams(beam_width=3, max_tokens=5, ignore_eos=True, stop_token_ids=[stop])
    (found,) = beam_search(llm, ["hello"], params)
    ended = [entry for entry in found.sequences if entry.finish_reason == "stop"]
    assert ended
    for entry in found.sequences:
        assert (stop in entry.token_ids) == (entry.finish_reason == "stop")
        shown = entry.token_ids[:-1] if entry.finish_reason == "stop" else entry.token_ids
        assert entry.text == llm.get_tokenizer().decode(shown)


def test_no_prompts(llm):
    assert beam_search(llm, [], PARAMS) == []


@pytest.mark.parametrize(
    "prompts, params, error, message",
    [
        ("hello", {}, PromptError, "expected a list of them"),
        ([1, 2, 3], {}, PromptError, "expected a list of them"),
        ({"prompt": "x"}, {}, PromptError, "expected a list of them"),
        (["x", 7.5], {}, PromptError, r"prompts\[1\]"),
        (["x" * (CONTEXT - 3)], {}, ParameterError, f"5 do not fit after {CONTEXT - 3} of a prompt: .* is {CONTEXT}"),
        (["x"], {"stop_token_ids": [9999]}, ParameterError, "outside of the vocabulary"),
    ],
)
def test_what_is_wrong_is_an_error(llm, prompts, params, error, message):
    with pytest.raises(error, match=message):
        beam_search(llm, prompts, BeamSearchParams(beam_width=2, max_tokens=5, **params))


def test_another_order_hears_nothing_of_searches(tmp_path, llm):
    with LLM(str(write_model(tmp_path)), plugins=[NullPlugin()], platform="null") as other:
        assert beam_search(other, ["hello"], PARAMS) == beam_search(llm, ["hello"], PARAMS)
