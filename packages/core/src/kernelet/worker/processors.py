"""Makes the custom logits processors that were named."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.plugins import PluginView
from kernelet.contracts.sampling import LogitsProcessor, LogitsProcessorOffer
from kernelet.errors import PluginError
from kernelet.sampling.custom import NamedProcessor


def make_processors(names: Sequence[str], plugins: PluginView, vocab_size: int) -> tuple[NamedProcessor, ...]:
    """One processor a name, in order.

    Raises:
        SelectionError: if a name is not offered.
        PluginError: if a target is no logits processor.
    """
    made = []
    for name in names:
        owned = plugins.select(LogitsProcessorOffer, name).chosen
        processor = plugins.load(owned)(plugins.settings(owned.plugin), vocab_size)
        if not isinstance(processor, LogitsProcessor):
            raise PluginError(f"{owned.plugin}: {owned.offer.target} of offer {name!r} is no LogitsProcessor")
        made.append(NamedProcessor(owned.plugin, processor))
    return tuple(made)
