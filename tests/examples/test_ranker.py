"""acme-ranker from its wheel: the order and the scores of transformers, selected by a flag or by the checkpoint."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny_models
import torch
import transformers

QUERY = "w5 w9 w11 w40"
DOCUMENTS = ["w5 w9 w11 w40", "w100 w3", "w9 w11", "w7 w8 w9 w10 w11 w12", "w200", "w40 w11 w9 w5"]

RANK = """
import json, sys
from kernelet import LLM
from kernelet.contracts.pooling import PoolingParams
from kernelet.errors import KerneletError

folder, named, requests = json.loads(sys.argv[1])
options = {"io_processor_plugin": "ranker"} if named else {}
found = []
with LLM(folder, dtype="float64", set={"platform-cpu": {"threads": 1}}, **options) as llm:
    for data, params in requests:
        try:
            (answer,) = llm.encode({"data": data}, PoolingParams(**params) if params else None)
            found.append(answer.outputs["results"])
        except KerneletError as error:
            found.append(f"{type(error).__name__}: {error}")
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.full(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def claiming(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same checkpoint, which names its own processor."""
    copy = shutil.copytree(folder, tmp_path_factory.mktemp("claiming") / "model")
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"io_processor_plugin": "ranker"}))
    return copy


def ids(text: str) -> list[int]:
    """Words of the tiny model's tokenizer; others are its unknown word."""
    return [int(word[1:]) if word[1:].isdigit() else 2 for word in text.split()]


def truth(folder: Path, texts: list[str], *, mean: bool = False, dimensions: int | None = None) -> list[float]:
    """The cosine of the first text with each other one."""
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float64).eval()
    vectors = []
    for text in texts:
        with torch.inference_mode():
            states = model(torch.tensor([ids(text)])).last_hidden_state[0].numpy()
        vector = (states.mean(axis=0) if mean else states[-1])[:dimensions]
        vectors.append(vector / np.linalg.norm(vector))
    return [float(vectors[0] @ vector) for vector in vectors[1:]]


def check(results: list[dict], scores: list[float]) -> None:
    assert [one["index"] for one in results] == sorted(range(len(scores)), key=lambda index: -scores[index])
    assert [one["score"] for one in results] == pytest.approx(sorted(scores, reverse=True), abs=1e-5)


@pytest.mark.parametrize("way", ["by flag", "by checkpoint"])
def test_documents_are_ranked_as_transformers_does(acme, folder, claiming, way):
    plain = {"query": QUERY, "documents": DOCUMENTS}
    instructed = plain | {"instruction": "w17 w18"}
    requests = [
        [plain, None],
        [plain, {"pooling": "mean", "dimensions": 24}],
        [plain | {"top_n": 1}, None],
        [instructed, None],
        [plain | {"documents": ["w5", ""]}, None],
        [plain, {"normalize": False}],
        [plain, {"dimensions": 49}],
    ]
    named = way == "by flag"
    out = acme.run("-c", RANK, json.dumps([str(folder if named else claiming), named, requests]))
    first, short, one, third, *errors = json.loads(out.splitlines()[-1])
    check(first, truth(folder, [QUERY, *DOCUMENTS]))
    check(short, truth(folder, [QUERY, *DOCUMENTS], mean=True, dimensions=24))
    assert one == first[:1]
    assert one[0] == {"index": 0, "score": pytest.approx(1.0)}
    check(third, truth(folder, [f"Instruct: w17 w18\nQuery: {QUERY}", *DOCUMENTS]))
    assert [error.partition(": ")[2].partition(":")[0] for error in errors] == [
        "documents[1]",
        "normalize",
        "prompts[0]",
    ]
    assert "dimensions: got 49 (int), expected an integer from 1 to 48" in errors[2]


def test_a_checkpoint_whose_processor_is_not_here_is_one_error(acme, claiming):
    out = acme.kernelet("run", str(claiming), "--prompt", "w5", "--plugins-block", "acme-ranker", check=False)
    assert "No IO processor is named 'ranker'" in out
    assert "acme-ranker blocked" in out
