"""Wrong ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import OpOffer
from kernelet.layers import composite, elementary
from kernelet.layers.activation import ACTIVATIONS
from kernelet.sampling.ops import Draws, apply_token_mask, sample
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered
from kernelet.testing.op.suite import OpCapabilities, OpSuite

SETTINGS = Settings(plugin="faulty")


def suite_of(op: str, target: object, *, batch_invariant: bool = False) -> type[OpSuite]:
    """The suite as the author of that op writes it."""

    class Faulty(OpSuite):
        capabilities = OpCapabilities(dtypes=("float64", "bfloat16"), batch_invariant=batch_invariant)

        @pytest.fixture
        def offered(self) -> Offered[OpOffer]:
            offer = OpOffer(name="faulty", target="faulty:op", op=op)
            return Offered(offer=offer, settings=SETTINGS, target=target)

    return Faulty


def fine(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return elementary.rms_norm(x, weight, eps)


def no_eps(x: Tensor, weight: Tensor, bias: Tensor | None, _eps: float) -> Tensor:
    return elementary.layer_norm(x, weight, bias, 0.0)


def adds_the_offset_again(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return elementary.rms_norm(x, weight + 1, eps)


def in_16_bits(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    scale = torch.rsqrt(x.to(weight.dtype).square().mean(-1, keepdim=True) + eps)
    return ((x * scale.to(x.dtype)) * weight.to(x.dtype)).to(x.dtype)


def of_all_rows(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    result = elementary.layer_norm(x, weight, bias, eps)
    return result + (result * 0).mean()


def wants_a_bias(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return elementary.layer_norm(x, weight, bias.contiguous(), eps)


def half_a_head_apart(x: Tensor, rope: Any) -> Tensor:
    return elementary.rotary(x, rope._replace(interleaved=False))


def negates_the_table(x: Tensor, rope: Any) -> Tensor:
    rope.sin.neg_()
    return elementary.rotary(x, rope._replace(sin=-rope.sin))


def approximates(x: Tensor, name: str) -> Tensor:
    return functional.gelu(x, approximate="tanh") if name == "gelu" else ACTIVATIONS[name](x)


def hides_nan(x: Tensor, name: str) -> Tensor:
    result = ACTIVATIONS[name](x)
    return result.nan_to_num() if name == "relu" else result


def halves_swapped(x: Tensor, name: str) -> Tensor:
    up, gate = x.chunk(2, -1)
    return ACTIVATIONS[name](gate) * up


def assumes_contiguous(x: Tensor, name: str) -> Tensor:
    return elementary.act_and_mul(torch.as_strided(x, x.shape, (x.shape[1], 1)), name)


def no_scale(x: Tensor, y: Tensor, _scale: float) -> Tensor:
    return x + y


def narrows_the_stream(x: Tensor, y: Tensor, scale: float) -> Tensor:
    return elementary.add(x, y, scale).to(y.dtype)


def adds_in_place(x: Tensor, y: Tensor, scale: float) -> Tensor:
    return x.add_(y, alpha=scale)


def promises_bits(x: Tensor, y: Tensor, scale: float) -> Tensor:
    return elementary.add(x, y, scale) + (len(x) - 1) * 2.0**-51


def norm_of_the_old(residual: Tensor, x: Tensor, scale: float, norm: Any) -> tuple[Tensor, Tensor]:
    return norm.forward(residual), residual + scale * x


def sixty_four_rows(x: Tensor, y: Tensor, scale: float) -> Tensor:
    result = elementary.add(x, y, scale)
    result[64:] = 0
    return result


def needs_a_row(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    assert len(x)
    return elementary.rms_norm(x, weight, eps)


def no_activation(x: Tensor, up: Any, down: Any, _name: str) -> Tensor:
    result: Tensor = down.forward(up.forward(x))
    return result


def forgets_to_write(qkv: Tensor, heads: Any, rope: Any, _attention: Any, cache: Any, metadata: Any) -> Tensor:
    class Nowhere:
        def write_kv(self, *_: object) -> None:
            """Drops keys and values."""

    return composite.qkv_rope_write(_Ops(), qkv, heads, rope, Nowhere(), cache, metadata)  # type: ignore[arg-type]


class _Ops:
    rotary = staticmethod(elementary.rotary)


def no_sinks(query: Tensor, attention: Any, cache: Any, metadata: Any, _sinks: Tensor | None) -> Tensor:
    result: Tensor = attention.forward(query, cache, metadata, None)
    return result


def equal_experts(x: Tensor, logits: Tensor, experts: Any, routing: Any) -> Tensor:
    _, ids = routing.choose(logits)
    rows = [
        torch.stack([experts.forward(row[None], int(expert))[0] for expert in chosen]).mean(0)
        for row, chosen in zip(x, ids, strict=True)
    ]
    return torch.stack(rows)


def last_of_equals(logits: Tensor, draws: Draws | None) -> tuple[Tensor, Tensor]:
    tokens, maxima = sample(logits, draws)
    if draws is None:
        tokens = logits.shape[-1] - 1 - sample(logits.flip(-1), None)[0]
    return tokens, maxima


def forgets_top_p(logits: Tensor, draws: Draws | None) -> tuple[Tensor, Tensor]:
    return sample(logits, draws and replace(draws, top_p=torch.ones_like(draws.top_p)))


def masks_in_order(logits: Tensor, masks: Tensor, rows: Tensor) -> Tensor:
    return apply_token_mask(logits, masks, rows.sort().values)


def highest_bit_first(logits: Tensor, masks: Tensor, rows: Tensor) -> Tensor:
    bits = (masks[:, :, None] >> torch.arange(31, -1, -1)) & 1
    allowed = bits.flatten(1)[:, : logits.shape[-1]].bool()
    logits[rows] = logits[rows].masked_fill(~allowed, -torch.inf)
    return logits


def masks_a_copy(logits: Tensor, masks: Tensor, rows: Tensor) -> Tensor:
    return apply_token_mask(logits.clone(), masks, rows)


def reads_the_next_mask(logits: Tensor, masks: Tensor, rows: Tensor) -> Tensor:
    words = -(-logits.shape[-1] // 32)
    flat = torch.cat((masks.flatten(), masks.new_full((words,), -1)))
    return apply_token_mask(logits, flat.as_strided((len(masks), words), (masks.shape[1], 1)), rows)


def does_not_compose(_layer: Any, residual: Tensor, _step: Any) -> Tensor:
    return residual


_PLANTED: tuple[tuple[str, str, Callable[..., Any] | type[Any], str], ...] = (
    ("is-no-op", "rms_norm", torch.nn.ReLU, "does not derive from Op"),
    ("overrides-nothing", "rms_norm_2", fine, "there is no op 'rms_norm_2' in the ladder"),
    ("forgets-eps", "layer_norm", no_eps, "layer_norm (rows): the result must be what its decomposition computes"),
    ("adds-the-offset-again", "rms_norm", adds_the_offset_again, "rms_norm (rows): the result must be what its"),
    ("normalizes-in-16-bits", "rms_norm", in_16_bits, "norms of 16-bit inputs must be computed in float32"),
    ("mixes-rows", "layer_norm", of_all_rows, "NaN in one row must stay in it"),
    ("wants-a-bias", "layer_norm", wants_a_bias, "layer_norm (no bias) in torch.float64 must be served"),
    ("pairs-half-a-head-apart", "rotary", half_a_head_apart, "rotary (neighbouring pairs"),
    ("changes-the-table", "rotary", negates_the_table, "elements): what it is given must not be changed"),
    ("approximates", "activation", approximates, "activation (gelu): the result must be"),
    ("hides-nan", "activation", hides_nan, "NaN of a row must show in its result"),
    ("swaps-the-halves", "act_and_mul", halves_swapped, "act_and_mul (silu): the result must be"),
    ("assumes-contiguous-inputs", "act_and_mul", assumes_contiguous, "act_and_mul (a view): the result must be"),
    ("forgets-the-scale", "add", no_scale, "add (scale 0.25): the result must be"),
    (
        "narrows-the-stream",
        "add",
        narrows_the_stream,
        "must have the dtype that its decomposition returns",
    ),
    ("adds-in-place", "add", adds_in_place, "add (scale 1.0): what it is given must not be changed"),
    ("computes-64-rows", "add", sixty_four_rows, "4099 rows): the result must be what its decomposition computes"),
    ("needs-a-row", "rms_norm", needs_a_row, "a step without tokens has no rows, and must work"),
    ("normalizes-what-was-before", "add_norm", norm_of_the_old, "the norm must be what its decomposition computes"),
    ("forgets-the-activation", "mlp", no_activation, "mlp (silu): the result must be"),
    ("forgets-to-write", "qkv_rope_write", forgets_to_write, "the cache must be what its decomposition computes"),
    ("forgets-sinks", "attention", no_sinks, "attention (with sinks): the result must be"),
    ("weighs-experts-equally", "moe", equal_experts, "moe (softmax_top_k, scale 1.0): the result must be"),
    ("takes-the-last-of-equals", "sample", last_of_equals, "sample (no draws): the token must be"),
    ("forgets-top-p", "sample", forgets_top_p, "sample (top_p): the token must be"),
    ("masks-in-order", "apply_token_mask", masks_in_order, "first): the mask must be what its decomposition computes"),
    ("reads-the-highest-bit-first", "apply_token_mask", highest_bit_first, "(every row): the mask must be"),
    ("masks-a-copy", "apply_token_mask", masks_a_copy, "must change the logits in place, and return them"),
    ("reads-the-next-mask", "apply_token_mask", reads_the_next_mask, "(fewer words than tokens): the mask must be"),
    (
        "does-not-compose",
        "decoder_layer",
        does_not_compose,
        "decoder_layer (a layer that nobody knows): the",
    ),
)

FAULTS = (
    *(Fault(name=name, suite=suite_of(op, target), says=says) for name, op, target, says in _PLANTED),
    Fault(
        name="breaks-its-promise-of-bits",
        suite=suite_of("add", promises_bits, batch_invariant=True),
        says="it promises the same bits in every batch",
    ),
)
