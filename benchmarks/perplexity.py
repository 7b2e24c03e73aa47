"""Perplexity of each way to store and compute weights, and to keep keys and values, on the text of ``data.toml``.

The text's first tokens are cut into contexts that do not overlap; each token but a context's first counts once. The
perplexity is exp of the mean of -log p, with p as the engine reports it for prompts.

python benchmarks/perplexity.py [--model smollm2-135m] [--tokens N] [--context 2048] [--only int8 ...] [--json]
    [--checkpoint awq=FOLDER gguf=FILE ...]    what `kernelet quantize` made of the same model
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from text import perplexity_text

from kernelet import LLM, SamplingParams

ONLINE = "quant-online"
CASES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "float32": {"dtype": "float32"},
        "bfloat16": {"dtype": "bfloat16"},
        "fp8 KV cache": {"kv_cache_dtype": "fp8"},
        "int8 KV cache": {"kv_cache_dtype": "int8"},
        "int8": {"quantization": "int8"},
        "int8, head unquantized": {"quantization": "int8", "set": {ONLINE: {"head": "none"}}},
        "int8 weights only": {"quantization": "int8", "set": {ONLINE: {"activations": "none"}}},
        "int4": {"quantization": "int4"},
        "int4 weights only": {"quantization": "int4", "set": {ONLINE: {"activations": "none"}}},
        "int4, groups of 64": {"quantization": "int4", "set": {ONLINE: {"group_size": 64}}},
        "int4, groups of 128": {"quantization": "int4", "set": {ONLINE: {"group_size": 128}}},
        "int4, symmetric": {"quantization": "int4", "set": {ONLINE: {"zero_points": False}}},
        "int4, head too": {"quantization": "int4", "set": {ONLINE: {"head": "int4"}}},
    }
)
"""Options of the engine by name."""


def contexts(tokens: Sequence[int], size: int) -> list[list[int]]:
    """Consecutive pieces; a last one of a single token predicts nothing and is left out."""
    pieces = [list(tokens[start : start + size]) for start in range(0, len(tokens), size)]
    return [piece for piece in pieces if len(piece) > 1]


def measure(model: str, pieces: Sequence[Sequence[int]], options: Mapping[str, Any]) -> tuple[float, int, float]:
    """Perplexity, tokens that counted, and seconds."""
    params = SamplingParams(temperature=0, max_tokens=1, prompt_logprobs=0)
    given = {"dtype": "bfloat16", "max_num_seqs": 1, "enable_prefix_caching": False, **options}
    with LLM(model, **given) as llm:
        started = time.perf_counter()
        outputs = llm.generate([{"prompt_token_ids": list(piece)} for piece in pieces], params, use_tqdm=False)
        seconds = time.perf_counter() - started
    values = [
        position[token].logprob
        for output, piece in zip(outputs, pieces, strict=True)
        for token, position in zip(piece, output.prompt_logprobs, strict=True)
        if position is not None
    ]
    return math.exp(-math.fsum(values) / len(values)), len(values), seconds


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--tokens", type=int, help="the first so many tokens of the text; data.toml's")
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES), metavar="NAME")
    parser.add_argument("--checkpoint", nargs="*", default=[], metavar="NAME=PATH", help="measured after the others")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    text = perplexity_text()
    with LLM(options.model, max_model_len=8, num_blocks=4, enable_prefix_caching=False) as llm:
        tokens = llm.get_tokenizer().encode(text.read())[: options.tokens or text.tokens]
    pieces = contexts(tokens, options.context)
    rows = []
    cases = [(name, options.model, CASES[name]) for name in options.only]
    cases += [(name, path, {}) for name, _, path in (one.partition("=") for one in options.checkpoint)]
    for name, model, case in cases:
        perplexity, counted, seconds = measure(model, pieces, case)
        rows.append({"stored as": name, "perplexity": perplexity, "tokens": counted, "seconds": seconds})
        if not options.json:
            print(f"| {name} | {perplexity:.3f} | {counted} | {seconds:.1f} |", flush=True)
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
