"""The plan of an engine: its digest, which is the engine's identity, and rows for people."""

from __future__ import annotations

import hashlib

import msgspec

from kernelet.config.cache import AUTO
from kernelet.contracts.executor import EnginePlan, LayerPlan


def plan_digest(plan: EnginePlan) -> str:
    """SHA-256 over the plan, without the reasons why others were refused and without what depends on free memory."""
    content = msgspec.to_builtins(plan)
    content["layers"] = [
        {key: value for key, value in layer.items() if key != "refused"} for layer in content["layers"]
    ]
    for group in (content["cache"] or {}).get("groups", ()):
        del group["num_blocks"]
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()


def plan_facts(plan: EnginePlan) -> list[tuple[str, str]]:
    """What holds for the whole engine, as label and value."""
    facts = [
        ("architecture", plan.architecture),
        ("row", plan.row),
        ("dtype", plan.dtype),
        ("quantization", plan.quantization),
        ("KV cache dtype", "" if plan.kv_cache_dtype == AUTO else plan.kv_cache_dtype),
        ("platform", plan.platform),
        ("context", f"{plan.max_model_len} tokens"),
        ("weights", f"{plan.weight_bytes / 2**20:.1f} MiB"),
    ]
    for index, group in enumerate(plan.cache.groups if plan.cache else ()):
        size = group.num_blocks * group.bytes_per_block / 2**20
        blocks = f"{group.num_blocks} blocks of {group.spec.block_size} tokens"
        facts.append((f"cache group {index}", f"{len(group.layers)} layers, {blocks}, {size:.1f} MiB"))
    return [(label, value) for label, value in facts if value]


PLAN_COLUMNS = ("layers", "role", "choice", "detail", "refused")


def plan_rows(plan: EnginePlan) -> list[tuple[str, str, str, str, str]]:
    """A row for each run of layers that are computed the same way: first and last name, then ``PLAN_COLUMNS``."""
    rows: list[tuple[list[str], LayerPlan]] = []
    index: dict[tuple[str, str, str, str], int] = {}
    for layer in plan.layers:
        refused = _refused(layer)
        key = (layer.role, layer.choice, layer.detail, refused)
        if key not in index:
            index[key] = len(rows)
            rows.append(([], layer))
        rows[index[key]][0].append(layer.name)
    return [(_names(names), layer.role, layer.choice, layer.detail, _refused(layer)) for names, layer in rows]


def _names(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]} ({len(names)})"


def _refused(layer: LayerPlan) -> str:
    return "; ".join(f"{name}: {reason}" for name, reason in sorted(layer.refused.items()))
