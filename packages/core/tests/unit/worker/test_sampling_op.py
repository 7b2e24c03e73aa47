from __future__ import annotations

from kernelet.layers.ops import DECOMPOSITION
from kernelet.sampling.ops import SAMPLING, SamplingOps, apply_token_mask, sample
from kernelet.testing.plugin_view import ReferencePlugins
from kernelet.worker.sampling_op import select_sampling_ops


def test_the_decompositions_where_nobody_overrides_them():
    ops, plans = select_sampling_ops(ReferencePlugins(), "float32")
    assert ops == SamplingOps(sample, apply_token_mask)
    assert [(plan.name, plan.role, plan.choice) for plan in plans] == [(name, "op", DECOMPOSITION) for name in SAMPLING]


def test_an_override_is_taken_and_told():
    def mine(logits, masks, rows):
        return apply_token_mask(logits, masks, rows)

    ops, plans = select_sampling_ops(ReferencePlugins(ops={"apply_token_mask": mine}), "bfloat16")
    assert ops == SamplingOps(sample, mine)
    assert [plan.choice == DECOMPOSITION for plan in plans] == [True, False]
