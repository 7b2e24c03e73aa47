"""What is wrong with a request: a table of values by field, and prompts. Its context is 64, its vocabulary 260."""

from __future__ import annotations

import numpy as np

NAN, INF = float("nan"), float("inf")
NO_NUMBERS = ["1", "", [], {}, True, np.bool_(True), NAN, INF, -INF, 1j, object()]
NO_FLAGS = [None, 0, 1, "true", [], NAN]

WRONG = {
    "n": [None, 0, -1, 1.0, 10**6, *NO_NUMBERS],
    "temperature": [None, -0.001, 1e6, *NO_NUMBERS],
    "top_p": [None, 0, -0.5, 1.0001, np.float32(2), *NO_NUMBERS],
    "top_k": [None, -2, 0.5, 2**40, *NO_NUMBERS],
    "min_p": [None, -0.001, 1.001, *NO_NUMBERS],
    "presence_penalty": [None, -2.001, 2.001, *NO_NUMBERS],
    "frequency_penalty": [None, -2.001, 2.001, *NO_NUMBERS],
    "repetition_penalty": [None, 0, -1, 1e9, *NO_NUMBERS],
    "seed": [-1, 2**64, 0.5, *NO_NUMBERS],
    "max_tokens": [-1, 0.5, 64, 10**30, *NO_NUMBERS],
    "min_tokens": [None, -1, 0.5, 17, 10**30, *NO_NUMBERS],
    "stop": [1, True, b"x", "", [""], [1], [None], [["x"]], ["\ud800"], ["s"] * 10_000, ["s" * 10**6], {"a": "b"}],
    "stop_token_ids": [1, "1", [-1], [260], [1.0], ["1"], [None], [True], [10**30], [1] * 10_000],
    "ignore_eos": NO_FLAGS,
    "bad_words": [1, "word", [""], [" "], [1], ["\ud800"], ["w"] * 10_000, ["w" * 10**6]],
    "logit_bias": [1, "x", [1], {260: 1}, {-1: 1}, {"AI": -100}, {1: 101}, {1: NAN}, {1: "x"}, {1: None}, {1.5: 1}],
    "allowed_token_ids": [1, "1", [], [-1], [260], [1.0], [None], [1] * 10_000],
    "logprobs": [-2, 0.5, 261, *NO_NUMBERS],
    "prompt_logprobs": [-2, 0.5, 261, *NO_NUMBERS],
    "skip_special_tokens": NO_FLAGS,
    "spaces_between_special_tokens": NO_FLAGS,
    "include_stop_str_in_output": NO_FLAGS,
    "detokenize": NO_FLAGS,
    "extra_args": [1, "x", [1], {"unknown": {}}, {1: {}}, {"core": {"x": 1}}],
    "structured_outputs": [
        5,
        "a+",
        {"regex": 5},
        {"regex": "a", "choice": ["b"]},
        {"choice": []},
        {"guided_json": {}},
        {"json": {}, "whitespace_pattern": " *"},
        {"regex": "a", "backend": "none-such"},
    ],
}
CASES = [(name, value) for name, values in WRONG.items() for value in values]

WRONG_PROMPTS = {
    "empty text": "",
    "no ids": [[]],
    "empty ids": {"prompt_token_ids": []},
    "beyond the vocabulary": [260],
    "negative id": {"prompt_token_ids": [1, -1]},
    "huge id": {"prompt_token_ids": [10**30]},
    "no integers": {"prompt_token_ids": [1.5]},
    "text for ids": {"prompt_token_ids": "abc"},
    "no prompt": None,
    "a number": 5,
    "unknown key": {"text": "x"},
    "surrogate": "\udc00",
    "at the context": "x" * 64,
    "beyond the context": "x" * 65,
    "far beyond": "x" * 10_000,
}
