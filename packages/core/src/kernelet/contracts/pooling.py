"""Pooling: a prompt's hidden states as one vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POOLINGS = ("last", "mean")
"""How states become one vector: the last token's, or the mean over all tokens."""

TASKS = ("embed", "plugin")
"""What vectors are for: to be compared with one another, or an IO processor's own affair."""

OutputT = TypeVar("OutputT")


class PoolingParams(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a prompt becomes a vector. Checked by ``kernelet.request.pooling``; making one checks nothing.

    Attributes:
        pooling: ``"last"``: the state of the last token; ``"mean"``: the mean over all tokens. None: what the
            checkpoint says, else ``"last"``.
        normalize: Divide by the Euclidean norm. None: what the checkpoint says, else True for the task ``"embed"`` and
            False for others.
        dimensions: Keep the first so many numbers, before the norm is taken (Matryoshka embeddings). None: all.
        task: ``"embed"`` or ``"plugin"``; None: ``"embed"``.
    """

    pooling: str | None = None
    normalize: bool | None = None
    dimensions: int | None = None
    task: str | None = None


@dataclass(kw_only=True)
class PoolingOutput:
    """A prompt's vector.

    Attributes:
        data: float32 [dimensions].
    """

    data: NDArray[np.float32]

    @property
    def embedding(self) -> list[float]:
        """The vector as a list."""
        return [float(value) for value in self.data]


@dataclass(kw_only=True)
class PoolingRequestOutput(Generic[OutputT]):
    """A request whose states were pooled; shaped as in vLLM.

    Attributes:
        outputs: A ``PoolingOutput``; for data that went through an IO processor, what that made of it.
        prompt_token_ids: The prompt; empty for data that went through an IO processor.
        finished: Always True.
        num_cached_tokens: Prompt tokens taken from the prefix cache.
    """

    request_id: str
    outputs: OutputT
    prompt_token_ids: list[int]
    finished: bool = True
    num_cached_tokens: int = 0
