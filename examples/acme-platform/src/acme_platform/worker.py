"""The worker: the core's, with what this device needs around it."""

from __future__ import annotations

import logging

from acme_platform.native import library, load_act_and_mul
from kernelet.contracts.executor import EnginePlan
from kernelet.worker.worker import ModelWorker

logger = logging.getLogger(__name__)


class AcmeWorker(ModelWorker):
    """Loads the kernels before the weights: a library that does not fit is known at once, not after minutes."""

    def init_device(self) -> None:
        """Takes the device.

        Raises:
            PluginError: the compiled library does not fit.
        """
        load_act_and_mul()
        super().init_device()

    def get_plan(self) -> EnginePlan:
        plan = super().get_plan()
        mine = sorted({layer.choice for layer in plan.layers if layer.choice.startswith("acme-")})
        logger.info("kernels of %s: %s", library().name, ", ".join(mine))
        return plan
