from __future__ import annotations

import pytest

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.tokenizer.vocabulary import Vocabulary


def vocabulary(tokens=("<s>", "a", "b", "</s>", "<|im_end|>", "[PAD5]"), types=(3, 1, 1, 3, 4, 5), **fields):
    said = {f"tokenizer.ggml.{key}": value for key, value in fields.items()}
    given = {"tokenizer.ggml.tokens": list(tokens), "tokenizer.ggml.token_type": list(types)}
    return Vocabulary.of(given | said)


def test_tokens_that_nothing_uses_are_left_out_at_the_end_only():
    assert vocabulary().tokens[-1] == "<|im_end|>"
    assert len(vocabulary(types=(3, 5, 1, 3, 4, 1)).tokens) == 6


def test_added_tokens_after_the_vocabulary_are_no_part_of_it():
    found = vocabulary()
    assert found.proper() == {"<s>": 0, "a": 1, "b": 2}
    assert found.added == {0: "<s>", 3: "</s>", 4: "<|im_end|>"}
    special = {token["content"]: token["special"] for token in found.added_tokens()}
    assert special == {"<s>": True, "</s>": True, "<|im_end|>": True}
    assert not vocabulary(tokens=("<s>", "a", "b", "</s>", "\n\n", "x")).is_special(4)


def test_a_token_with_a_role_is_found_whatever_its_type():
    assert vocabulary(eos_token_id=2).added[2] == "b"


def test_all_ends_of_a_message():
    assert vocabulary(eos_token_id=3).end_ids() == [3, 4]
    assert vocabulary(eos_token_id=3, eot_token_id=1).end_ids() == [3, 1, 4]
    assert vocabulary(eos_token_id=99).end_ids() == [4]


def around(found):
    def text(part):
        ((_kind, said),) = part.items()
        return said["id"]

    return found and [text(part) for part in found["single"]]


@pytest.mark.parametrize(
    "fields, bos, expected",
    [
        ({}, True, ["<s>", "A"]),
        ({}, False, None),
        ({"add_bos_token": False}, True, None),
        ({"add_bos_token": True, "add_eos_token": True}, False, ["<s>", "A", "</s>"]),
        ({"add_bos_token": False, "add_eos_token": True}, True, ["A", "</s>"]),
    ],
)
def test_what_is_put_around_a_text(fields, bos, expected):
    found = vocabulary(bos_token_id=0, eos_token_id=3, **fields).post_processor(bos=bos)
    assert around(found) == expected


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"tokens": ()}, "no tokens"),
        ({"types": (1, 1)}, "6 tokens, 2 types"),
        ({"scores": [1.0]}, "1 scores"),
    ],
)
def test_lists_that_do_not_fit_are_refused(fields, message):
    with pytest.raises(UnsupportedModelError, match=message):
        vocabulary(**fields)


def test_a_token_that_is_there_twice_is_refused():
    with pytest.raises(UnsupportedModelError, match="the token 'a' twice"):
        vocabulary(tokens=("a", "a", "b", "c", "d", "e"), types=(1,) * 6).proper()


def test_special_tokens_of_phi_3_take_the_spaces_after_them():
    given = {
        "general.architecture": "phi3",
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": ["<s>", "<|end|>"],
    }
    found = Vocabulary.of(given | {"tokenizer.ggml.token_type": [3, 3]})
    assert [token["rstrip"] for token in found.added_tokens()] == [False, True]
