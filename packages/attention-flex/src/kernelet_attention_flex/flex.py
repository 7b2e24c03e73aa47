"""``flex_attention`` as it is, or compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._dynamo import config
from torch.nn.attention import flex_attention as module

SWITCH = "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"
"""Torch's own, which the warning of an uncompiled call names."""

RECOMPILE_LIMIT = 64
"""Shapes of steps are few kinds (one request or several, one token or several, ...), for each kind of layer."""


def attention(*, compiled: bool) -> Callable[..., Any]:
    """``flex_attention``, as a fused kernel or with scores that are materialised."""
    return _compiled() if compiled else _materialised


def _materialised(*args: Any, **options: Any) -> Any:
    with _uncompiled():
        return module.flex_attention(*args, **options)


def _compiled() -> Callable[..., Any]:
    fused = torch.compile(module.flex_attention, fullgraph=True, dynamic=True)

    def call(*args: Any, **options: Any) -> Any:
        with config.patch(recompile_limit=RECOMPILE_LIMIT):
            return fused(*args, **options)

    return call


@contextlib.contextmanager
def _uncompiled() -> Iterator[None]:
    """Without the switch, an uncompiled call traces itself anew each time, and warns."""
    before = getattr(module, SWITCH)
    setattr(module, SWITCH, True)
    try:
        yield
    finally:
        setattr(module, SWITCH, before)
