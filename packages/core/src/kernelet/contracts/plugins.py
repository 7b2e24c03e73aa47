"""The read-only view of plugins that engine, executor and worker are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from kernelet.contracts.offer import Offer, Settings

if TYPE_CHECKING:
    from kernelet.contracts.attention import AttentionOffer, AttentionSpec
    from kernelet.contracts.op import OpOffer, Role, WeightKernelOffer, WeightScheme

OfferT = TypeVar("OfferT", bound=Offer)
OfferT_co = TypeVar("OfferT_co", bound=Offer, covariant=True)


@dataclass(frozen=True, kw_only=True)
class Owned(Generic[OfferT_co]):
    """An offer and the plugin that made it."""

    offer: OfferT_co
    plugin: str


@dataclass(frozen=True, kw_only=True)
class Choice(Generic[OfferT_co]):
    """A selection: what was chosen, why, and why each other one was not (by offer name).

    Attributes:
        invited: It is an op of a stranger to the platform, which the operator named.
    """

    chosen: Owned[OfferT_co]
    reason: str
    refused: Mapping[str, str] = field(default_factory=dict)
    invited: bool = False


class PluginManifest(Protocol):
    """What runs here, for processes that are to run the same."""

    @property
    def digest(self) -> str:
        """The same wherever the same plugins run."""
        ...

    def encode(self) -> bytes:
        """The manifest as a parent sends it to a child."""
        ...


class PluginView(Protocol):
    """Sealed registries and the selection rules over them."""

    @property
    def manifest(self) -> PluginManifest:
        """What runs here: an executor's workers load exactly that. Since executor 1.2.

        Raises:
            PluginError: this view has none.
        """
        ...

    def offers(self, kind: type[OfferT]) -> Sequence[Owned[OfferT]]:
        """All offers of a kind (exact class), sorted by name."""
        ...

    def settings(self, plugin: str) -> Settings:
        """A plugin's own configuration."""
        ...

    def load(self, owned: Owned[Any], target: str | None = None) -> Any:
        """Imports ``offer.target`` (or another import string of the offer).

        Raises:
            PluginError: naming plugin, distribution and the import string.
        """
        ...

    def select(self, kind: type[OfferT], name: str | None = None) -> Choice[OfferT]:
        """Named, else the one with the highest priority.

        Raises:
            SelectionError: listing the choices and the flag.
        """
        ...

    def select_attention(self, spec: AttentionSpec) -> Choice[AttentionOffer]:
        """The best attention for a layer on the selected platform."""
        ...

    def select_weight_kernel(
        self, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]
    ) -> Choice[WeightKernelOffer]:
        """The best kernel for a weight on the selected platform."""
        ...

    def select_op(self, op: str, dtype: str) -> Choice[OpOffer] | None:
        """The best override of an op; None: nobody offers one, use its decomposition."""
        ...
