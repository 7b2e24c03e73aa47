from __future__ import annotations

import json
from dataclasses import replace

from scripted_engine import choice, output

from kernelet.engine.prompts import ParsedPrompt
from kernelet_server_openai.serving.handover import handed_over, told_handover, with_facts


def test_a_prompt_of_messages_has_what_the_request_says_beside_them():
    prompt = ParsedPrompt(text="abc", cache_salt="own", kv_transfer_params={"own": 1})
    assert with_facts(prompt, None, None) == prompt
    assert with_facts(prompt, "s", None) == replace(prompt, cache_salt="s")
    assert with_facts(prompt, None, {"a": 1}) == replace(prompt, kv_transfer_params={"a": 1})


def test_nothing_is_said_where_there_is_nothing():
    assert handed_over((output(choice("x")),)) == {}
    assert told_handover(output(choice("x"))) == b""


def test_a_member_of_the_answer_and_of_a_chunk():
    made = output(choice("x"), kv_transfer_params={"remote_host": "a", "remote_block_ids": [[1, 2]]})
    expected = {"kv_transfer_params": {"remote_host": "a", "remote_block_ids": [[1, 2]]}}
    assert handed_over((output(choice("y")), made)) == expected
    assert json.loads(b'{"a":1' + told_handover(made) + b"}") == {"a": 1, **expected}
