"""Quantization methods: how the weights of a model are stored, and how they come into canonical form.

A method knows no kernel and no platform: it names a ``WeightScheme`` (``kernelet.contracts.op``), and makes the
canonical tensors of that scheme. It is asked about modules of the checkpoint, each under its own name, also where the
core computes several of them as one weight: what it says must be the same for all of these.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernelet.contracts.offer import NO_OPTIONS, Offer, Schema, Settings
from kernelet.contracts.op import Role, WeightScheme

if TYPE_CHECKING:
    from torch import Tensor

    from kernelet.config import ModelConfig

QuantizationConfig = Mapping[str, Any]
"""``quantization_config`` of a checkpoint's config.json; ``quant_method`` in it names the method."""


@dataclass(frozen=True, kw_only=True)
class QuantOffer(Offer):
    """A way to store weights. ``target`` is a ``QuantizationMethod`` class.

    Attributes:
        names: What ``quant_method`` may be in checkpoints that it reads; ``--quantization`` takes them too, beside the
            offer's own name. Empty: it reads no quantized checkpoint.
        online: It quantizes the weights of an unquantized checkpoint while they are loaded, if it is named.
        config_files: Files beside config.json, in JSON, that hold the configuration where config.json has none. A
            ``quant_method`` that is missing there is the offer's name. Since quant 1.1.
    """

    names: tuple[str, ...] = ()
    online: bool = False
    config_files: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class QuantizerOffer(Offer):
    """Writes checkpoints of a format. ``target`` is a ``kernelet.contracts.quantizing.Quantizer``. Since quant 1.1.

    Attributes:
        calibrated: It asks what modules are given while text runs.
        options: Options of writing, apart from those of the plugin; ``kernelet quantize --option KEY=VALUE``.
    """

    calibrated: bool = False
    options: Schema = field(default_factory=lambda: NO_OPTIONS)


@dataclass(frozen=True, kw_only=True)
class QuantLayer:
    """A module of the checkpoint that has a weight.

    Attributes:
        name: Its name there, without ``.weight``: ``"model.layers.0.self_attn.q_proj"``.
        role: What the weight is used for.
        shape: [out, in] over all ranks; of one expert, where the role is ``grouped_linear``.
        dtype: The dtype that the model computes in.
        head: It makes the logits.
        router: It chooses experts.
        tied: The embedding and the head are one weight, which the checkpoint has under the embedding's name. Since
            quant 1.1.
    """

    name: str
    role: Role
    shape: tuple[int, int]
    dtype: str
    head: bool = False
    router: bool = False
    tied: bool = False


class QuantizationMethod(ABC):
    """How the weights of one model are stored. One instance a worker, made before the model is built."""

    def __init__(self, settings: Settings, config: QuantizationConfig | None, model: ModelConfig) -> None:
        """Checks what it is given.

        Args:
            settings: The plugin's options.
            config: What the checkpoint says; None for an unquantized one.
            model: The resolved model.

        Raises:
            ConfigError: an option cannot work.
            UnsupportedModelError: a field of ``config`` is unknown or has a value that is not served; it is named.
        """
        self.settings = settings
        self.config = config
        self.model = model

    @abstractmethod
    def scheme(self, layer: QuantLayer) -> WeightScheme | None:
        """How a module's weight is stored; None: unquantized.

        Raises:
            UnsupportedModelError: it cannot be stored so; names the module.
        """

    def stored(self, layer: QuantLayer) -> Sequence[str]:
        """What a checkpoint holds of a quantized module: the last parts of its tensors' names."""
        return ("weight",)

    def optional(self, layer: QuantLayer) -> Sequence[str]:
        """What it may hold of one besides ``stored``, e.g. under another name that writers use. Since quant 1.1."""
        return ()

    def ignored(self) -> Mapping[str, str]:
        """Tensors of a checkpoint that no weight needs: reasons by regular expression of the whole name. Quant 1.1."""
        return {}

    @abstractmethod
    def canonical(self, layer: QuantLayer, stored: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Canonical tensors of a quantized module, in the form that ``scheme`` says.

        Args:
            layer: The module.
            stored: The tensors that ``stored`` names, and of ``optional`` those that are there, whole and as the
                checkpoint has them. An online method is given ``{"weight": [out, in]}``, this rank's share of an
                unquantized weight. Nobody changes them.

        Raises:
            WeightsError: a tensor is damaged or does not fit the configuration; names the module.
        """

    def identity(self) -> str:
        """Names all that canonical tensors depend on besides the scheme and what is stored, e.g. options of rounding.

        Empty: not known; what kernels make of the weights is then not kept between starts.
        """
        return ""

    def unused(self) -> Sequence[str]:
        """What of the options or the configuration no module matched, once all were asked; each becomes a warning."""
        return ()


@dataclass(frozen=True, kw_only=True)
class KVCacheOffer(Offer):
    """A way to keep keys and values, for ``--kv-cache-dtype``. ``target``: a ``KVCacheMethod``. Since quant 1.1."""


@dataclass(frozen=True, kw_only=True)
class KVCacheScheme:
    """How keys and values of a layer are kept. Since quant 1.1.

    Attributes:
        element: ``AttentionSpec.cache_dtype``: ``"e4m3fn"``, ``"int8"``.
        scales: ``AttentionSpec.cache_scales``: ``"tensor"``, ``"token_head"``.
    """

    element: str
    scales: str


@dataclass(frozen=True, kw_only=True)
class KVCacheLayer:
    """An attention layer. Since quant 1.1.

    Attributes:
        name: Its name in the checkpoint: ``"model.layers.0.self_attn"``.
        num_kv_heads: Key and value heads of this rank.
        head_size: Size of a head.
        dtype: The dtype that the model computes in.
        window: Tokens that are seen; None: all.
    """

    name: str
    num_kv_heads: int
    head_size: int
    dtype: str
    window: int | None = None


class KVCacheMethod(ABC):
    """How the keys and values of one model are kept. One instance a worker. Since quant 1.1.

    Attributes:
        expects_scales: The checkpoint says that it has scales; that some layer has none is a warning. Since quant 1.3.
    """

    expects_scales: bool = False

    def __init__(self, settings: Settings, model: ModelConfig) -> None:
        """Checks what it is given.

        Raises:
            ConfigError: an option cannot work.
        """
        self.settings = settings
        self.model = model

    @abstractmethod
    def scheme(self, layer: KVCacheLayer) -> KVCacheScheme | None:
        """How a layer's keys and values are kept; None: in the dtype that it computes in."""

    def stored(self, layer: KVCacheLayer) -> Sequence[str]:
        """What a checkpoint may hold for a layer: names of tensors, after the layer's own and a dot.

        A checkpoint need not have them. The core ignores those that end in ``k_scale``, ``v_scale``, ``kv_scale``,
        ``k_zero_point`` and ``v_zero_point`` where nobody asks for them; others of its tensors must have a weight to go
        to.
        """
        return ()

    def scales(self, layer: KVCacheLayer, stored: Mapping[str, Tensor]) -> tuple[float, float]:
        """What stored keys and values are multiplied by, where the scheme has scales of a tensor.

        Args:
            layer: The layer.
            stored: What the checkpoint has of the tensors that ``stored`` names.

        Raises:
            WeightsError: a tensor cannot be that; names it.
        """
        return (1.0, 1.0)


class ModulePatterns:
    """Names of modules as configurations list them, e.g. ``modules_to_not_convert``.

    An entry matches whole components of a name, wherever they stand in it: ``mlp.gate`` is no ``mlp.gate_up_proj``, and
    ``layers.1`` no ``layers.10``. Within a component ``*`` is any text and ``?`` any character. ``re:`` starts a
    regular expression that must match the whole name.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        """Reads the entries.

        Raises:
            ValueError: one is empty or no regular expression; names it.
        """
        self._patterns = {entry: _compile(entry) for entry in entries}
        self._used: set[str] = set()

    def match(self, name: str) -> bool:
        """Whether some entry matches a module's name."""
        found = {entry for entry, pattern in self._patterns.items() if pattern.fullmatch(name)}
        self._used |= found
        return bool(found)

    def unused(self) -> tuple[str, ...]:
        """Entries that matched no name so far, in order."""
        return tuple(entry for entry in self._patterns if entry not in self._used)


def _compile(entry: str) -> re.Pattern[str]:
    if entry.startswith("re:"):
        try:
            return re.compile(entry.removeprefix("re:"))
        except re.error as error:
            raise ValueError(f"{entry!r} is no regular expression: {error}") from error
    if not entry.strip("."):
        raise ValueError(f"{entry!r} names no module")
    inner = "".join({"*": "[^.]*", "?": "[^.]"}.get(char) or re.escape(char) for char in entry.strip("."))
    return re.compile(rf"(.*\.)?{inner}(\..*)?")
