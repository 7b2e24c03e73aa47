"""What a hook could have changed: the process around it and its own modules. Watches what cannot be compared later."""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from collections.abc import Collection, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any, Self

from kernelet.config import env

DEEPEST = 6
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
EVENTS: Mapping[str, str] = {
    "os.mkdir": "the folder {}",
    "os.remove": "the file {}",
    "os.rename": "the file {}",
    "os.rmdir": "the folder {}",
    "os.link": "the file {}",
    "os.symlink": "the file {}",
    "os.truncate": "the file {}",
    "os.chmod": "the file {}",
    "socket.connect": "the network",
    "socket.bind": "the network",
    "socket.getaddrinfo": "the network",
    "subprocess.Popen": "the processes ({} was started)",
    "os.system": "the processes ({} was started)",
    "os.posix_spawn": "the processes ({} was started)",
    "os.fork": "the processes (one was forked)",
}
"""Audit events (PEP 578), and what the one who causes them changes."""


def snapshot(packages: Collection[str]) -> dict[str, Any]:
    """Everything that can be compared, by its name for people."""
    found: dict[str, Any] = {f"the environment variable {name}": value for name, value in env.all_variables().items()}
    found["sys.path"] = list(sys.path)
    found["sys.meta_path"] = [id(finder) for finder in sys.meta_path]
    found["the current folder"] = str(Path.cwd())
    found["the filters of warnings"] = [repr(entry) for entry in warnings.filters]
    root = logging.getLogger()
    found["the root logger"] = (root.level, [id(handler) for handler in root.handlers])
    found |= {f"the threads ({thread.name} runs)": True for thread in threading.enumerate()}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in packages and isinstance(module, ModuleType):
            found |= {
                f"{name}.{key}": frozen(value)
                for key, value in vars(module).items()
                if not (key.startswith("__") and key.endswith("__"))
            }
    return found


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Names of what is not as it was."""
    return [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]


def frozen(value: Any, depth: int = DEEPEST) -> Any:
    """A copy of a value's state that later changes of the value do not reach, to compare with."""
    if depth == 0:
        return "..."
    if isinstance(value, Mapping):
        return ("mapping", [(frozen(key, depth - 1), frozen(entry, depth - 1)) for key, entry in value.items()])
    if isinstance(value, list | tuple):
        return (type(value).__name__, [frozen(entry, depth - 1) for entry in value])
    if isinstance(value, set | frozenset):
        return ("set", sorted(repr(entry) for entry in value))
    if isinstance(value, MethodType):
        return frozen(value.__func__, depth)
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != type(cell)()]
        return (value.__qualname__, frozen([vars(value), value.__defaults__, cells], depth - 1))
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, type):
        plain = {key: entry for key, entry in vars(value).items() if not key.startswith("__")}
        return (value.__qualname__, frozen(plain, depth - 1) if depth == DEEPEST else "")
    held = getattr(value, "__dict__", None)
    return (repr(value), frozen(held, depth - 1) if held else "")


class Watch:
    """Refuses imports that a plugin's registration must do without, and notes what its hooks do to the world outside.

    An audit hook stays for the process's life, so this is for a process of its own.

    Attributes:
        heavy: Modules that were asked for, in order.
        touched: What was changed, for people.
    """

    def __init__(self, packages: Collection[str]) -> None:
        """Allows the standard library, what is loaded already, the core and these packages."""
        loaded = {name.partition(".")[0] for name in sys.modules}
        self._allowed = loaded | set(sys.stdlib_module_names) | set(packages) | {"kernelet"}
        self._active = False
        self.heavy: list[str] = []
        self.touched: list[str] = []
        sys.addaudithook(self._audit)

    def __enter__(self) -> Self:
        sys.meta_path.insert(0, self)
        self._active = True
        return self

    def __exit__(self, *_: object) -> None:
        self._active = False
        sys.meta_path.remove(self)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Refuses what is heavy.

        Raises:
            ModuleNotFoundError: it is.
        """
        if name.partition(".")[0] in self._allowed:
            return None
        self.heavy.append(name)
        raise ModuleNotFoundError(f"No module named {name!r} while plugins are registered", name=name)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._active:
            return
        if event in EVENTS:
            self.touched.append(EVENTS[event].format(arguments[0] if arguments else ""))
        elif event == "open":
            path, mode, flags = arguments
            writes = set("wax+") & set(mode) if isinstance(mode, str) else (flags or 0) & WRITES
            if writes and path != os.devnull:
                self.touched.append(f"the file {path}")
