from __future__ import annotations

import math

import pytest
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from kernelet.layers.rope_scaling import RopeParameters
from kernelet.layers.rotary import RopeTable
from kernelet.testing.tensors import make_context

PARAMETERS = RopeParameters(scaling="default", size=6, theta=100.0, max_model_len=40, trained_len=40)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rows_hold_cos_and_signed_sin_of_each_position(interleaved):
    table = RopeTable(make_context(dtype=torch.float64), PARAMETERS, interleaved=interleaved)
    rows = table.rows(torch.tensor([0, 39, 7]))
    assert rows.interleaved is interleaved
    assert rows.cos.shape == rows.sin.shape == (3, 1, 6)
    for row, position in enumerate([0, 39, 7]):
        for pair in range(3):
            angle = position * 100.0 ** (-pair / 3)
            first, second = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + 3)
            assert rows.cos[row, 0, [first, second]].tolist() == pytest.approx([math.cos(angle)] * 2, abs=2e-6)
            assert rows.sin[row, 0, [first, second]].tolist() == pytest.approx(
                [-math.sin(angle), math.sin(angle)], abs=2e-6
            )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_angles_are_float32_whatever_the_dtype(dtype):
    of_float64 = RopeTable(make_context(dtype=torch.float64), PARAMETERS).table
    table = RopeTable(make_context(dtype=dtype), PARAMETERS).table
    assert table.shape == (40, 2, 1, 6)
    assert table.dtype == torch.float32
    assert torch.equal(table, of_float64)


def test_table_equals_that_of_transformers():
    config = LlamaConfig(hidden_size=64, num_attention_heads=2, max_position_embeddings=4096)
    peer = LlamaRotaryEmbedding(config)
    cos, sin = peer(torch.zeros(1), torch.arange(4096)[None])
    parameters = RopeParameters(scaling="default", size=32, theta=10000.0, max_model_len=4096, trained_len=4096)
    rows = RopeTable(make_context(dtype=torch.float32), parameters).rows(torch.arange(4096))
    assert torch.equal(rows.cos[:, 0], cos[0])
    assert torch.equal(rows.sin[:, 0, 16:], sin[0, :, 16:])


def test_temperature_scales_both():
    options = {"factor": 4.0, "attention_factor": 0.5, "original_max_position_embeddings": 20}
    yarn = RopeParameters(scaling="yarn", size=6, theta=100.0, max_model_len=40, trained_len=40, options=options)
    rows = RopeTable(make_context(dtype=torch.float64), yarn).rows(torch.arange(40))
    torch.testing.assert_close(rows.cos**2 + rows.sin**2, torch.full((40, 1, 6), 0.25, dtype=torch.float64))
