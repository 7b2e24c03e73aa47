"""Imports modules, each alone in a fork of this process, and prints as JSON what failed: {module: traceback}.

python import_alone.py block|preload NAME MODULE...

`block` makes the import of NAME fail; `preload` imports NAME before forking, so that it is paid for once, as other
libraries are in both.
Warnings are errors where our own code is what is warned about.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
import warnings

OWN = r"kernelet(_\w+)?(\.|$)"
LIBRARIES = (
    *("asyncio", "fastapi", "httpx", "hypothesis", "jinja2", "msgspec", "numpy", "packaging.requirements", "pytest"),
    *("rich.table", "tokenizers", "uvicorn", "zmq.asyncio"),
)


def failure(module: str) -> str:
    """The traceback of importing a module in a fork; empty if there is none."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        message = ""
        try:
            warnings.filterwarnings("error", module=OWN)
            importlib.import_module(module)
        except BaseException:  # noqa: BLE001 - whatever it is, the parent reports it
            message = traceback.format_exc()
        with os.fdopen(writer, "w") as pipe:
            pipe.write(message)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        message = pipe.read()
    _, status = os.waitpid(child, 0)
    return message or (f"the process ended with status {status}" if status else "")


def main() -> None:
    mode, name, *modules = sys.argv[1:]
    if mode == "block":
        sys.modules[name] = None
    else:
        importlib.import_module(name)
    for library in LIBRARIES:
        importlib.import_module(library)
    own = [loaded for loaded in sys.modules if loaded.partition(".")[0].startswith("kernelet")]
    assert not own, f"imported before the fork: {own}"
    failures = {module: message for module in modules if (message := failure(module))}
    json.dump(failures, sys.stdout)


if __name__ == "__main__":
    main()
