"""What clients are told, in the shape of OpenAI's API."""

from __future__ import annotations

import json


class RouterError(Exception):
    """An error of the router itself.

    Attributes:
        status: Of the answer.
        code: For programs.
    """

    def __init__(self, status: int, message: str, code: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param

    def body(self) -> bytes:
        """The answer's body."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        error = {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        return json.dumps({"error": error}).encode()
