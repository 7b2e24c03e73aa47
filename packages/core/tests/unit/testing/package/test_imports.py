from __future__ import annotations

import ast

from kernelet.testing.package.imports import imports, undeclared

SOURCE = """
from __future__ import annotations
import os, numpy.linalg
import torch
from typing import TYPE_CHECKING
from . import near
from acme.thing import x
from kernelet.contracts import op
if TYPE_CHECKING:
    import scipy
else:
    import msgspec

def f():
    try:
        import driver_of_acme
    except ImportError:
        from packaging import version
"""


def test_every_import_that_runs():
    found = dict(imports(ast.parse(SOURCE)))
    assert set(found) == {
        *("__future__", "os", "numpy.linalg", "torch", "typing", "acme.thing", "kernelet.contracts"),
        *("msgspec", "driver_of_acme", "packaging"),
    }
    assert found["driver_of_acme"] == 16


def test_what_nothing_brings(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(SOURCE)
    found = undeclared([module], ["acme"], {"numpy", "packaging"}, ())
    assert found == ["msgspec (module.py, line 12)", "driver_of_acme (module.py, line 16)"]
    assert undeclared([module], ["acme"], {"numpy", "packaging", "msgspec"}, {"driver_of_acme"}) == []
