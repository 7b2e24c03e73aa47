"""llama.cpp through its C interface, which is how its own batched programs call it: a sequence a request, the logits'
largest is the next token.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from serve import Engine, Options, Prompts, serve

MICRO_BATCH = 512
"""Its default: tokens of a prompt that are computed at once."""


class Sequences:
    """Room for so many sequences of so many tokens."""

    def __init__(self, model: Any, threads: int, requests: int, length: int) -> None:
        import llama_cpp

        self.api = llama_cpp
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = requests * length
        params.n_seq_max = requests
        params.n_batch = requests * length
        params.n_ubatch = MICRO_BATCH
        params.n_threads = params.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(model, params)
        if not self.context:
            raise MemoryError("llama_init_from_model failed")
        self.batch = llama_cpp.llama_batch_init(requests * length, 0, 1)
        self.vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))

    def run(self, prompts: Prompts, tokens: int) -> list[list[int]]:
        """Prompts in one batch, then a token of each sequence a step."""
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), True)
        found: list[list[int]] = [[] for _ in prompts]
        given = prompts
        for step in range(tokens):
            starts = [0] * len(prompts) if step == 0 else [len(prompt) + step - 1 for prompt in prompts]
            for sequence, token in enumerate(self.next_tokens(given, starts)):
                found[sequence].append(token)
            given = [[answer[-1]] for answer in found]
        return found

    def next_tokens(self, given: Prompts, starts: list[int]) -> list[int]:
        """Computes some tokens of each sequence; returns each one's next."""
        batch, rows = self.batch, []
        batch.n_tokens = sum(map(len, given))
        row = 0
        for sequence, (tokens, start) in enumerate(zip(given, starts, strict=True)):
            for offset, token in enumerate(tokens):
                batch.token[row], batch.pos[row] = token, start + offset
                batch.n_seq_id[row], batch.seq_id[row][0] = 1, sequence
                batch.logits[row] = offset == len(tokens) - 1
                row += 1
            rows.append(row - 1)
        if (code := self.api.llama_decode(self.context, batch)) != 0:
            raise RuntimeError(f"llama_decode returned {code}")
        logits = (self.api.llama_get_logits_ith(self.context, row) for row in rows)
        return [int(np.ctypeslib.as_array(values, (self.vocab,)).argmax()) for values in logits]


def make(options: Options) -> Engine:
    import llama_cpp

    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(options.model.encode(), llama_cpp.llama_model_default_params())
    if not model:
        raise FileNotFoundError(f"llama.cpp cannot load {options.model}")

    @cache
    def sequences(requests: int, length: int) -> Sequences:
        return Sequences(model, options.threads, requests, length)

    def run(prompts: Prompts, tokens: int) -> list[list[int]]:
        return sequences(len(prompts), max(map(len, prompts)) + tokens).run(prompts, tokens)

    return run


if __name__ == "__main__":
    serve(make, "llama-cpp-python")
