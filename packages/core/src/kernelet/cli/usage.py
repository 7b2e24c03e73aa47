"""A command line that cannot be meant: one line says why, and the exit code is 2. Every other failure's is 1."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from kernelet.errors import KerneletError

WRONG_USAGE = 2


class UsageError(KerneletError):
    """Wrong usage: exit code 2."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the whole usage before it."""

    def error(self, message: str) -> NoReturn:
        print(f"error: {message} (`{self.prog} --help` tells more)", file=sys.stderr)
        sys.exit(WRONG_USAGE)
