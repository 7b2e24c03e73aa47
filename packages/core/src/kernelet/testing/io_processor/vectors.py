"""Vectors that stand for a model's: functions of the prompt, so that a mixed-up one is seen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelet.config import ModelConfig
from kernelet.contracts.io import IOContext
from kernelet.contracts.pooling import PoolingOutput, PoolingParams, PoolingRequestOutput
from kernelet.engine.prompts import parse_prompt
from kernelet.request.pooling import finish_vector
from kernelet.request.prompts import check_prompt_token_ids

VOCABULARY = 256


def encode(text: str) -> list[int]:
    """A token a byte of UTF-8; a lone surrogate counts as three."""
    return list(text.encode("utf-8", "surrogatepass"))


def make_context(hf_config: dict[str, Any], hidden_size: int) -> IOContext:
    """An engine with a tokenizer of bytes."""
    model = ModelConfig(
        model="kit",
        path="",
        architecture="Kit",
        hf_config=hf_config,
        dtype="float32",
        vocab_size=VOCABULARY,
        max_model_len=1 << 16,
        num_layers=1,
        hidden_size=hidden_size,
    )
    return IOContext(model=model, encode=encode)


def token_ids(prompt: object) -> list[int]:
    """A prompt as the engine takes it.

    Raises:
        PromptError: the engine does not take it.
    """
    parsed = parse_prompt(prompt)
    return check_prompt_token_ids(encode(parsed.text or "") if parsed.token_ids is None else parsed.token_ids, 1 << 30)


def vector(ids: Sequence[int], params: PoolingParams, hidden_size: int) -> NDArray[np.float32]:
    """Numbers that any other prompt does not have, cut and normalized as parameters say."""
    seed = hashlib.sha256(json.dumps([list(ids), params.pooling]).encode()).digest()
    numbers = np.random.default_rng(list(seed)).standard_normal(hidden_size)
    return finish_vector(numbers.astype(np.float32).tobytes(), params)


def pooled(
    prompts: Sequence[object], params: PoolingParams, hidden_size: int, *, first: int = 0, nothing: bool = False
) -> list[PoolingRequestOutput[PoolingOutput]]:
    """What the engine makes of prompts.

    Args:
        prompts: As ``pre_process`` returned them.
        params: Merged.
        hidden_size: Width of the states.
        first: Ids begin with this number, and fall.
        nothing: All numbers are zero.
    """
    found = []
    for index, prompt in enumerate(prompts):
        ids = token_ids(prompt)
        data = vector(ids, params, hidden_size)
        found.append(
            PoolingRequestOutput(
                request_id=f"request-{first - index}",
                outputs=PoolingOutput(data=data * 0 if nothing else data),
                prompt_token_ids=ids,
            )
        )
    return found
