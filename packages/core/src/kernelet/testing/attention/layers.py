"""Which layers an offer says it serves, and the ones that the suite asks it to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from kernelet.contracts.attention import AttentionOffer, AttentionSpec
from kernelet.contracts.platform import Capabilities
from kernelet.kernel.select.attention import why_not
from kernelet.testing.attention.kept import FORMS, changes_of
from kernelet.testing.tensors import DTYPES, TOLERANCES

WINDOW = 6
LATENT_SIZES = ((12, 8), (80, 64), (576, 512))
"""Head size and ``kv_lora_rank`` of latent layers; the last are those that most models have."""


@dataclass(frozen=True, kw_only=True)
class AttentionCapabilities:
    """What an attention promises beyond its offer.

    Attributes:
        dtypes: Dtypes to try; empty: those of the offer, or all four. A platform without float64 names its own.
        head_sizes: Head sizes to try where the offer says that any will do.
        block_sizes: Block sizes to try; empty: the smallest, an odd multiple of it, and about 16.
        tolerances: By dtype, instead of those of the kit.
        copies_blocks: Has ``copy_blocks``.
        exchanges_pages: Has ``export_pages`` and ``import_pages``. Since attention 1.3.
        batch_invariant: A row has the same bits in every batch.
        deterministic: The same step has the same bits each time, whatever its other rows hold.
        max_len: Tokens of the longest request to try.
    """

    dtypes: tuple[str, ...] = ()
    head_sizes: tuple[int, ...] = (5, 64)
    block_sizes: tuple[int, ...] = ()
    tolerances: Mapping[str, float] = field(default_factory=dict)
    copies_blocks: bool = True
    exchanges_pages: bool = True
    batch_invariant: bool = False
    deterministic: bool = True
    max_len: int = 2500


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A kind of layer.

    Attributes:
        changes: Of the plain spec.
        says: What must hold, in a sentence.
    """

    changes: Mapping[str, Any]
    says: str


FEATURES: Mapping[str, Feature] = MappingProxyType(
    {
        "full": Feature(
            changes={},
            says="forward() must be causal attention: softmax(scale * q.k) over a token and all before it, times v",
        ),
        "grouped heads": Feature(
            changes={"num_kv_heads": 2},
            says="query head h must use key and value head h // (num_heads / num_kv_heads)",
        ),
        "one key head": Feature(
            changes={"num_kv_heads": 1}, says="all query heads must use the only key and value head"
        ),
        "window": Feature(
            changes={"window": WINDOW},
            says="with a window, a token must see itself and the window - 1 tokens before it, and no other",
        ),
        "window of one": Feature(changes={"window": 1}, says="with a window of 1, a token must see itself alone"),
        "soft cap": Feature(
            changes={"soft_cap": 1.5},
            says="with a soft cap, scaled scores must become cap * tanh(scores / cap)",
        ),
        "sinks": Feature(changes={"sinks": True}, says="a head's sink must join the softmax's denominator"),
        "all": Feature(
            changes={"num_kv_heads": 2, "window": WINDOW + 1, "soft_cap": 2.0, "sinks": True},
            says="window, soft cap and sinks must hold together",
        ),
        "latent": Feature(
            changes={"kind": "mla"},
            says="a layer of kind mla must attend with its only key, of which the first kv_lora_rank elements are the "
            "value: all heads share it, and the result is as wide",
        ),
        "latent, all": Feature(
            changes={"kind": "mla", "soft_cap": 2.0, "sinks": True},
            says="soft cap and sinks must hold of a latent layer too",
        ),
    }
)


class Layers:
    """Specs of layers that one offer says it serves.

    Args:
        offer: The attention's.
        capabilities: What it promises beyond.
    """

    def __init__(self, offer: AttentionOffer, capabilities: AttentionCapabilities) -> None:
        self.offer = replace(offer, requirements=())  # a stand-in may serve for what is not installed
        self.capabilities = capabilities
        self.dtypes = capabilities.dtypes or offer.dtypes or DTYPES
        self.head_sizes = offer.head_sizes or capabilities.head_sizes
        least = offer.block_size_multiple
        usual = least * -(-16 // least)
        self.block_sizes = capabilities.block_sizes or tuple(sorted({least, 3 * least, usual}))
        sizes = tuple(sizes for sizes in LATENT_SIZES if sizes[0] in offer.head_sizes)
        self.latent_sizes = sizes or LATENT_SIZES[:2]
        self.exact = next((dtype for dtype in ("float64", "float32") if dtype in self.dtypes), self.dtypes[0])

    def serves(self, spec: AttentionSpec) -> bool:
        """Whether the offer says so, on a platform that has all that it requires."""
        platform = Capabilities(
            device_type="any",
            dtypes=self.dtypes,
            memory_bytes=0,
            features=self.offer.required_features,
            compute_capability=self.offer.min_compute_capability,
        )
        return not why_not(self.offer, spec, platform)

    def spec(self, **changes: Any) -> AttentionSpec:
        """A layer with the most exact dtype, four heads, and blocks of a few tokens."""
        least = self.offer.block_size_multiple
        values: dict[str, Any] = {
            "kind": "full" if changes.get("window") is None else "sliding",
            "num_heads": 4,
            "num_kv_heads": 4,
            "head_size": min(self.head_sizes, key=lambda size: abs(size - 8)),
            "dtype": self.exact,
            "block_size": least * -(-4 // least),
        }
        if changes.get("kind") == "mla":
            values |= {"num_kv_heads": 1, "head_size": self.latent_sizes[0][0]}
            values |= {"kv_lora_rank": self.latent_sizes[0][1]}
        values |= changes
        return AttentionSpec(**{"scale": values["head_size"] ** -0.5, **values})

    def plain(self, **changes: Any) -> AttentionSpec | None:
        """The plainest layer that is served: full, else sliding with a window that hides nothing; None for neither."""
        full = self.spec(**changes)
        sliding = self.spec(**changes, window=1 << 20)
        return next((spec for spec in (full, sliding) if self.serves(spec)), None)

    def features(self) -> Iterator[tuple[AttentionSpec, str]]:
        """Every kind of layer that is served, and what must hold of it."""
        for feature in FEATURES.values():
            spec = self.spec(**feature.changes)
            if self.serves(spec):
                yield spec, feature.says
        for form in self.forms():
            all_of_it = self.spec(num_kv_heads=2, window=2 * WINDOW, soft_cap=8.0, sinks=True, **form)
            kept = all_of_it if self.serves(all_of_it) else self.plain(num_kv_heads=2, **form)
            if kept is not None:
                yield kept, f"attention must be its formula over a cache that keeps {kept.cache_form} too"
            latent = self.spec(kind="mla", **form)
            if self.serves(latent):
                yield latent, f"latent attention must be its formula over a cache that keeps {latent.cache_form} too"

    def trees(self) -> Iterator[AttentionSpec]:
        """Layers that are asked for draft trees: plain ones, with all else that is served, in each dtype and form."""
        asked: list[Mapping[str, Any]] = [{}, {"num_kv_heads": 2, "soft_cap": 2.0, "sinks": True}]
        asked += [{"num_kv_heads": 1, "window": WINDOW}]
        asked += [{"dtype": dtype} for dtype in self.dtypes if dtype != self.exact]
        for changes in (*asked, *self.forms()):
            spec = self.spec(**{**changes, "kind": "tree"})
            if self.serves(spec):
                yield spec

    def forms(self) -> Iterator[dict[str, str]]:
        """What the offer's caches are kept in besides the layer's dtype, as fields of a spec."""
        for form in FORMS:
            if form in self.offer.cache_dtypes:
                yield changes_of(form)

    def offered(self) -> Iterator[AttentionSpec]:
        """Every combination of kind, dtype, head size and block size that is served, then sizes of other caches."""
        for dtype in self.dtypes:
            for head_size in self.head_sizes:
                for block_size in self.block_sizes:
                    for window in (None, WINDOW):
                        spec = self.spec(dtype=dtype, head_size=head_size, block_size=block_size, window=window)
                        if self.serves(spec):
                            yield spec
            for head_size, rank in self.latent_sizes:
                spec = self.spec(kind="mla", dtype=dtype, head_size=head_size, kv_lora_rank=rank)
                if self.serves(spec):
                    yield spec
            spec = self.spec(kind="tree", dtype=dtype)
            if self.serves(spec):
                yield spec

        for form in self.forms():
            for head_size in self.head_sizes:
                for block_size in self.block_sizes:
                    kept = self.plain(head_size=head_size, block_size=block_size, **form)
                    if kept is not None:
                        yield kept

    def tolerance(self, spec: AttentionSpec) -> float:
        """Of results."""
        return self.capabilities.tolerances.get(spec.dtype, TOLERANCES.get(spec.dtype, 0.0))
