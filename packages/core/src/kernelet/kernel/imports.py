"""Import strings: ``"package.module:Class"``."""

from __future__ import annotations

import importlib
import re
from typing import Any

from kernelet.errors import PluginError

_FORM = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def is_import_string(text: object) -> bool:
    """Whether it has the form ``package.module:Class``."""
    return isinstance(text, str) and _FORM.fullmatch(text) is not None


def import_string(text: str) -> Any:
    """Imports what the text names.

    Raises:
        PluginError: it has another form.
        BaseException: whatever the module raises; AttributeError if the module lacks the name.
    """
    if not is_import_string(text):
        raise PluginError(f"{text!r} is not of the form package.module:Class")
    module, _, attributes = text.partition(":")
    found: Any = importlib.import_module(module)
    for name in attributes.split("."):
        found = getattr(found, name)
    return found
