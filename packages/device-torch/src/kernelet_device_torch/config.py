"""The half of a platform of GPUs that imports no torch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from kernelet.contracts.lifecycle import ConfigChange
from kernelet.contracts.platform import PlatformConfig
from kernelet.errors import ConfigError

if TYPE_CHECKING:
    from kernelet.config import EngineConfig

Gpu = TypeVar("Gpu")


class GpuPlatformConfig(PlatformConfig, Generic[Gpu]):
    """Facts about the GPUs that this process sees.

    Attributes:
        variables: The variables that hide GPUs, as a message names them.
        attention: Attention in the order in which it is chosen.
    """

    variables: ClassVar[str]
    attention: ClassVar[tuple[str, ...]]

    @abstractmethod
    def look_up(self) -> Sequence[Gpu]:
        """Those that this process sees, without a context on one.

        Raises:
            ConfigError: the driver cannot be asked.
        """

    def gpus(self) -> Sequence[Gpu]:
        """At least one, in the order of ranks.

        Raises:
            ConfigError: the driver cannot be asked, or there is none.
        """
        found = self.look_up()
        if not found:
            raise ConfigError(f"no GPU is visible: see {self.variables}")
        return found

    def check_and_update_config(self, config: EngineConfig) -> Sequence[ConfigChange]:
        wanted, here = config.parallel.tensor_parallel_size, len(self.gpus())
        if wanted > here:
            raise ConfigError(
                f"--tensor-parallel-size {wanted} needs as many GPUs, and {here} can be seen here: use at most {here}, "
                f"or let {self.variables} show more"
            )
        return ()

    def attention_order(self) -> tuple[str, ...]:
        return self.attention
