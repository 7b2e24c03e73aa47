from __future__ import annotations

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Capabilities, PlatformConfig
from kernelet.contracts.sampling import SamplingParams
from kernelet.engine.input_processor import LETTERS_A_TOKEN, InputProcessor, check_request_id, choice_seed
from kernelet.errors import ParameterError, PromptError, RequestError
from kernelet.request.kv_params import ConnectorParams
from kernelet.testing.null.harness import null_engine_config
from kernelet.text.tokenizer import Tokenizer

MODEL = null_engine_config(max_model_len=32).model
EOS = 257


class Platform(PlatformConfig):
    def capabilities(self):
        return Capabilities(device_type="d", dtypes=("float32",), memory_bytes=1)

    def validate_request(self, prompt_len, params):
        if prompt_len == 13:
            raise RequestError("13 is unlucky on this platform")


@pytest.fixture(scope="module")
def processor(null_folder):
    return InputProcessor(Tokenizer.from_folder(null_folder), MODEL, Platform(Settings(plugin="p")), {})


def prepare(processor, prompt="hello", request_id="r", **params):
    return processor.prepare(prompt, SamplingParams(**params), request_id=request_id)


def test_a_text_is_tokenized_and_ids_are_taken(processor):
    assert prepare(processor).prompt_token_ids == list(b"hello")
    assert prepare(processor, [1, 2, 3]).prompt_token_ids == [1, 2, 3]
    assert prepare(processor, {"prompt_token_ids": [1], "prompt": "shown"}).prompt == "shown"


def test_stops_are_the_users_and_eos_unless_it_is_ignored(processor):
    (choice,) = prepare(processor, stop_token_ids=[5]).choices
    assert set(choice.stop_token_ids) == {5, EOS}
    (choice,) = prepare(processor, stop_token_ids=[5], ignore_eos=True).choices
    assert choice.stop_token_ids == (5,)


def test_all_stops_are_suppressed_before_min_tokens(processor):
    (choice,) = prepare(processor, stop_token_ids=[5], min_tokens=2).choices
    assert set(choice.params.suppressed_token_ids) == {5, EOS}
    assert prepare(processor, stop_token_ids=[5]).choices[0].params.suppressed_token_ids == ()
    assert prepare(processor, ignore_eos=True, min_tokens=2).choices[0].params.suppressed_token_ids == ()


def test_max_tokens_is_resolved(processor):
    assert prepare(processor, max_tokens=None).choices[0].max_tokens == 32 - 5
    assert prepare(processor, max_tokens=0).choices[0].max_tokens == 0


def test_choices_have_ids_and_seeds_of_their_own(processor):
    choices = prepare(processor, n=3, seed=7, prompt_logprobs=1, temperature=1.0).choices
    assert [choice.request_id for choice in choices] == ["r/0", "r/1", "r/2"]
    assert len({choice.params.seed for choice in choices}) == 3
    assert choices[0].params.seed == prepare(processor, seed=7).choices[0].params.seed == 7
    assert [choice.params.prompt_logprobs for choice in choices] == [1, None, None]
    assert prepare(processor).choices[0].request_id == "r"


def test_a_seed_is_drawn_where_none_was_given(processor):
    seeds = {prepare(processor).choices[0].params.seed for _ in range(5)}
    assert len(seeds) == 5
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_choice_seeds_fit_63_bits_and_differ():
    seeds = {choice_seed(seed, index) for seed in (0, 1, 2**63 - 1) for index in range(100)}
    assert len(seeds) == 300
    assert max(seeds) < 2**63


def test_bad_words_become_token_sequences(processor):
    (choice,) = prepare(processor, bad_words=["ab"]).choices
    assert choice.params.bad_words_token_ids[0] == tuple(b"ab")


@pytest.mark.parametrize(
    "prompt, params, error, message",
    [
        ("", {}, PromptError, "empty"),
        ([], {}, PromptError, "empty"),
        ([260], {}, PromptError, "outside the vocabulary"),
        ("x" * 33, {}, PromptError, "the context holds 32"),
        ("x" * 1000, {}, PromptError, "1000 characters, more than a context of 32 tokens can hold"),
        ("x" * 32, {"max_tokens": None}, PromptError, "no room"),
        ("x" * 31, {"max_tokens": 2}, ParameterError, "lower it to 1"),
        ("x" * 13, {}, RequestError, "unlucky"),
        ("x" * 30, {"max_tokens": None, "min_tokens": 3}, ParameterError, "the context leaves 2"),
        ("x", {"min_tokens": 1, "allowed_token_ids": [EOS]}, ParameterError, "nothing to choose"),
        ("\ud800", {}, PromptError, "surrogate"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(processor, prompt, params, error, message):
    with pytest.raises(error, match=message):
        prepare(processor, prompt, **params)


def test_too_many_ids_are_told_by_their_number(processor):
    """The last of them is no id: nothing has looked at it."""
    with pytest.raises(PromptError, match="the prompt has 34 tokens, the context holds 32"):
        prepare(processor, [1] * 33 + ["x"])


def test_of_a_text_that_is_far_too_long_the_beginning_is_tokenized(null_folder):
    asked = []

    class Spied(Tokenizer):
        longest_token = 40

        def encode(self, text, *, add_special_tokens=True):
            asked.append(len(text))
            return super().encode(text, add_special_tokens=add_special_tokens)

    processor = InputProcessor(Spied.from_folder(null_folder), MODEL, Platform(Settings(plugin="p")), {})
    with pytest.raises(PromptError, match="1200 characters, more than a context of 32 tokens can hold"):
        prepare(processor, "x" * 1200)
    assert asked == [32 * LETTERS_A_TOKEN]


def test_a_long_text_whose_tokens_fit_is_taken(null_folder):
    class Long(Tokenizer):
        longest_token = 40

        def encode(self, text, *, add_special_tokens=True):
            return super().encode(text[::40], add_special_tokens=add_special_tokens)

    processor = InputProcessor(Long.from_folder(null_folder), MODEL, Platform(Settings(plugin="p")), {})
    assert len(prepare(processor, "x" * 1200, max_tokens=1).prompt_token_ids) == 30


def test_priority_is_checked(processor):
    with pytest.raises(ParameterError, match="priority"):
        processor.prepare("x", SamplingParams(), request_id="r", priority="high")


def test_what_a_request_says_to_connectors(processor, null_folder):
    prompt = {"prompt": "x", "kv_transfer_params": {"remote": 1}}
    with pytest.raises(ParameterError, match="none is taken here"):
        prepare(processor, prompt)
    with pytest.raises(ParameterError, match="none is taken here"):
        processor.prepare_pooled(prompt, "last", request_id="r")
    taken = ConnectorParams(name="pull", keys=("remote",), validate=lambda _: None)
    platform = Platform(Settings(plugin="p"))
    processor = InputProcessor(Tokenizer.from_folder(null_folder), MODEL, platform, {}, connectors=(taken,))
    assert prepare(processor, prompt).choices[0].kv_transfer_params == {"remote": 1}
    assert prepare(processor).choices[0].kv_transfer_params is None
    with pytest.raises(ParameterError, match="n is 2"):
        prepare(processor, prompt, n=2)


def test_without_a_tokenizer_ids_work_and_text_does_not():
    processor = InputProcessor(None, MODEL, Platform(Settings(plugin="p")), {})
    assert prepare(processor, [1]).choices[0].stop_token_ids == (EOS,)
    with pytest.raises(PromptError, match="no tokenizer"):
        prepare(processor, "x")
    with pytest.raises(ParameterError, match=r"stop: .*no tokenizer"):
        prepare(processor, [1], stop=["x"])


@pytest.mark.parametrize("name", ["", 5, "a/0", None])
def test_request_ids(name):
    with pytest.raises(ParameterError, match="request_id"):
        check_request_id(name)
