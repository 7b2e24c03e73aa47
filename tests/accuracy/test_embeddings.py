"""Embeddings against the hidden states of `transformers`, in float64: any decoder model pools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny_models
import torch
import transformers
from numpy.typing import NDArray

from kernelet import LLM, SamplingParams
from kernelet.contracts.pooling import PoolingParams

LENGTHS = (1, 2, 16, 17, 33, 90, 200)
PREFIX = [(7 * index + 3) % 200 + 2 for index in range(64)]
HIDDEN = tiny_models.SHAPE["hidden_size"]


@pytest.fixture(scope="module", params=["full", "windowed"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return getattr(tiny_models, request.param)(tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def prompts() -> list[list[int]]:
    """Most begin alike, so that the prefix cache has something to give."""
    generator = np.random.default_rng(3)
    return [
        [*PREFIX, *generator.integers(2, tiny_models.VOCAB, length).tolist()][-length:] for length in LENGTHS[:4]
    ] + [[*PREFIX, *generator.integers(2, tiny_models.VOCAB, length - len(PREFIX)).tolist()] for length in LENGTHS[5:]]


@pytest.fixture(scope="module")
def states(folder: Path, prompts: list[list[int]]) -> list[NDArray[np.float64]]:
    """[tokens, hidden] of each prompt, after the last norm."""
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float64).eval()
    with torch.inference_mode():
        return [model(torch.tensor([ids])).last_hidden_state[0].numpy() for ids in prompts]


def expected(
    states: NDArray[np.float64], pooling: str, *, dimensions: int | None = None, normalize: bool = True
) -> NDArray[np.float64]:
    vector = states[-1] if pooling == "last" else states.mean(axis=0)
    vector = vector[:dimensions]
    return vector / np.linalg.norm(vector) if normalize else vector


def assert_close(got: NDArray[np.float32], wanted: NDArray[np.float64]) -> None:
    """`transformers` takes norms and rotations in float32, in a model of float64 too."""
    scale = float(np.abs(wanted).max())
    np.testing.assert_allclose(got, wanted, rtol=0, atol=2e-6 * scale)


def start(folder: Path, **options: object) -> LLM:
    return LLM(str(folder), dtype="float64", set={"platform-cpu": {"threads": 1}}, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_num_batched_tokens": 7, "max_num_seqs": 2},
        {"max_num_seqs": 1, "enable_prefix_caching": False},
        {"max_model_len": 256, "num_blocks": 18},
    ],
    ids=["one batch", "chunks", "alone", "small pool"],
)
def test_pooled_states_are_those_of_transformers(
    folder: Path, prompts: list[list[int]], states: list[NDArray[np.float64]], options: dict[str, object]
) -> None:
    asked = [(index, pooling) for _ in range(2) for index in range(len(prompts)) for pooling in ("mean", "last")]
    with start(folder, **options) as llm:
        params = [PoolingParams(pooling=pooling) for _, pooling in asked]
        outputs = llm.embed([prompts[index] for index, _ in asked], params)
        again = llm.embed([prompts[index] for index, _ in asked[::-1]], params[::-1])[::-1]
    for output, (index, pooling) in zip(outputs, asked, strict=True):
        assert_close(output.outputs.data, expected(states[index], pooling))
    assert [one.outputs.data.tobytes() for one in again] == [one.outputs.data.tobytes() for one in outputs]
    cached = dict.fromkeys(("mean", "last"), 0)
    for output, (_, pooling) in zip(again, asked, strict=True):
        cached[pooling] += output.num_cached_tokens
    assert cached["mean"] == 0
    assert (cached["last"] > 0) == options.get("enable_prefix_caching", True)


def test_dimensions_and_raw_states_beside_text(
    folder: Path, prompts: list[list[int]], states: list[NDArray[np.float64]]
) -> None:
    with start(folder) as llm:
        greedy = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True)
        before = llm.generate(prompts, greedy)
        for dimensions in (1, 7, HIDDEN):
            (short,) = llm.embed(prompts[-1], PoolingParams(dimensions=dimensions))
            assert_close(short.outputs.data, expected(states[-1], "last", dimensions=dimensions))
        (raw,) = llm.encode(prompts[-1], PoolingParams(task="plugin", pooling="mean"))
        assert_close(raw.outputs.data, expected(states[-1], "mean", normalize=False))
        after = llm.generate(prompts, greedy)
    assert [one.outputs[0].token_ids for one in after] == [one.outputs[0].token_ids for one in before]
