from __future__ import annotations

import torch

from kernelet.layers.ops import DECOMPOSITION
from kernelet.testing.plugin_view import ReferencePlugins
from kernelet.testing.tensors.context import make_context


def test_a_context_says_what_a_model_asks():
    context = make_context({"vocab_size": 9, "num_hidden_layers": 2}, dtype=torch.bfloat16, rank=1, size=2)
    assert (context.config.vocab_size, context.config.num_layers, context.config.dtype) == (9, 2, "bfloat16")
    assert (context.parallel.rank, context.parallel.size, context.block_size) == (1, 2, 4)
    assert {plan.choice for plan in context.ops.plans} == {DECOMPOSITION}


def test_ops_come_from_the_view():
    context = make_context(plugins=ReferencePlugins(ops={"add": lambda x, y, scale: 7}))
    assert context.ops.add(1, 2, 3.0) == 7
