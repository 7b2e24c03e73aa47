"""How the pages of each cache group lie on this rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelet.contracts.attention import Attention
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup
from kernelet.contracts.kv import CANONICAL, KVConnectorOffer, KVLayout
from kernelet.errors import ConfigError


def make_layouts(
    plan: CacheConfigPlan, attention: Mapping[str, Attention], rank: int = 0, world_size: int = 1
) -> tuple[KVLayout, ...]:
    """One a group.

    Args:
        plan: The groups.
        attention: Of each layer, by its name.
        rank: This rank.
        world_size: Ranks that share each layer.
    """
    return tuple(
        _layout(index, group, [attention[name] for name in group.layers], rank, world_size)
        for index, group in enumerate(plan.groups)
    )


def check_serves(offer: KVConnectorOffer, layouts: Sequence[KVLayout], attention: Mapping[str, Attention]) -> None:
    """A connector must be able to move these pages.

    Args:
        offer: The connector.
        layouts: Of this rank.
        attention: Of each layer, by its name.

    Raises:
        ConfigError: it cannot; says what to do.
    """
    says = f"the KV connector {offer.name!r}"
    without = f"use another --kv-connector than {offer.name}, or none"
    if offer.max_groups and len(layouts) > offer.max_groups:
        raise ConfigError(
            f"{says} moves {offer.max_groups} cache group(s), but the layers of this model form {len(layouts)}: "
            f"{without}"
        )
    size = layouts[0].world_size if layouts else 1
    if offer.max_ranks and size > offer.max_ranks:
        raise ConfigError(f"{says} serves {offer.max_ranks} rank(s), but --tensor-parallel-size is {size}: {without}")
    for layout in layouts:
        if CANONICAL not in offer.layouts and not (layout.native and layout.native in offer.layouts):
            raise ConfigError(
                f"{says} takes pages as {', '.join(offer.layouts) or 'nothing'}, but here they are "
                f"{layout.native or 'known to their attention alone'}: {without}"
            )
        for name in layout.layers:
            if not gives_pages(attention[name]):
                raise ConfigError(
                    f"{says}: the attention of {name}, {type(attention[name]).__name__}, gives no pages away "
                    "(export_pages and import_pages): name another with --attention-backend, or leave --kv-connector "
                    "out"
                )


def gives_pages(attention: Attention) -> bool:
    """Whether it has what attention 1.3 brought."""
    kind = type(attention)
    return kind.export_pages is not Attention.export_pages and kind.import_pages is not Attention.import_pages


def _layout(index: int, group: CacheGroup, attention: Sequence[Attention], rank: int, world_size: int) -> KVLayout:
    native = {one.native_layout() for one in attention}
    return KVLayout(
        group=index,
        layers=group.layers,
        block_size=group.spec.block_size,
        num_blocks=group.num_blocks,
        num_kv_heads=group.spec.num_kv_heads,
        parts=attention[0].spec.cache_parts,
        window=getattr(group.spec, "window", None),
        native=native.pop() if len(native) == 1 else "",
        rank=rank,
        world_size=world_size,
    )
