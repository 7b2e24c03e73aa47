"""Rotary embeddings of a config.json, as transformers 4 wrote it (``rope_theta``, ``rope_scaling``) and as 5 does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelet.errors import UnsupportedModelError
from kernelet_models_decoder.fields import Config
from kernelet_models_decoder.row import Row
from kernelet_models_decoder.spec import RopeSpec

SCALINGS = (
    ("default", "default"),
    ("linear", "linear"),
    ("dynamic", "dynamic"),
    ("yarn", "yarn"),
    ("longrope", "longrope"),
    ("llama3", "banded"),
)
"""Scalings by their name in config.json, and by that of ``kernelet.layers.rope_scaling``."""

FULL, SLIDING = "full_attention", "sliding_attention"
MODEL = "model"
"""Key of the only embedding of a model that has one."""

_SHARED = {"rope_type", "type", "rope_theta", "partial_rotary_factor"}


def read_ropes(row: Row, config: Config, head_size: int) -> dict[str, RopeSpec]:
    """The model's rotary embeddings by name.

    Raises:
        UnsupportedModelError: for a scaling that is not served.
    """
    given = config.get("rope_parameters") or {}
    old = config.get("rope_scaling") or {}
    nested = [given[key] for key in (FULL, SLIDING) if key in given]
    if isinstance(row.rope_theta, tuple):
        full = given.get(FULL) if nested else given or old
        thetas = config.get("rope_theta", row.rope_theta[0]), config.get("rope_local_base_freq", row.rope_theta[1])
        return {
            FULL: _spec(row, config, head_size, full or {}, thetas[0]),
            SLIDING: _spec(row, config, head_size, given.get(SLIDING) or {}, thetas[1]),
        }
    if any(values != nested[0] for values in nested):
        raise UnsupportedModelError(
            "'rope_parameters' by layer type in config.json are not served by this architecture"
        )
    theta = config.get("rope_theta|rotary_emb_base", row.rope_theta)
    return {MODEL: _spec(row, config, head_size, nested[0] if nested else given or old, theta)}


def _spec(row: Row, config: Config, head_size: int, values: Mapping[str, Any], theta: float) -> RopeSpec:
    given = {key: value for key, value in values.items() if value is not None}
    trained = config.get("max_position_embeddings")
    if trained is None:
        raise UnsupportedModelError("config.json has no 'max_position_embeddings', which this architecture needs")
    options = {key: value for key, value in given.items() if key not in _SHARED}
    original = config.get("original_max_position_embeddings") or options.get("original_max_position_embeddings")
    return RopeSpec(
        scaling=_scaling(row, given),
        size=int(head_size * _share(row, config, given)),
        theta=float(given.get("rope_theta", theta)),
        trained_len=int(trained),
        options=options | {"original_max_position_embeddings": original or trained},
    )


def _share(row: Row, config: Config, given: Mapping[str, Any]) -> float:
    stated = given.get("partial_rotary_factor", config.get("partial_rotary_factor|rotary_pct", row.rope_partial))
    if row.rope_partial is None and stated not in {None, 1}:
        raise UnsupportedModelError(
            f"partial_rotary_factor = {stated} in config.json is not served for {row.architecture}"
        )
    return 1.0 if stated is None else float(stated)


def _scaling(row: Row, values: Mapping[str, Any]) -> str:
    name = values.get("rope_type") or values.get("type") or "default"
    names = dict(SCALINGS) | dict(row.rope_names)
    if name not in names:
        raise UnsupportedModelError(f"rope_type {name!r} in config.json is not served; served are {', '.join(names)}")
    return names[name]


def served_len(ropes: Mapping[str, RopeSpec]) -> int:
    """Context that the model was made for; a scaling may go beyond ``max_position_embeddings``."""
    rope = next(iter(ropes.values()))
    if len(ropes) > 1 or "factor" not in rope.options:
        return rope.trained_len
    factor = float(rope.options["factor"])
    if rope.scaling == "dynamic":
        return int(rope.trained_len * factor)
    if rope.scaling == "yarn":
        return max(rope.trained_len, int(rope.options["original_max_position_embeddings"] * factor))
    return rope.trained_len
