from __future__ import annotations

from kernelet.layers.ops import DECOMPOSITION
from kernelet.sampling.ops import sample
from kernelet.testing.plugin_view import ReferencePlugins
from kernelet.worker.sampling_op import select_sample


def test_the_decomposition_where_nobody_overrides_it():
    op, plan = select_sample(ReferencePlugins(), "float32")
    assert op is sample
    assert (plan.name, plan.role, plan.choice) == ("sample", "op", DECOMPOSITION)


def test_an_override_is_taken_and_told():
    def mine(logits, draws):
        return sample(logits, draws)

    op, plan = select_sample(ReferencePlugins(ops={"sample": mine}), "bfloat16")
    assert op is mine
    assert plan.choice != DECOMPOSITION
