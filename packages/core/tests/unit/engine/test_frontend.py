from __future__ import annotations

import dataclasses

import pytest

from kernelet.engine.bootstrap import start_engine
from kernelet.errors import ChatTemplateError


@pytest.fixture(scope="module")
def frontend(null_folder, null_options):
    frontend = start_engine(str(null_folder), null_options)
    yield frontend
    frontend.close()


def test_a_chat_prompt_gets_no_second_bos(frontend):
    parsed = frontend.chat_prompt([{"role": "user", "content": "hi"}], add_generation_prompt=False)
    assert (parsed.text, parsed.add_special_tokens) == ("<|user|>hi", False)


def test_a_final_message_can_be_continued(frontend):
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Well"}]
    parsed = frontend.chat_prompt(messages, add_generation_prompt=False, continue_final_message=True)
    assert parsed.text == "<|user|>hi<|assistant|>Well"


def test_another_template_may_be_given(frontend):
    parsed = frontend.chat_prompt([{"role": "user", "content": "hi"}], chat_template="{{ messages[0].content }}!")
    assert parsed.text == "hi!"


def test_a_model_without_a_tokenizer_has_no_chat(frontend):
    with pytest.raises(ChatTemplateError, match="no tokenizer"):
        dataclasses.replace(frontend, chat_template=None).chat_prompt([{"role": "user", "content": "hi"}])


@pytest.mark.parametrize("caching, expected", [(True, 16), (False, None)])
def test_answers_share_a_prompt_of_a_block_where_prefixes_are_cached(frontend, caching, expected):
    cache = dataclasses.replace(frontend.config.cache, enable_prefix_caching=caching)
    config = dataclasses.replace(frontend.config, cache=cache)
    from kernelet.contracts.sampling import SamplingParams

    request = frontend.input_processor.prepare([1] * 16, SamplingParams(n=2), request_id="r")
    owned = dataclasses.replace(frontend, config=config).own(request, lambda outputs: None)
    assert len(owned._first) == (1 if expected else 2)
