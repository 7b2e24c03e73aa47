"""The command on texts of green tokens and on others."""

from __future__ import annotations

import argparse
import io
import json

import numpy as np
import pytest
import tokenizers
from acme_watermark import command
from acme_watermark.plugin import kernelet_options
from acme_watermark.scheme import Scheme

from kernelet.errors import ConfigError, ModelNotFoundError

VOCAB = 300
KEY = kernelet_options().schema["key"].default


@pytest.fixture
def model(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"vocab_size": VOCAB}))
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"w{i}": i for i in range(VOCAB)}, unk_token="w0"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def run(*arguments):
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args([str(argument) for argument in arguments]))


def marked(scheme: Scheme, length=60):
    generator = np.random.default_rng(4)
    text = [1]
    while len(text) < length:
        text.append(int(generator.choice(scheme.green(text))))
    return text


def test_a_text_is_tokenized(model, tmp_path, capsys, monkeypatch):
    text = " ".join(f"w{token}" for token in marked(Scheme(key=KEY, vocab_size=VOCAB)))
    (tmp_path / "text.txt").write_text(text)
    assert run(model, tmp_path / "text.txt") == 0
    assert capsys.readouterr().out.startswith("watermarked: 59 of 59 tokens are green, z = 13.30, p = ")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert run(model, "--key", KEY + 1) == 0
    assert capsys.readouterr().out.startswith("no watermark found: ")


def test_lines_of_kernelet_run(model, tmp_path, capsys):
    text = marked(Scheme(key=5, vocab_size=VOCAB, gamma=0.5, context=2))
    other = np.random.default_rng(5).integers(0, VOCAB, 60).tolist()
    lines = [
        {"prompt_token_ids": [3, 9, 2, text[0]], "token_ids": text[1:]},
        {"prompt_token_ids": other[:1], "token_ids": other[1:]},
    ]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    options = ("--jsonl", "--json", "--key", 5, "--gamma", 0.5, "--context", 2)
    assert run(model, tmp_path / "answers.jsonl", *options) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["watermarked"] is True
    assert first["num_scored"] == 59
    assert second["watermarked"] is False
    assert second["z"] < 4 < first["z"]


@pytest.mark.parametrize(
    "content, options, kind, says",
    [
        ("w1", (), ConfigError, "1 tokens are too few"),
        ("w1 w2", ("--gamma", 1.5), ConfigError, "--gamma must be between 0 and 1"),
        ("{}", ("--jsonl",), ConfigError, "line 1 is no line of `kernelet run --json`"),
        ("[1]", ("--jsonl",), ConfigError, "line 1 is no line of `kernelet run --json`"),
    ],
)
def test_what_cannot_be_tested(model, tmp_path, content, options, kind, says):
    (tmp_path / "text.txt").write_text(content)
    with pytest.raises(kind, match=says):
        run(model, tmp_path / "text.txt", *options)


def test_a_folder_that_is_no_model(tmp_path):
    with pytest.raises(ModelNotFoundError, match=r"config\.json cannot be read"):
        run(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelNotFoundError, match="states no vocab_size"):
        run(tmp_path)
    (tmp_path / "config.json").write_text('{"vocab_size": 9}')
    (tmp_path / "text.txt").write_text("w1 w2")
    with pytest.raises(ModelNotFoundError, match="use --jsonl"):
        run(tmp_path, tmp_path / "text.txt")
