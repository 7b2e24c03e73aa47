"""What an engine's keys and values are a function of, besides tokens."""

from __future__ import annotations

import hashlib

import msgspec

from kernelet.config import EngineConfig
from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.kv import KVIdentity
from kernelet.errors import PluginError

DIGEST_BYTES = 16


def kv_identity(plan: EnginePlan, config: EngineConfig) -> KVIdentity:
    """The identity of a started engine: equal where another engine, or a later start, would compute the same.

    Block sizes, context, limits of a step and names of files are not in it. The weights are those of the checkpoint as
    stored, sampled (``EnginePlan.weights_digest``), and the model's own configuration. The arithmetic is what computes
    each layer, by name, and the number of ranks; not the versions of plugins: a plugin whose keys and values come out
    otherwise than before has another name for it, or another ``LayerPlan.detail``.

    Raises:
        PluginError: the platform's worker does not name its weights.
    """
    if not plan.weights_digest:
        raise PluginError(
            f"the platform {plan.platform!r} does not say which weights it has loaded (EnginePlan.weights_digest), so "
            "KV connectors could bring those of another model: leave --kv-connector out, or use another platform"
        )
    layers = [(layer.name, layer.role, layer.choice, layer.detail) for layer in plan.layers]
    return KVIdentity(
        weights=_digest((plan.weights_digest, plan.architecture, plan.quantization, config.model.hf_config)),
        dtype=plan.dtype,
        kv_cache_dtype=plan.kv_cache_dtype,
        arithmetic=_digest((plan.platform, plan.row, layers, config.parallel.tensor_parallel_size)),
    )


def _digest(content: object) -> str:
    encoded = msgspec.json.encode(content, order="deterministic")
    return hashlib.blake2b(encoded, digest_size=DIGEST_BYTES).hexdigest()
