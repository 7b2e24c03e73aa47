from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, FullAttentionSpec
from kernelet.contracts.executor import EnginePlan, LayerPlan
from kernelet.kernel.plan import PLAN_COLUMNS, plan_digest, plan_facts, plan_rows

SPEC = FullAttentionSpec(block_size=16, page_bytes=2**20, num_kv_heads=1, head_size=8, dtype="float32")


def layer(name, **fields):
    return LayerPlan(name=name, **({"role": "attention", "choice": "paged", "detail": "full"} | fields))


def plan(**fields):
    base = {
        "architecture": "A",
        "row": "r",
        "dtype": "float32",
        "platform": "null",
        "layers": (
            layer("l.0"),
            layer("l.1"),
            layer("head", role="linear", choice="dense", detail="", refused={"x": "no"}),
        ),
        "cache": CacheConfigPlan(groups=(CacheGroup(spec=SPEC, layers=("l.0", "l.1"), num_blocks=3),)),
        "max_model_len": 128,
        "weight_bytes": 3 * 2**20,
    }
    return EnginePlan(**(base | fields))


def test_digest_is_the_same_for_the_same_plan():
    assert plan_digest(plan()) == plan_digest(msgspec.json.decode(msgspec.json.encode(plan()), type=EnginePlan))
    assert len(plan_digest(plan())) == 64


def test_digest_leaves_out_reasons_and_the_number_of_blocks():
    explained = plan(layers=(*plan().layers[:2], layer("head", role="linear", choice="dense", detail="")))
    assert plan_digest(explained) == plan_digest(plan())
    larger = CacheConfigPlan(groups=(CacheGroup(spec=SPEC, layers=("l.0", "l.1"), num_blocks=99),))
    assert plan_digest(plan(cache=larger)) == plan_digest(plan())


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "bfloat16"},
        {"platform": "other"},
        {"row": "s"},
        {"layers": plan().layers[:2]},
        {"layers": (layer("l.0", choice="other"), *plan().layers[1:])},
        {"cache": CacheConfigPlan(groups=(CacheGroup(spec=SPEC, layers=("l.0",), num_blocks=3),))},
        {"cache": None},
    ],
)
def test_digest_sees_what_is_computed(change):
    assert plan_digest(plan(**change)) != plan_digest(plan())


def test_facts():
    facts = dict(plan_facts(plan()))
    assert facts["weights"] == "3.0 MiB"
    assert facts["context"] == "128 tokens"
    assert facts["cache group 0"] == "2 layers, 3 blocks of 16 tokens, 6.0 MiB"
    assert "row" not in dict(plan_facts(plan(row="", cache=None)))


def test_rows_join_layers_that_are_computed_alike():
    rows = plan_rows(plan())
    assert rows == [
        ("l.0 ... l.1 (2)", "attention", "paged", "full", ""),
        ("head", "linear", "dense", "", "x: no"),
    ]
    assert all(len(row) == len(PLAN_COLUMNS) for row in rows)
