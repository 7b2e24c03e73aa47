"""Ops and weight kernels: where a platform's code meets a model and a quantization format.

``WeightScheme`` is the narrow waist: a format says how a weight is stored, a kernel which schemes it computes with.
Between them a weight [out, in] (of experts: [experts, out, in], and so all its tensors) is in canonical form:

===============  ======================================================================================================
``weight``       one element an entry, unpacked: ``dense`` in the layer's dtype, ``int2`` to ``int8`` in int8, ``uint2``
                 to ``uint8`` in uint8, ``e4m3fn`` and ``e5m2`` in the float8 dtype of that name
``scales``       of the first, finest level: [ceil(out / block), ceil(in / block)]; a block of 0 is the whole axis;
                 of further levels ``scales_1``, ``scales_2``, ...
``zero_points``  as large as ``scales``: integers like ``weight``, or floats like ``scales``
``offsets``      of the first level, in its blocks and dtype; of further levels ``offsets_1``, ... Since op 1.4
``permutation``  int32 [in]: column j of ``weight`` is multiplied with element ``permutation[j]`` of the input
``input_scale``  float32 [], of inputs that are quantized statically
===============  ======================================================================================================

``w[o, i] = (weight[o, i] - zero_point) * scale * scale_1 * ...``, or with offsets ``w[o, i] = weight[o, i] * scale *
scale_1 * ... + offset * offset_1 * ...``, with the values of the blocks that hold (o, i).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from kernelet.contracts.offer import Offer, Settings

if TYPE_CHECKING:
    from torch import Tensor

Role = Literal["linear", "grouped_linear", "embedding"]
"""What a weight is used for: ``x @ w.T``; the same with a weight an expert; a table of rows (and the output head)."""


class ScaleLevel(msgspec.Struct, frozen=True):
    """One level of scales over a weight [out, in].

    Attributes:
        dtype: Dtype of the scales; ``uint8`` and ``int8`` are whole numbers of a coarser level's. Since op 1.4.
        block: Elements a scale covers as (out, in); 0 means the whole axis.
    """

    dtype: str
    block: tuple[int, int]


class WeightScheme(msgspec.Struct, frozen=True, kw_only=True):
    """How a weight [out, in] is stored.

    Attributes:
        element: Open id of the element type: ``"dense"`` (the layer's dtype), ``"int8"``, ``"int4"``, ``"e4m3fn"``, ...
        scales: Levels of scales, finest first.
        zero_point: None, ``"int"``, ``"float"`` or, since op 1.4, ``"offset"``: what is added is stored instead.
        permuted: The input axis is permuted; canonical tensor ``"permutation"`` int32 [in].
        activation: None, ``"static"`` or ``"dynamic"``: the input becomes a scale times numbers of
            ``activation_element`` before it is multiplied, to nearest, ties to even. The scale is ``input_scale``, or
            each row (token) has its own: its largest magnitude over the element type's largest number. Rows of zeros
            stay zeros.
        activation_element: Element type of quantized inputs; of ``"int8"`` the numbers from -127 to 127 are used.
        codebook: Size of the codebook, 0 for none.
        opaque: Id of a byte format that only the quantization plugin's reference dequantizer understands.
    """

    element: str = "dense"
    scales: tuple[ScaleLevel, ...] = ()
    zero_point: str | None = None
    permuted: bool = False
    activation: str | None = None
    activation_element: str | None = None
    codebook: int = 0
    opaque: str = ""

    def describe(self) -> str:
        """All of it in one line, for plans and errors: ``"int4, float32 scales of (1, 32), int zero points"``."""
        words = [self.opaque or self.element]
        words += [f"{level.dtype} scales of ({level.block[0]}, {level.block[1]})" for level in self.scales]
        words += ["offsets" if self.zero_point == "offset" else f"{self.zero_point} zero points"] * bool(
            self.zero_point
        )
        words += [f"codebook of {self.codebook}"] if self.codebook else []
        words += ["permuted inputs"] if self.permuted else []
        words += [f"{self.activation} {self.activation_element} inputs"] if self.activation else []
        return ", ".join(words)


DENSE = WeightScheme()
"""An unquantized weight; its canonical tensors are ``{"weight": [out, in]}``."""


class Support(NamedTuple):
    """Whether something can be done, and why not."""

    ok: bool
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class OpOffer(Offer):
    """An implementation of an op. ``target`` is a callable with the op's signature, see ``kernelet.layers.ops``.

    A target that is a subclass of ``Op`` (since op 1.1) is made once a worker, with its plugin's settings.

    Attributes:
        op: Name of the op, e.g. ``"rms_norm"``.
        dtypes: Dtypes it takes; empty means all.
        required_features: Features that the platform must have.
    """

    op: str
    dtypes: tuple[str, ...] = ()
    required_features: frozenset[str] = frozenset()


class Op(ABC):
    """An op that has settings, or keeps something between calls. One instance a worker. Since op 1.1."""

    def __init__(self, settings: Settings) -> None:
        """Made while the model is built, before it has weights.

        Raises:
            ConfigError: the settings cannot work; it stops the start.
        """
        self.settings = settings

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The op; an implementation has the op's own signature."""


@dataclass(frozen=True, kw_only=True)
class WeightKernelOffer(Offer):
    """Kernels for weights of some schemes. ``target`` is a ``WeightKernel`` class.

    Attributes:
        roles: What it serves.
        required_features: Features that the platform must have.
    """

    roles: tuple[Role, ...] = ("linear",)
    required_features: frozenset[str] = frozenset()


class WeightKernel(ABC):
    """Computes with weights of one or more schemes. One instance a layer."""

    def __init__(self, settings: Settings, role: Role, scheme: WeightScheme) -> None:
        self.settings = settings
        self.role = role
        self.scheme = scheme

    @classmethod
    @abstractmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        """Whether a weight [out, in] (grouped: [experts, out, in]) can be served with inputs of ``dtype``."""

    @abstractmethod
    def prepare(self, weights: Mapping[str, Tensor]) -> Any:
        """Turns canonical tensors into what ``apply`` wants. May run again when weights change.

        Args:
            weights: ``"weight"`` and, by scheme, the other canonical tensors. ``prepare`` may repack their memory;
                the mapping is the caller's and stays as it is.
        """

    @abstractmethod
    def apply(self, x: Tensor, prepared: Any, bias: Tensor | None) -> Tensor:
        """linear: [tokens, in] -> [tokens, out]. embedding: int64 ids [tokens] -> rows [tokens, in]."""

    def apply_grouped(self, x: Tensor, prepared: Any, expert: int) -> Tensor:
        """grouped_linear: [tokens, in] -> [tokens, out] with the weight of one expert."""
        raise NotImplementedError(f"{type(self).__name__} does not serve the role grouped_linear")

    def detail(self, dtype: str, shape: tuple[int, ...]) -> str:
        """What else its arithmetic or speed depends on, e.g. a table of settings; it is in the plan. Since op 1.2."""
        return ""

    def has_rows(self, dtype: str) -> bool:
        """Whether ``rows`` reads rows of a linear weight of ``dtype``: a tied embedding needs no table then. Op 1.2."""
        return False

    def rows(self, ids: Tensor, prepared: Any) -> Tensor:
        """linear: int64 ids [tokens] -> those rows of the weight [tokens, in], bit by bit. Since op 1.2."""
        raise NotImplementedError(f"{type(self).__name__} reads no rows")

    def layout(self, dtype: str) -> str:
        """Names the form in which ``prepare`` keeps weights of ``dtype``; a change of the form changes it. Op 1.2.

        Not empty: a platform may keep what was prepared for the next start, which then calls ``restore``. All that the
        form depends on besides role, scheme, dtype and shape is in it, e.g. the instruction set and settings.
        """
        return ""

    def export(self, prepared: Any) -> Mapping[str, Tensor]:
        """What ``prepare`` made, as contiguous tensors; needed where ``layout`` is not empty. Since op 1.2."""
        raise NotImplementedError(f"{type(self).__name__} exports no weights")

    def restore(self, tensors: Mapping[str, Tensor]) -> Any:
        """What ``prepare`` made, from the tensors of ``export``; computes the same bits. Since op 1.2."""
        raise NotImplementedError(f"{type(self).__name__} restores no weights")


class PackedWeights(ABC):
    """Prepared weights that a platform keeps between starts, in files. Since op 1.2."""

    @abstractmethod
    def load(self, key: str) -> Mapping[str, Tensor] | None:
        """The tensors that were saved under a key, in memory of their own; None: not kept, or damaged."""

    @abstractmethod
    def save(self, key: str, tensors: Mapping[str, Tensor]) -> None:
        """Keeps tensors, as room allows. A failure to write is no error: it is logged once.

        Args:
            key: Names content, layout and shape; one key always has the same tensors.
            tensors: On the host; they stay as they are.
        """

    def close(self) -> None:
        """Waits for what is still being written; called once the last weight is saved."""
