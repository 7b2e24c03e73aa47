"""An object that takes control calls."""

from __future__ import annotations

from kernelet.contracts.executor import Control
from kernelet.errors import ParameterError


class Echo(Control):
    """Answers with what it was asked; what it was asked is kept."""

    def __init__(self, mark=b""):
        self.mark, self.calls = mark, []

    def control(self, name, payload):
        self.calls.append((name, payload))
        if name == "wrong":
            raise ParameterError("name", "there is no such call")
        return self.mark + name.encode() + payload
