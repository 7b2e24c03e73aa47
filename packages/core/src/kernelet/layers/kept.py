"""What a kernel made of a weight at an earlier start, where the platform keeps that."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from torch import Tensor

from kernelet.layers.context import ModelContext

if TYPE_CHECKING:
    from kernelet.layers.kernels import Served


class Kept:
    """One weight of one kernel in the platform's store.

    Attributes:
        found: ``find`` was successful and ``restore`` not called yet.

    Args:
        context: Has the store, if there is one.
        served: Kernel and scheme of the weight.
    """

    def __init__(self, context: ModelContext, served: Served) -> None:
        self._store = context.packed
        self._served = served
        self._layout = served.kernel.layout(context.dtype_name) if self._store is not None else ""
        self._key = ""
        self._tensors: Mapping[str, Tensor] | None = None

    @property
    def found(self) -> bool:
        return self._tensors is not None

    def find(self, content: str) -> bool:
        """Reads what is kept, if it is; else ``save`` will keep it under this content.

        Args:
            content: Names the weight's content, shape and dtype.
        """
        if self._store is None or not self._layout or self._served.identity is None:
            return False
        names = (*_names(self._served), self._layout, content)
        self._key = blake2b(repr(names).encode(), digest_size=20).hexdigest()
        self._tensors = self._store.load(self._key)
        return self._tensors is not None

    def restore(self) -> Any:
        """What the kernel prepared."""
        assert self._tensors is not None
        tensors, self._tensors = self._tensors, None
        return self._served.kernel.restore(tensors)

    def save(self, prepared: Any) -> None:
        """Keeps what the kernel prepared, if ``find`` asked for it before."""
        if self._store is not None and self._key:
            self._store.save(self._key, self._served.kernel.export(prepared))


def _names(served: Served) -> tuple[object, ...]:
    """All that a prepared weight depends on, besides the layout and the content."""
    kernel, method = served.kernel, served.method
    names = (type(kernel).__module__, type(kernel).__qualname__, kernel.role, served.scheme, served.identity)
    if method is None:
        return names
    return (*names, type(method).__module__, type(method).__qualname__, method.settings, method.config, served.modules)
