from __future__ import annotations

from scripted_engine import choice, output

from kernelet.request.message import ParsedMessage
from kernelet_server_openai.serving.usage import count_usage


def test_answers_of_one_request_count_its_prompt_once():
    one = output(choice("a", (1, 2)), choice("b", (3,), index=1), prompt=(1, 2, 3), num_cached_tokens=2)
    two = output(choice("c", (4,)), prompt=(1,))
    assert count_usage((one, two)) == {
        "prompt_tokens": 4,
        "completion_tokens": 4,
        "total_tokens": 8,
        "prompt_tokens_details": {"cached_tokens": 2},
    }
    assert count_usage(())["total_tokens"] == 0


def test_tokens_of_reasoning():
    message = ParsedMessage(reasoning="hm", num_reasoning_tokens=2)
    made = output(choice("x", (1, 2, 3), message=message), choice("y", (1,), index=1, message=message))
    assert count_usage((made,))["completion_tokens_details"] == {"reasoning_tokens": 4}
    assert count_usage((output(choice("x", (1,), message=ParsedMessage())),))["completion_tokens_details"] == {
        "reasoning_tokens": 0
    }
