"""Shapes of random models that several ranks can share, what their engines answer, and the ranks' processes."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

from kernelet import LLM, SamplingParams

NARROW: dict[str, Any] = {
    "vocab_size": 208,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "hidden_size": 64,
}
WIDE: dict[str, Any] = {
    "vocab_size": 512,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "num_hidden_layers": 3,
}
"""SmolLM2's width."""

OPTIONS: dict[str, Any] = {
    "dtype": "float64",
    "max_model_len": 280,
    "num_blocks": 100,
    "max_num_batched_tokens": 64,
    "block_size": 16,
}


def workers() -> list[int]:
    """Process ids of workers that this process has, by rank."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == os.getpid() and b"kernelet.executor.multiprocess.process" in command:
                found.append(int(entry.name))
    return sorted(found)


def prompts(count: int, vocab: int = 200) -> list[list[int]]:
    """Of lengths from 1 token to more than two chunks; some share a prefix of several blocks."""
    generator = random.Random(20)
    lengths = [1, 70, 150, 40, *(generator.randint(2, 120) for _ in range(count))][:count]
    made = [[generator.randrange(3, vocab) for _ in range(length)] for length in lengths]
    return [made[1][:50] + prompt if index % 3 == 2 else prompt for index, prompt in enumerate(made)]


def greedy(max_tokens: int = 20) -> SamplingParams:
    return SamplingParams(temperature=0.0, max_tokens=max_tokens, ignore_eos=True, detokenize=False, logprobs=3)


def answers(llm: LLM, given: list[list[int]], params: SamplingParams | None = None) -> list[tuple[object, ...]]:
    """Tokens and log-probabilities of each prompt."""
    outputs = [output.outputs[0] for output in llm.generate(given, params or greedy(), use_tqdm=False)]
    return [(one.token_ids, one.logprobs) for one in outputs]


def texts(llm: LLM, given: list[list[int]], params: SamplingParams | None = None) -> list[object]:
    found = [tokens for tokens, _ in answers(llm, given, params)]
    assert len({tuple(tokens) for tokens in found}) == len(given), "prompts have one answer"
    return found


def check_same_bits(llm: LLM, given: list[list[int]]) -> None:
    """Together, alone, in other chunks, and from the prefix cache."""
    llm.frontend.client.reset_prefix_cache()
    before = llm.stats()
    together = answers(llm, given)
    cut = llm.stats()
    assert cut.num_chunked > before.num_chunked
    for order in (given, given[::-1]):
        llm.frontend.client.reset_prefix_cache()
        alone = {tuple(prompt): answers(llm, [prompt])[0] for prompt in order}
        assert [alone[tuple(prompt)] for prompt in given] == together
    hits = llm.stats().prefix_hits
    assert answers(llm, given) == together
    assert llm.stats().prefix_hits >= hits + 32
