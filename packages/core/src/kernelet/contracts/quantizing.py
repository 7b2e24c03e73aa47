"""Writers of quantized checkpoints: what they are given of a model, and what they leave in a folder.

A writer belongs to its format's plugin and knows no model: a ``QuantizerSource`` names the modules, gives their weights
and, where the writer is calibrated, what they are given when text runs. All of this is since quant 1.1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelet.contracts.model import HFConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import QuantLayer

if TYPE_CHECKING:
    from torch import Tensor

Progress = Callable[[str], None]
"""Is told the name of each module once it is done, for the progress bar."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ModuleInputs:
    """What a module was given while the calibration text ran, over all of its tokens.

    Attributes:
        tokens: How many.
        second_moment: float32 [in, in], the mean of x x^T; the Hessian of the squared error is twice this.
        mean_magnitude: float32 [in], the mean of abs(x).
        largest: float32 [in], the largest abs(x).
        sample: float32 [n, in], some of them, spread evenly over the text; at most ``tokens``.
    """

    tokens: int
    second_moment: Tensor
    mean_magnitude: Tensor
    largest: Tensor
    sample: Tensor


@dataclass(frozen=True, kw_only=True)
class InputGroup:
    """Modules that are given one and the same input: query, key and value; gate and up.

    Attributes:
        modules: Their names in the checkpoint.
        before: The norm or linear module whose output channels are the input's, one by one, so that a factor of a
            channel can be moved between them (see ``CalibratedBlock.scale``); empty: none.
    """

    modules: tuple[str, ...]
    before: str = ""


class CalibratedBlock(ABC):
    """One decoder layer, while it is this one's turn. Earlier ones are done, later ones are not loaded.

    Attributes:
        name: Its name in the checkpoint: ``"model.layers.0"``.
        layers: Its linear modules, in the order in which they are computed.
        groups: The same by input; each is in exactly one group.
    """

    name: str
    layers: Sequence[QuantLayer]
    groups: Sequence[InputGroup]

    @abstractmethod
    def inputs(self, group: InputGroup) -> ModuleInputs:
        """Inputs of a group, with the weights as they are now. The block is computed anew for each call."""

    @abstractmethod
    def weight(self, name: str) -> Tensor:
        """float32 [out, in]: a module's weight as it is now. A copy."""

    @abstractmethod
    def replace(self, name: str, weight: Tensor) -> None:
        """From now on a module has this weight [out, in]: what follows is calibrated on what it makes.

        A writer gives the dequantized weight. One that does not call this calibrates on unquantized layers.
        """

    @abstractmethod
    def scale(self, group: InputGroup, factors: Tensor) -> None:
        """Multiplies column j of a group's weights with ``factors[j]`` and divides what ``before`` makes by it.

        The block computes the same as before, up to rounding. It changes weights and biases of both, also in
        ``QuantizerSource.tensor``.

        Args:
            group: One that has a ``before``.
            factors: [in], positive and finite.
        """


class QuantizerSource(ABC):
    """The unquantized model, as a writer sees it.

    Attributes:
        model: Its name, as the user gave it.
        folder: Where it lies, in Hugging Face's form.
        config: Its config.json.
        layers: All modules that have a weight, in the order of the model: linear ones, experts, the embedding, the
            head, and routers; of a tied model the embedding is the head too.
        tensors: Names of all tensors.
    """

    model: str
    folder: Path
    config: HFConfig
    layers: Sequence[QuantLayer]
    tensors: Sequence[str]

    @abstractmethod
    def excluded(self, layer: QuantLayer) -> bool:
        """Whether the user wants a module left as it is. Heads, embeddings, routers are the writer's own decision."""

    @abstractmethod
    def tensor(self, name: str) -> Tensor:
        """A tensor, in the checkpoint's dtype, with what ``CalibratedBlock.scale`` changed of it.

        Raises:
            WeightsError: there is none, it is damaged, or it was changed in a block that is done.
        """

    @abstractmethod
    def blocks(self) -> Iterator[CalibratedBlock]:
        """Decoder layers in order, each with what its modules are given. Once, and only for a calibrated writer.

        Raises:
            UnsupportedModelError: the model cannot be computed block by block.
        """

    @abstractmethod
    def save(
        self,
        folder: Path,
        made: Iterable[tuple[QuantLayer, Mapping[str, Tensor]]],
        quantization_config: Mapping[str, Any],
        progress: Progress,
    ) -> None:
        """Writes a checkpoint in Hugging Face's form: shards, their index, config.json, and the tokenizer's files.

        Args:
            folder: Where to; it exists.
            made: Quantized modules and their tensors by suffix (``"qweight"``); consumed one by one and written as
                they come, so that a generator needs the memory of one block. Of each of these modules ``weight``
                is left out; all other tensors are written as ``tensor`` gives them.
            quantization_config: Goes into config.json; ``quant_method`` must be in it. A mapping that grows while
                ``made`` is consumed may be given: it is read at the end.
            progress: Is told about each of them.
        """


class Quantizer(ABC):
    """Writes checkpoints of one format. One instance a run."""

    def __init__(self, settings: Settings) -> None:
        """Checks its options.

        Args:
            settings: What the user set of the offer's ``options``.

        Raises:
            ConfigError: an option cannot work.
        """
        self.settings = settings

    @abstractmethod
    def write(self, source: QuantizerSource, folder: Path, progress: Progress) -> None:
        """Writes the quantized model into a folder, which exists and is empty; ``source.save`` writes most formats.

        Raises:
            UnsupportedModelError: a module cannot be stored in the format; it is named.
            WeightsError: a weight has values that are no numbers; it is named.
        """
