"""Each test starts a process, so each asks for much."""

from __future__ import annotations

import json

import pytest


def test_run_in_a_batch_as_json(run_json, smollm2_path, tmp_path):
    (tmp_path / "prompts.jsonl").write_text(
        '{"prompt": "2 + 2 ="}\n{"prompt_token_ids": [504, 3575, 282, 4649, 314]}\n'
    )
    arguments = ["smollm2-135m", "--prompt", "The capital of France is", "--prompt-file", tmp_path / "prompts.jsonl"]
    first, second, third = run_json(*arguments, "--max-tokens", 6, "--temperature", 0, "--dtype", "float32")
    assert [one["index"] for one in (first, second, third)] == [0, 1, 2]
    assert "Paris" in first["text"]
    assert third["prompt"] is None
    assert all(one["finish_reason"] == "length" and len(one["token_ids"]) == 6 for one in (first, second, third))
    vocabulary = json.loads((smollm2_path / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    words = {index: word for word, index in vocabulary.items()}
    assert (
        "".join(words[index] for index in first["prompt_token_ids"]) == "The\u0120capital\u0120of\u0120France\u0120is"
    )


@pytest.mark.long
def test_chat_remembers(kernelet):
    stdin = "My name is Zebulon. Remember it.\nWhat is my name?\n"
    out, err = kernelet("chat", "smollm2-135m", "--max-tokens", 40, "--dtype", "float32", stdin=stdin)
    assert err == ""
    assert "Zebulon" in out.splitlines()[-1] or out.count("Zebulon") >= 2


def test_a_stream_of_a_message_and_the_models_folder(kernelet, smollm2_path):
    out, _ = kernelet("run", "smollm2-135m", "--chat", "--prompt", "Say hello.", "--max-tokens", 12)
    assert "ello" in out
    assert kernelet("model", "path", "smollm2-135m") == (f"{smollm2_path}\n", "")


def test_what_is_installed(kernelet):
    out, _ = kernelet("plugins", "list", "--json")
    states = {row["name"]: row["state"] for row in json.loads(out)}
    assert {states[name] for name in ("core", "platform-cpu", "models-decoder", "model-smollm2")} == {"active"}
    out, _ = kernelet("model", "architectures", "--json")
    assert "LlamaForCausalLM" in {row["name"] for row in json.loads(out)}
