"""The scores of tasks/facts.jsonl by the engine alone, without a server."""

from __future__ import annotations

import json
from pathlib import Path

from kernelet import LLM, SamplingParams

FACTS = Path(__file__).parent / "tasks" / "facts.jsonl"


def facts() -> list[dict]:
    """All lines."""
    return [json.loads(line) for line in FACTS.read_text(encoding="utf-8").splitlines()]


def scores(model: str) -> dict[str, list[float]]:
    """The log-probability of each end after its start, by id."""
    found: dict[str, list[float]] = {}
    params = SamplingParams(temperature=0.0, max_tokens=1, prompt_logprobs=0)
    with LLM(model) as llm:
        tokenizer = llm.get_tokenizer()
        assert tokenizer is not None
        for fact in facts():
            start = len(tokenizer.encode(fact["start"]))
            prompts = [f"{fact['start']} {end}" for end in fact["ends"]]
            outputs = llm.generate(prompts, params, use_tqdm=False)
            found[str(fact["id"])] = [sum_of(output, start) for output in outputs]
    return found


def sum_of(output: object, start: int) -> float:
    """Of the prompt's tokens from ``start`` on."""
    positions = list(zip(output.prompt_token_ids, output.prompt_logprobs, strict=True))[start:]  # type: ignore[attr-defined]
    return sum(candidates[token].logprob for token, candidates in positions)


def accuracy(found: dict[str, list[float]]) -> float:
    """Share of facts whose right end is the likeliest."""
    known = facts()
    return sum(max(range(3), key=found[str(one["id"])].__getitem__) == one["right"] for one in known) / len(known)
