"""Masks that reach an engine's limits are found before an answer is begun, so that another engine has it."""

from __future__ import annotations

import pytest
from structured_engines import serve

from kernelet.structured.schema.lower import lower_schema
from kernelet.structured.schema.options import JsonOptions
from kernelet.text.tokenizer import Tokenizer
from kernelet.text.vocabulary import token_vocabulary

KEYS = {"type": "object", "patternProperties": {"b$": {"minimum": 5}, "c": {"maximum": 100}}, "minProperties": 1}
"""Several patterns match a key, and each may begin anywhere."""
INSIDE = {"type": "object", "properties": {"x": KEYS}, "required": ["x"], "additionalProperties": False}


@pytest.fixture(scope="module")
def vocabulary(smollm2_path):
    tokenizer = Tokenizer.from_folder(smollm2_path)
    return token_vocabulary(tokenizer, len(tokenizer))


@pytest.mark.parametrize("schema", [KEYS, INSIDE], ids=["object", "inside"])
def test_too_large_a_mask_is_found_by_the_compiler(vocabulary, schema):
    rules = lower_schema(schema, JsonOptions())
    with pytest.raises(ValueError, match=r"^guidance cannot compute its masks: parser error: Too many items"):
        serve("guidance", vocabulary).start(rules)
    answer = serve("xgrammar", vocabulary).start(rules)
    tokens = {text: token for token, text in enumerate(vocabulary.token_bytes)}
    begin = b'{"x":{"cab":7}}' if schema is INSIDE else b'{"cab":7}'
    assert answer.accept([tokens[bytes([byte])] for byte in begin])
    assert answer.can_end()
