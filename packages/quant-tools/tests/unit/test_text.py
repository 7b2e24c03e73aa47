from __future__ import annotations

import json

import pytest
from quantize_models import TEXT

from kernelet.errors import ConfigError
from kernelet.text.tokenizer import Tokenizer
from kernelet_quant_tools.text import python_manual, read_text, sequences


def test_a_file_is_read_as_it_is(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo é", encoding="utf-8")
    assert read_text(str(tmp_path / "a.txt")) == "one\n\ntwo é"
    lines = [json.dumps({"text": "one", "id": 1}), "", json.dumps({"text": "two"})]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert read_text(str(tmp_path / "a.jsonl")) == "one\n\ntwo"


def test_without_a_file_there_is_enough():
    text = read_text(None)
    assert text == python_manual()
    assert len(text) > 400_000
    assert 'The "if" statement' in text


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("none.txt", None, "cannot be read as UTF-8"),
        ("a.txt", b"\xff\xfe", "cannot be read as UTF-8"),
        ("a.jsonl", b'{"text": "a"}\n{"tex": "a"}', 'line 2 is no object with "text"'),
        ("a.jsonl", b"[1]", "line 1 is no object"),
        ("a.jsonl", b'{"text": 1}', '"text" of line 1 is no text'),
    ],
)
def test_what_is_no_text(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_text(str(tmp_path / name))


def test_pieces_are_spread_over_the_text(llama):
    tokenizer = Tokenizer.from_folder(llama)
    ids = tokenizer.encode(TEXT)
    found = sequences(tokenizer, TEXT, 3, 100)
    assert found.tolist() == [ids[:100], ids[250:350], ids[500:]]
    assert len(sequences(tokenizer, TEXT, 99, 100)) == 6
    with pytest.raises(ConfigError, match=r"has 600 tokens, and a piece is of 601: .* lower --seq-len"):
        sequences(tokenizer, TEXT, 1, 601)
