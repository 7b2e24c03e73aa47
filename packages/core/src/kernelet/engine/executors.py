"""Which executor launches the workers."""

from __future__ import annotations

from kernelet.config import ParallelConfig
from kernelet.contracts.executor import ExecutorOffer
from kernelet.contracts.plugins import Owned, PluginView


def select_executor(plugins: PluginView, parallel: ParallelConfig) -> Owned[ExecutorOffer]:
    """Named, else the best of those that launch so many ranks.

    Raises:
        SelectionError: the named one does not exist, none launches so many, or several are equally good.
    """
    if parallel.executor is not None:
        return plugins.select(ExecutorOffer, parallel.executor).chosen
    able = [
        owned
        for owned in plugins.offers(ExecutorOffer)
        if not owned.offer.max_ranks or owned.offer.max_ranks >= parallel.tensor_parallel_size
    ]
    best = [owned for owned in able if owned.offer.priority == max(one.offer.priority for one in able)]
    return plugins.select(ExecutorOffer, best[0].offer.name if len(best) == 1 else None).chosen
