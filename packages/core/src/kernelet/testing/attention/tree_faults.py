"""Attention that is wrong over draft trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from kernelet.testing.attention.kept import SlowKept
from kernelet.testing.attention.reference import attend, attend_tree


class SeesSiblings(SlowKept):
    """Takes a tree for a sequence."""

    def attend_tree(
        self, query: Tensor, key: Tensor, value: Tensor, masks: Sequence[int], sinks: Tensor | None
    ) -> Tensor:
        return attend(query, key, value, self.spec, sinks)


class HalfAMask(SlowKept):
    """Keeps masks in 32 bits."""

    def attend_tree(
        self, query: Tensor, key: Tensor, value: Tensor, masks: Sequence[int], sinks: Tensor | None
    ) -> Tensor:
        narrow = [mask & 0xFFFFFFFF or 1 for mask in masks]
        return attend_tree(query, key, value, narrow, self.spec, sinks)


class WindowOfSlots(SlowKept):
    """Takes the place of a token in the cache for its position."""

    def attend_tree(
        self, query: Tensor, key: Tensor, value: Tensor, masks: Sequence[int], sinks: Tensor | None
    ) -> Tensor:
        window = self.spec.window
        if window is None:
            return super().attend_tree(query, key, value, masks, sinks)
        found, before, spec = [], len(key) - len(query), replace(self.spec, window=None)
        for token, mask in enumerate(masks):
            near = range(max(0, before + token - window + 1), len(key))
            branch = [other for other in near if other < before or mask >> (other - before) & 1]
            found.append(attend(query[token : token + 1], key[branch], value[branch], spec, sinks))
        return torch.cat(found)


class ForgetsThePrefix(SlowKept):
    """Sees the tree alone."""

    def attend_tree(
        self, query: Tensor, key: Tensor, value: Tensor, masks: Sequence[int], sinks: Tensor | None
    ) -> Tensor:
        return super().attend_tree(query, key[-len(query) :], value[-len(query) :], masks, sinks)


TREE_PLANTED: tuple[tuple[str, type[Any], str], ...] = (
    ("sees-siblings", SeesSiblings, "its ancestors and itself, and nothing else of the tree"),
    ("has-masks-of-32-bits", HalfAMask, "its ancestors and itself, and nothing else of the tree"),
    ("counts-windows-in-slots", WindowOfSlots, "a window must count along the branch"),
    ("forgets-what-is-before-a-tree", ForgetsThePrefix, "must see all before the tree"),
)
"""Name, attention, and what the suite says of it."""
