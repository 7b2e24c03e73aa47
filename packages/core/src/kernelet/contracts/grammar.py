"""For a short time: the module is ``kernelet.contracts.structured``."""

from kernelet.contracts.structured import *  # noqa: F403
