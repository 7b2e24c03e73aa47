"""A graph of operations on the host, which computes again with the same tensors, as a graph of a device does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class OpGraph(TorchDispatchMode):
    """Records torch's operations while it is entered. What the host decided meanwhile stays decided.

    A number that was read from a tensor, an array of numpy, a length: all of it is as it was, so code that depends on
    them shows that it cannot be replayed. Launches that torch does not see (other libraries' kernels) are not in it.

    Attributes:
        ops: Names of the operations, in order.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ops: list[str] = []
        self._calls: list[Callable[[], None]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Computes an operation and remembers it with its results."""
        options = kwargs or {}
        made = func(*args, **options)
        self.ops.append(str(func))

        def again() -> None:
            for old, new in zip(tree_leaves(made), tree_leaves(func(*args, **options)), strict=True):
                if isinstance(old, Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)

        self._calls.append(again)
        return made

    def replay(self) -> None:
        """Computes all of it again."""
        with torch.inference_mode():
            for call in self._calls:
                call()


def record(fn: Callable[[], None]) -> Callable[[], None]:
    """Computes something and returns its replay."""
    graph = OpGraph()
    with graph:
        fn()
    return graph.replay
