"""The demo model against `transformers` on the same weights: greedy text, and the error of our logits.

The truth is `transformers` in float64. In each dtype our error may be at most 1.5 times that of `transformers` itself.
CI takes the two shortest prompts and a few tokens; the long run takes all twenty.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import logit_recorder
import pytest
import torch
import transformers
from varied_prompts import prompts

from kernelet import LLM, SamplingParams

SEED = 20
NEW_TOKENS = 64
FEW = 16
"""Of each prompt, in CI."""
CLOSE = 1e-3
"""Gap of the two best float64 logits below which two correct float32 programs may differ."""


def reference(path: Path, dtype: torch.dtype) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(path, dtype=dtype).eval()


@torch.inference_mode()
def forced(model: Any, prompt: list[int], output: list[int]) -> torch.Tensor:
    """Logits [len(output), vocab] of the reference that decided each token of `output`."""
    ids = torch.tensor([prompt + output])
    return model(ids, logits_to_keep=len(output) + 1).logits[0, :-1]


@dataclass
class Asked:
    prompts: list[list[int]]
    new_tokens: int


@dataclass
class Ours:
    tokens: list[list[int]]
    logits: list[torch.Tensor]


def ours(path: Path, dtype: str, asked: Asked) -> Ours:
    logit_recorder.ROWS.clear()
    params = SamplingParams(temperature=0.0, max_tokens=asked.new_tokens, ignore_eos=True)
    with LLM(
        str(path),
        dtype=dtype,
        max_num_seqs=8,
        max_num_batched_tokens=512,
        plugins=[logit_recorder.RecorderPlugin()],
        logits_processors=["recorder"],
    ) as llm:
        outputs = llm.generate([{"prompt_token_ids": ids} for ids in asked.prompts], params)
    tokens = [list(output.outputs[0].token_ids) for output in outputs]
    return Ours(tokens, [torch.stack(logit_recorder.ROWS[tuple(ids)][: asked.new_tokens]) for ids in asked.prompts])


@pytest.fixture(scope="module", params=["few", pytest.param("all", marks=pytest.mark.long)])
def asked(request: pytest.FixtureRequest, smollm2_path: Path) -> Asked:
    tokenizer = transformers.AutoTokenizer.from_pretrained(smollm2_path)
    every = prompts(lambda text: tokenizer.encode(text, add_special_tokens=False), SEED)
    return Asked(every, NEW_TOKENS) if request.param == "all" else Asked(sorted(every, key=len)[:2], FEW)


@pytest.fixture(scope="module")
def truth(smollm2_path: Path) -> Any:
    return reference(smollm2_path, torch.float64)


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def run(request: pytest.FixtureRequest, smollm2_path: Path, asked: Asked) -> tuple[str, Ours]:
    return request.param, ours(smollm2_path, request.param, asked)


def test_logit_error(run: tuple[str, Ours], smollm2_path: Path, asked: Asked, truth: Any) -> None:
    dtype, result = run
    peer = reference(smollm2_path, getattr(torch, dtype))
    worst = {"ours": 0.0, "transformers": 0.0}
    total = {"ours": 0.0, "transformers": 0.0}
    count = 0
    for prompt, tokens, logits in zip(asked.prompts, result.tokens, result.logits, strict=True):
        exact = forced(truth, prompt, tokens)
        for name, rows in (("ours", logits), ("transformers", forced(peer, prompt, tokens))):
            error = (rows.double() - exact).abs()
            assert torch.isfinite(error).all()
            worst[name] = max(worst[name], error.max().item())
            total[name] += error.sum().item()
        count += exact.numel()
    print(f"\n{dtype}: largest {worst}, mean { {name: value / count for name, value in total.items()} }")
    assert worst["ours"] <= 1.5 * worst["transformers"]
    assert total["ours"] <= 1.5 * total["transformers"]


@torch.inference_mode()
def test_greedy_text_in_float32(run: tuple[str, Ours], smollm2_path: Path, asked: Asked, truth: Any) -> None:
    dtype, result = run
    if dtype != "float32":
        assert all(len(tokens) == asked.new_tokens for tokens in result.tokens)
        return
    peer = reference(smollm2_path, torch.float32)
    different = 0
    for prompt, tokens in zip(asked.prompts, result.tokens, strict=True):
        ids = torch.tensor([prompt])
        generated = peer.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=asked.new_tokens, do_sample=False, eos_token_id=-1
        )
        expected = generated[0, len(prompt) :].tolist()
        if tokens == expected:
            continue
        place = next(i for i, (a, b) in enumerate(zip(tokens, expected, strict=True)) if a != b)
        best = forced(truth, prompt, tokens[: place + 1])[-1].topk(2).values
        gap = (best[0] - best[1]).item()
        print(f"\nprompt of {len(prompt)}: differs at {place}, gap of the two best in float64 {gap:.2e}")
        assert gap < CLOSE
        different += 1
    assert different <= 1
