"""What pages must be when they leave a cache, and when they come into another one."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from kernelet.contracts.attention import Attention, AttentionOffer, AttentionSpec
from kernelet.testing.attention.kept import encode
from kernelet.testing.attention.layers import AttentionCapabilities, Layers
from kernelet.testing.attention.steps import PagedRequests, Requests, make_attention, play
from kernelet.testing.offered import Offered
from kernelet.testing.suite import Suite
from kernelet.testing.tensors import check_close, check_equal
from kernelet.testing.verdict import ConformanceError, check

STORED = "export_pages() must give what the cache holds of tokens [start, end), bit for bit"
LEFT = "import_pages() must store its tokens alone: what else is in their blocks stays"


class ExchangeTests(Suite):
    """Part of ``AttentionSuite``."""

    capabilities: ClassVar[AttentionCapabilities]

    @pytest.fixture
    def exchanged(self, plain: AttentionSpec, offered: Offered[AttentionOffer]) -> AttentionSpec:
        """A layer with grouped heads, whose pages are given away."""
        if self.capabilities.exchanges_pages:
            return plain if plain.kv_lora_rank else replace(plain, num_kv_heads=2)
        made = make_attention(offered, plain)
        for call in (lambda: made.export_pages(None, [1], 0, 1), lambda: made.import_pages(None, [1], 0, ())):
            with pytest.raises(NotImplementedError):
                call()
        pytest.skip("it exchanges no pages, as its capabilities say: engines with KV connectors refuse it")

    def test_pages_are_what_was_stored(self, exchanged: AttentionSpec, layers: Layers, requests: Requests) -> None:
        for dtype in layers.dtypes:
            spec = replace(exchanged, dtype=dtype)
            if not layers.serves(spec):
                continue
            mine, size = requests(spec), spec.block_size
            play(mine, [{"a": 2 * size + 1, "b": size}, {"a": 1, "b": 1}, {"a": size}])
            for start, end in _stretches(mine.length("a"), size):
                found = _export(mine, "a", start, end)
                for part, wanted in zip(found, _stored(mine, "a", start, end), strict=True):
                    check(torch.equal(_bits(part), _bits(wanted)), f"{STORED}, of {spec.cache_form or dtype} too")

    def test_pages_are_copies(self, exchanged: AttentionSpec, requests: Requests) -> None:
        mine, size = requests(exchanged), exchanged.block_size
        play(mine, [{"a": 2 * size}])
        found = [*_export(mine, "a", 0, 2 * size), *_export(mine, "a", 0, 1)]
        before = [part.clone() for part in found]
        for block in mine.tables["a"]:
            mine.pages.fill(block, 1.3)
        same = all(torch.equal(_bits(a), _bits(b)) for a, b in zip(found, before, strict=True))
        check(same, "export_pages() must give copies: what is stored later must not show in them")

    def test_pages_move_to_another_cache(self, exchanged: AttentionSpec, layers: Layers, requests: Requests) -> None:
        """Other block ids, and blocks of another size."""
        size, least = exchanged.block_size, layers.offer.block_size_multiple
        for other in (size, size + least):
            source = requests(exchanged)
            mine = requests(replace(exchanged, block_size=other), seed=1, num_blocks=40, left_behind=torch.nan)
            mine.seed = source.seed
            length = 3 * size + 1
            play(source, [{"a": length}])
            mine.plan({"a": length})  # gives out blocks
            for start, end in ((size + 1, length), (1, size + 1), (0, 1)):
                _import(mine, "a", start, _export(source, "a", start, end))
            for part, wanted in zip(_export(mine, "a", 0, length), _export(source, "a", 0, length), strict=True):
                check(
                    torch.equal(_bits(part), _bits(wanted)),
                    "what import_pages() stored must come back from export_pages(), bit for bit, whatever the block "
                    "size and the order in which stretches come",
                )
            first, second = source.plan({"a": 1}), mine.plan({"a": 1})
            _clear_behind(mine, "a", length)
            wanted, found = source.run(first), mine.run(second)
            says = "attention over imported pages must be what it was over those that were exported"
            check_close(found, wanted.cpu(), layers.tolerance(exchanged), says)
            if self.capabilities.deterministic and other == size:
                check_equal(found, wanted, f"{says}: the same bits")

    def test_an_import_leaves_the_rest(self, exchanged: AttentionSpec, requests: Requests) -> None:
        mine, size = requests(exchanged), exchanged.block_size
        play(mine, [{"a": 3 * size, "b": 2 * size}])
        for start, end in ((1, 2), (size - 1, size + 1), (1, 2 * size + 1), (size, 2 * size), (0, 3 * size)):
            given = _export(mine, "a", start, end)
            before = {block: mine.pages.read(block) for block in range(64)}
            rest = [_export(mine, "a", 0, start), _export(mine, "a", end, 3 * size)]
            _import(mine, "a", start, [part.flip(0) for part in given])
            after = [_export(mine, "a", 0, start), _export(mine, "a", end, 3 * size)]
            check(all(torch.equal(_bits(a), _bits(b)) for a, b in zip(_flat(rest), _flat(after), strict=True)), LEFT)
            touched = mine.tables["a"][start // size : -(-end // size)]
            same = all(torch.equal(mine.pages.read(b), held) for b, held in before.items() if b not in touched)
            check(same, "import_pages() must write to the blocks of its tokens alone")
            for part, wanted in zip(_export(mine, "a", start, end), given, strict=True):
                check(torch.equal(_bits(part), _bits(wanted.flip(0))), f"{LEFT}, and they are stored")
            _import(mine, "a", start, given)

    def test_regions_are_all_of_a_block(
        self, exchanged: AttentionSpec, requests: Requests, offered: Offered[AttentionOffer]
    ) -> None:
        mine, other = requests(exchanged), requests(exchanged, num_blocks=7)
        size, regions = exchanged.block_size, mine.attention.regions(mine.cache)
        name = mine.attention.native_layout()
        if not regions or any(region.device != "cpu" for region in regions):
            pytest.skip("the suite can read no regions, or not on that device")
        check(
            name == other.attention.native_layout(), "native_layout() must be the same text for layers that are equal"
        )
        changes: tuple[dict[str, Any], ...] = (
            {"block_size": 2 * size},
            {"num_kv_heads": 4},
            {"head_size": exchanged.head_size + 8},
        )
        for changed in (one for one in changes if "num_kv_heads" not in one or not exchanged.kv_lora_rank):
            differs = offered.target(replace(exchanged, **changed), offered.settings).native_layout() != name
            check(
                differs or not name, f"native_layout() must name all that a page depends on: {', '.join(changed)} too"
            )
        play(mine, [{"a": size}])
        play(other, [{"b": 2 * size}])
        into = other.attention.regions(other.cache)
        (source,), destination = mine.tables["a"], other.tables["b"][1]
        for a, b in zip(regions, into, strict=True):
            where = b.address + destination * b.block_bytes
            ctypes.memmove(where, a.address + source * a.block_bytes, a.block_bytes)
        moved = _export(other, "b", size, 2 * size)
        same = all(torch.equal(_bits(a), _bits(b)) for a, b in zip(moved, _export(mine, "a", 0, size), strict=True))
        check(same, "regions() must name all memory of a block, at address + block * block_bytes")


def _stretches(length: int, size: int) -> Sequence[tuple[int, int]]:
    """Of a request: within blocks, over their edges, whole ones, none."""
    return ((0, length), (1, 2), (size - 1, size + 1), (size, 2 * size), (2, length - 1), (length - 1, length), (3, 3))


def _export(mine: PagedRequests, name: str, start: int, end: int) -> tuple[Tensor, ...]:
    """Of a request.

    Raises:
        ConformanceError: it is missing, or the parts are of another form.
    """
    spec = mine.spec
    parts = _of_contract(mine.attention, "export_pages", mine.cache, mine.tables[name], start, end)
    found = [(tuple(part.shape), part.dtype) for part in parts]
    wanted = [((end - start, spec.num_kv_heads, p.width), getattr(torch, p.dtype)) for p in spec.cache_parts]
    check(
        found == wanted,
        "export_pages() must give each of AttentionSpec.cache_parts, [tokens, num_kv_heads, width] in its dtype",
    )
    return tuple(parts)


def _import(mine: PagedRequests, name: str, start: int, parts: Sequence[Tensor]) -> None:
    parts = [part.to(mine.device) for part in parts]
    _of_contract(mine.attention, "import_pages", mine.cache, mine.tables[name], start, parts)


def _of_contract(attention: Attention, method: str, *arguments: Any) -> Any:
    try:
        return getattr(attention, method)(*arguments)
    except NotImplementedError as error:
        raise ConformanceError(
            f"{method}() is missing: engines with KV connectors need it; or say that it is, with "
            "AttentionCapabilities(exchanges_pages=False)"
        ) from error


def _stored(mine: PagedRequests, name: str, start: int, end: int) -> list[Tensor]:
    """What the cache holds by the contract, from the keys and values that were given."""
    given = [(mine.keys[name][start:end].cpu(), mine.scales[0])]
    given += [(mine.values[name][start:end].cpu(), mine.scales[1])] * (not mine.spec.kv_lora_rank)
    if not mine.spec.cache_form:
        return [rows for rows, _ in given]
    kept = [encode(rows, mine.spec, scale) for rows, scale in given]
    dtypes = [getattr(torch, part.dtype) for part in mine.spec.cache_parts]
    elements = [elements.to(dtype) for (elements, _), dtype in zip(kept, dtypes, strict=False)]
    own = mine.spec.cache_scales == "token_head"
    return elements + [scales[..., None] for _, scales in kept if own]


def _clear_behind(mine: PagedRequests, name: str, length: int) -> None:
    """As the runner does: nothing of an earlier owner is left behind what was imported."""
    count = -length % mine.spec.block_size
    shapes = [(count, mine.spec.num_kv_heads, part.width) for part in mine.spec.cache_parts]
    dtypes = [getattr(torch, part.dtype) for part in mine.spec.cache_parts]
    _import(mine, name, length, [torch.zeros(s, dtype=d) for s, d in zip(shapes, dtypes, strict=True)])


def _flat(parts: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    return [one for several in parts for one in several]


def _bits(part: Tensor) -> Tensor:
    """Its bytes, which are comparable whatever its dtype and NaN."""
    return part.cpu().contiguous().view(torch.uint8)
