"""Models: names resolved to a folder, architectures, weight files, and the model that the worker runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kernelet.contracts.offer import Offer, Settings

if TYPE_CHECKING:
    from torch import Tensor

    from kernelet.contracts.attention import Attention, AttentionSpec
    from kernelet.contracts.cache import FullAttentionSpec

HFConfig = Mapping[str, Any]
"""A parsed ``config.json`` in Hugging Face's form."""


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """What the frontend must know of a model; found from ``config.json`` alone.

    Attributes:
        vocab_size: Rows of the logits.
        max_model_len: Context that the model was made for, in tokens.
        num_layers: Decoder layers.
        hidden_size: Width of the residual stream.
        dtype: Dtype that the checkpoint states (``"bfloat16"``), or empty.
        row: Name of the architecture row, for the plan.
    """

    vocab_size: int
    max_model_len: int
    num_layers: int
    hidden_size: int
    dtype: str = ""
    row: str = ""


@dataclass(frozen=True, kw_only=True)
class ModelArchitectureOffer(Offer):
    """An architecture; ``name`` is what ``config.json`` calls it in ``architectures``. ``target`` is a ``Model`` class.

    Attributes:
        describe: Import string of ``(HFConfig) -> ModelInfo``; imports no torch; raises UnsupportedModelError for a
            configuration that it does not serve, naming the field.
    """

    describe: str


@dataclass(frozen=True, kw_only=True)
class ModelSourceOffer(Offer):
    """Names and files that it turns into a folder. ``target`` is a ``ModelSource`` class.

    Attributes:
        models: Model names with one line about each.
        patterns: Glob patterns of files that are models as they are, e.g. ``("*.onnx",)``: a model's name that is the
            path of such a file is given to this source. Since model 1.3.
    """

    models: Mapping[str, str]
    patterns: tuple[str, ...] = ()


class ModelSource(ABC):
    """Turns a model's name into a local folder in Hugging Face's form."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @abstractmethod
    def resolve(self, name: str) -> Path:
        """Returns the folder, fetching it once when it is not there.

        Args:
            name: A key of the offer's ``models``, or the path of a file that one of its ``patterns`` matches.

        Raises:
            ModelNotFoundError: if it cannot be had, with the reason.
        """


@dataclass(frozen=True, kw_only=True)
class WeightFormatOffer(Offer):
    """A file format of checkpoints. ``target`` is a ``WeightReader`` class.

    Attributes:
        patterns: Glob patterns of the files, e.g. ``("*.safetensors",)``.
    """

    patterns: tuple[str, ...]


class WeightReader(ABC):
    """Reads the tensors of a checkpoint folder, lazily. The core makes one with ``open``."""

    @abstractmethod
    def __init__(self, folder: Path) -> None: ...

    @classmethod
    def open(cls, folder: Path, settings: Settings) -> WeightReader:
        """The reader of a folder; a format that has options makes its own here.

        Args:
            folder: The model's folder.
            settings: The plugin's options.

        Raises:
            WeightsError: a file is missing or damaged.
            ConfigError: an option is missing or of no use.
        """
        return cls(folder)

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Names of all tensors."""

    @abstractmethod
    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor, without reading it."""

    @abstractmethod
    def read(self, name: str, rows: slice | None = None) -> Tensor:
        """A tensor, or a slice of its first axis, in the file's dtype, on the host.

        Raises:
            WeightsError: if there is no such tensor or the file is damaged.
        """

    @abstractmethod
    def nbytes(self, name: str | None = None) -> int:
        """Bytes of one tensor in its file, or of all, for the progress bar and the memory estimate."""

    def identity(self, name: str) -> str | None:
        """Names the content of a tensor without reading it: another content has another name. Since model 1.2.

        None: not known; what kernels make of it is then not kept between starts.
        """
        return None

    def mapped_bytes(self) -> int:
        """Bytes of files that living tensors keep mapped, in use though the system calls them free. Since model 1.2."""
        return 0


@dataclass(kw_only=True)
class StepInputs:
    """One step's tokens, all requests one after the other. New fields come with a minor version.

    Attributes:
        token_ids: int64 [tokens]; None where ``embeddings`` is given.
        embeddings: [tokens, hidden].
        positions: int64 [tokens], absolute position of each token in its request.
        attention: Metadata of each cache group, by group index.
        adapter_slots: int32 [tokens], 0 for none; None where no adapter is active.
        intermediate: What the pipeline stage before hands over.
        taps: Names of layers whose output is wanted.
    """

    token_ids: Tensor | None
    positions: Tensor
    attention: Mapping[int, Any]
    embeddings: Tensor | None = None
    adapter_slots: Tensor | None = None
    intermediate: Tensor | None = None
    taps: frozenset[str] = frozenset()


@dataclass(kw_only=True)
class Hidden:
    """Output of a forward pass: ``states`` [tokens, hidden] after the last norm, and the requested taps by name."""

    states: Tensor
    taps: Mapping[str, Tensor] = field(default_factory=dict)


@runtime_checkable
class AttentionLayer(Protocol):
    """A layer of a model that owns a cache; the runner binds both before the first step."""

    name: str
    spec: AttentionSpec

    def cache_spec(self) -> FullAttentionSpec:
        """What the layer keeps between steps."""
        ...

    def bind(self, attention: Attention, cache: Any, group: int) -> None:
        """Gives the layer its attention, its cache, and the index of its group in ``StepInputs.attention``."""
        ...


class Model(Protocol):
    """A model of one rank. An ``nn.Module``, built from the core's layers or a class of its own.

    It is constructed as ``Model(context)`` with a ``kernelet.layers.ModelContext``: configuration, dtype, device,
    ops, weight kernels and parallel state.
    """

    def attention_layers(self) -> Sequence[AttentionLayer]:
        """All layers that own a cache, in order."""
        ...

    def load_weights(self, reader: WeightReader) -> Iterator[str]:
        """Loads every parameter exactly once, yielding each checkpoint name when it was consumed.

        Raises:
            WeightsError: a tensor is missing, unexpected or of another shape; the message names it.
        """
        ...

    def forward(self, inputs: StepInputs) -> Hidden:
        """Runs one step."""
        ...

    def compute_logits(self, states: Tensor) -> Tensor:
        """[rows, hidden] -> [rows, vocab_size], in the model's dtype."""
        ...
