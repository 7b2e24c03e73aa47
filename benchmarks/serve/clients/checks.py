"""What the scripts share: named checks whose results are printed as JSON, one a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable


def run(checks: dict[str, Callable[[], object]]) -> None:
    """Runs each; one that raises has failed, and the others go on."""
    for name, check in checks.items():
        try:
            check()
        except Exception as error:  # noqa: BLE001  whatever it is, it is the result
            report(name, "failed", f"{type(error).__name__}: {error}")
        else:
            report(name, "passed")


def report(name: str, result: str, detail: str = "") -> None:
    """One line."""
    print(json.dumps({"check": name, "result": result, "detail": detail[:300]}), flush=True)


def arguments() -> tuple[str, str, str]:
    """The server's address, the model's name there, and its folder."""
    url, model, folder = sys.argv[1:]
    return url, model, folder
