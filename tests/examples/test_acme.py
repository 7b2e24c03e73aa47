"""Five packages of a third party, from their wheels: what they promise holds, and each does its work end to end."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from secrets import token_hex

import pytest
import tiny_models
import torch
import transformers

from kernelet.testing.null import write_model

ACME = ("acme-model", "acme-weights-encrypted", "acme-watermark", "acme-recorder", "acme-ranker")
THREADS = ("--set", "platform-cpu.threads=1")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.full(tmp_path_factory.mktemp("tiny"))


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@pytest.mark.long
def test_their_own_tests_and_suites_pass(acme, own_tests):
    assert " passed" in own_tests(acme, *ACME)


def test_they_are_there_and_so_are_their_commands(acme):
    rows = {row["name"]: row for row in json.loads(acme.kernelet("plugins", "list", "--json"))}
    states = {name: rows[name]["state"] for name in ACME}
    assert states == dict.fromkeys(ACME, "active") | {"acme-watermark": "blocked"}
    assert "it changes outputs" in rows["acme-watermark"]["reason"]
    shown = acme.kernelet("--help")
    assert "(acme-watermark)" in shown
    assert "(acme-weights-encrypted)" in shown


# --- acme-model, and acme-recorder beside it --------------------------------------------------------


def gpt2(folder: Path) -> transformers.GPT2LMHeadModel:
    torch.manual_seed(1)
    config = transformers.GPT2Config(
        vocab_size=300, n_positions=128, n_embd=32, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=1, pad_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.15)
    model.save_pretrained(folder)
    return model.double()


def test_the_model_writes_what_transformers_writes_and_the_recorder_notes_it(acme, tmp_path):
    reference = gpt2(tmp_path / "gpt2")
    prompts = [[(5 * index + 3) % 290 + 2 for index in range(length)] for length in (1, 20, 50)]
    file = tmp_path / "prompts.jsonl"
    file.write_text("\n".join(json.dumps({"prompt_token_ids": ids}) for ids in prompts))
    options = ("--prompt-file", str(file), "--max-tokens", "40", "--ignore-eos", "--no-detokenize", "--json", *THREADS)
    database = tmp_path / "requests.sqlite"
    out = acme.kernelet(
        "run",
        str(tmp_path / "gpt2"),
        "--dtype",
        "float64",
        *options,
        "--set",
        f"acme-recorder.file={database}",
    )
    answers = lines(out)
    for ids, answer in zip(prompts, answers, strict=True):
        sampling = {"do_sample": False, "min_new_tokens": 40, "max_new_tokens": 40}
        with torch.no_grad():
            expected = reference.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), **sampling)
        assert answer["token_ids"] == expected[0, len(ids) :].tolist()
    assert len({tuple(answer["token_ids"]) for answer in answers}) == 3
    with closing(sqlite3.connect(database)) as connection:
        ((model, dtype),) = connection.execute("SELECT model, dtype FROM engines").fetchall()
        rows = connection.execute(
            "SELECT finish_reason, num_prompt_tokens, num_output_tokens, first_token_s <= total_s FROM requests"
        ).fetchall()
    assert (model, dtype) == (str(tmp_path / "gpt2"), "float64")
    assert sorted(rows) == [("length", length, 40, 1) for length in (1, 20, 50)]


TWO_ENGINES = """
import sys
from kernelet import LLM, SamplingParams
from kernelet.testing.null import NullPlugin

model, file = sys.argv[1:]
options = {"plugins": [NullPlugin()], "platform": "null", "set": {"acme-recorder": {"file": file}}}
with LLM(model, **options) as one, LLM(model, **options) as other:
    for count in (3, 2):
        for llm in (one, other):
            llm.generate(["hello"] * count, SamplingParams(max_tokens=4, ignore_eos=True))
"""


def test_two_engines_record_into_one_file_twice(acme, tmp_path):
    model, file = str(write_model(tmp_path / "null")), tmp_path / "requests.sqlite"
    for _ in range(2):
        acme.run("-c", TWO_ENGINES, model, str(file))
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute(
            "SELECT engine, platform, count(DISTINCT request), sum(num_output_tokens) "
            "FROM requests JOIN engines ON engine = id GROUP BY engine"
        ).fetchall()
    assert rows == [(engine, "null", 5, 20) for engine in (1, 2, 3, 4)]


# --- acme-weights-encrypted -------------------------------------------------------------------------

BOTH_AND_WRONG_KEYS = """
import json, sys
from pathlib import Path
from secrets import token_hex
from kernelet import LLM, SamplingParams
from kernelet.errors import KerneletError

plain, secret, damaged, right, wrong = sys.argv[1:]


def start(folder, key):
    options = {} if key is None else {"acme-weights-encrypted": {"key_file": key}}
    return LLM(folder, dtype="float64", set={"platform-cpu": {"threads": 1}} | options)


prompts = [[k + 3 for k in range(length)] for length in (1, 17, 40)]
params = SamplingParams(temperature=0.0, max_tokens=20, ignore_eos=True, detokenize=False)
tokens, errors = [], []
for folder, key in ((plain, None), (secret, right)):
    with start(folder, key) as llm:
        tokens.append([output.outputs[0].token_ids for output in llm.generate(prompts, params)])
for folder, key in ((secret, None), (secret, wrong), (secret, secret + "/config.json"), (damaged, right)):
    try:
        start(folder, key).close()
        errors.append("")
    except KerneletError as error:
        errors.append(f"{type(error).__name__}: {error}")
print(json.dumps({"tokens": tokens, "errors": errors}))
"""


def test_an_encrypted_model_writes_what_the_plain_one_writes(acme, tiny, tmp_path):
    right, wrong, secret = (str(tmp_path / name) for name in ("right.key", "wrong.key", "secret"))
    acme.kernelet("encrypt", "key", right)
    Path(wrong).write_text(token_hex(32), encoding="ascii")
    acme.kernelet("encrypt", "model", str(tiny), secret, "--key-file", right)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for path in Path(secret).iterdir():
        raw = bytearray(path.read_bytes())
        raw[-20] ^= path.suffix == ".encrypted"
        (damaged / path.name).write_bytes(raw)
    out = acme.run("-c", BOTH_AND_WRONG_KEYS, str(tiny), secret, str(damaged), right, wrong, OMP_NUM_THREADS="1")
    (found,) = lines(out)
    plain, encrypted = found["tokens"]
    assert plain == encrypted
    assert len({tuple(tokens) for tokens in plain}) == 3
    missing, other, no_key, broken = found["errors"]
    assert missing.startswith(f"ConfigError: the weights in {secret} are encrypted: name the file with the key, --set")
    assert other.startswith(f"ConfigError: {secret}/model.encrypted was encrypted with another key: name its file")
    assert no_key.startswith(f"ConfigError: {secret}/config.json is no key file")
    assert broken.startswith(f"WeightsError: {damaged}/model.encrypted is damaged at")
    hidden = [Path(key).read_text(encoding="ascii").strip() for key in (right, wrong)]
    assert not [key for key in hidden if key in out]
    assert not [error for error in found["errors"] if "\n" in error]


# --- acme-watermark ---------------------------------------------------------------------------------

WATERMARKED = """
import json, sys
from kernelet import LLM, SamplingParams

prompts = ["w5 w6 w7", "w9 w8"]
params = [
    SamplingParams(temperature=1.0, seed=index, max_tokens=60, ignore_eos=True, extra_args=extra)
    for extra in ({"acme-watermark": {"delta": 4.0}}, None)
    for index in range(len(prompts))
]
options = {"dtype": "float32", "set": {"platform-cpu": {"threads": 1}}}
with LLM(sys.argv[1], logits_processors=["acme-watermark"], **options) as llm:
    outputs = llm.generate(prompts * 2, params)
    alone = llm.generate(prompts[1], params[1])
for output in [*outputs, *alone]:
    answer = output.outputs[0]
    print(json.dumps({"prompt_token_ids": output.prompt_token_ids, "token_ids": answer.token_ids, "text": answer.text}))
"""


def test_a_watermark_is_found_where_it_was_asked_for(acme, tiny, tmp_path):
    out = acme.run("-c", WATERMARKED, str(tiny), OMP_NUM_THREADS="1")
    *answers, alone = lines(out)
    assert alone == answers[1], "the same tokens alone and in a batch"
    (tmp_path / "answers.jsonl").write_text(out, encoding="utf-8")
    detect = ("detect-watermark", str(tiny))
    found = lines(acme.kernelet(*detect, str(tmp_path / "answers.jsonl"), "--jsonl", "--json"))
    assert [one["watermarked"] for one in found] == [True, True, False, False, True]
    assert min(one["z"] for one in found[:2]) > 5
    assert max(abs(one["z"]) for one in found[2:4]) < 3
    text = tmp_path / "text.txt"
    text.write_text(answers[0]["text"], encoding="utf-8")
    assert acme.kernelet(*detect, str(text)).startswith("watermarked: ")
    said = acme.kernelet(*detect, str(text), "--key", "1")
    assert said.startswith("no watermark found: ")
