from __future__ import annotations

import io
import json
import sys

import pytest

from kernelet.contracts.sampling import SamplerParams
from kernelet.testing.null.tokens import generate


def truth(prompt, count, **params):
    return generate(list(prompt), SamplerParams(seed=0, temperature=0.0, **params), 260, count)


LETTERS = ["--allowed-token-ids", ",".join(str(byte) for byte in b"abcdefgh")]


def letters(prompt, count):
    return bytes(truth(prompt, count, allowed_token_ids=tuple(b"abcdefgh"))).decode()


def test_one_prompt_is_streamed(kernelet, null_folder):
    assert kernelet("run", null_folder, "--prompt", "hi", "--max-tokens", 5, *LETTERS) == (
        0,
        letters(b"hi", 5) + "\n",
        "",
    )


def test_json_is_one_object_a_line(kernelet, null_folder):
    code, out, err = kernelet(
        "run", null_folder, "--prompt", "a", "--prompt", "b", "--max-tokens", 3, "--json", *LETTERS
    )
    assert (code, err) == (0, "")
    first, second = map(json.loads, out.splitlines())
    assert (first["index"], first["prompt"], first["prompt_token_ids"]) == (0, "a", [97])
    assert (first["text"], first["finish_reason"]) == (letters(b"a", 3), "length")
    assert first["token_ids"] == list(letters(b"a", 3).encode())
    assert (second["index"], second["text"]) == (1, letters(b"b", 3))


def test_several_answers(kernelet, null_folder):
    arguments = ["--prompt", "a", "--n", 2, "--temperature", 1, "--seed", 3, "--max-tokens", 2]
    _, out, _ = kernelet("run", null_folder, *arguments, "--json")
    assert [json.loads(line)["choice"] for line in out.splitlines()] == [0, 1]
    _, out, _ = kernelet("run", null_folder, *arguments, *LETTERS)
    assert [line for line in out.splitlines() if line.startswith("###")] == ["### 0/0: 'a'", "### 0/1: 'a'"]


def test_prompts_of_a_file_and_headings(kernelet, null_folder, tmp_path):
    (tmp_path / "p.txt").write_text("a\nb\n")
    arguments = ["--prompt-file", tmp_path / "p.txt", "--max-tokens", 2, *LETTERS]
    expected = f"### 0: 'a'\n{letters(b'a', 2)}\n### 1: 'b'\n{letters(b'b', 2)}\n"
    assert kernelet("run", null_folder, *arguments) == (0, expected, "")
    streamed = f"### 0\n{letters(b'a', 2)}\n### 1\n{letters(b'b', 2)}\n"
    assert kernelet("run", null_folder, *arguments, "--stream") == (0, streamed, "")
    _, out, _ = kernelet("run", null_folder, "--prompt", "a", "--no-stream", "--max-tokens", 2, *LETTERS)
    assert out == letters(b"a", 2) + "\n"


def test_the_default_length_keeps_within_the_context(kernelet, null_folder):
    _, out, _ = kernelet("run", null_folder, "--prompt", "x" * 250, "--json", "--ignore-eos")
    assert len(json.loads(out)["token_ids"]) == 6


def test_a_chat_message(kernelet, null_folder):
    _, out, _ = kernelet("run", null_folder, "--prompt", "hi", "--chat", "--json", "--max-tokens", 1)
    assert json.loads(out)["prompt"] == "<|user|>hi<|assistant|>"


def test_a_prompt_from_a_pipe(kernelet, null_folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("hi"))
    _, out, _ = kernelet("run", null_folder, "--max-tokens", 5, *LETTERS)
    assert out == letters(b"hi", 5) + "\n"


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["--prompt", "x", "--top-p", "2"], 2, "error: top_p: got 2.0"),
        (["--prompt", "x", "--temperature", "nan"], 2, "error: temperature: got nan"),
        (["--prompt", ""], 1, "error: the prompt is empty"),
        (["--prompt", "x" * 300], 1, "error: the prompt has 300 tokens"),
        (["--prompt", "x", "--prompt", ""], 1, "error: the prompt is empty"),
        (["--prompt", "x", "--max-tokens", "256"], 2, "error: max_tokens: got 256"),
        (["--prompt", "x", "--max-model-len", "300"], 1, "error: --max-model-len 300"),
        (
            ["--prompt", "x", "--nonsense"],
            2,
            "error: unrecognized arguments: --nonsense (`kernelet run --help` tells more)",
        ),
    ],
)
def test_errors_are_one_line_and_have_an_exit_code(kernelet, null_folder, arguments, code, message):
    found, out, err = kernelet("run", null_folder, *arguments)
    assert (found, out) == (code, "")
    assert err.startswith(message)
    assert err.count("\n") == 1


def test_a_model_that_does_not_exist(kernelet):
    code, _, err = kernelet("run", "/no/such/model", "--prompt", "x")
    assert code == 1
    assert err.startswith("error: there is no model '/no/such/model'; by a plugin: ")
    assert "as a folder: " in err
    assert "hub: " in err


def test_the_configuration_is_printed_and_nothing_runs(kernelet, null_folder):
    code, out, _ = kernelet("run", null_folder, "--print-config", "--block-size", 8)
    assert code == 0
    rows = {line.split()[0]: line for line in out.splitlines()}
    assert rows["block_size"].split() == ["block_size", "8", "--block-size"]
    assert rows["platform"].split() == ["platform", "null", "KERNELET_PLATFORM"]
    assert rows["max_num_seqs"].split()[-1] == "default"
    assert "NullForCausalLM" in rows["model.architecture"]
