"""Runs ``main`` of one module of this package, ``python -P boot.py MODULE ARGUMENTS...``, with any interpreter.

The interpreter that has LMCache need not be the engine's, and must not see what else is installed there: this package
is made known by its path. The modules that run so import nothing of Kernelet.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

PACKAGE = "kernelet_kv_lmcache"


def run(module: str, arguments: list[str]) -> None:
    """Imports a module of the package and calls its ``main``."""
    folder = Path(__file__).parent
    spec = importlib.util.spec_from_file_location(
        PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
    importlib.import_module(f"{PACKAGE}.{module}").main(arguments)


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2:])
