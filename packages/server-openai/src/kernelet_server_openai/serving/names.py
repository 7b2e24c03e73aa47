"""The names under which the model is served."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet_server_openai.protocol.errors import ApiError


class ServedNames:
    """Which model a request asks for.

    Args:
        names: At least one; the first is shown in answers.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.all = tuple(names)
        self.shown = self.all[0]

    def check(self, name: str | None) -> None:
        """A request that names none gets the only model there is.

        Raises:
            ApiError: 404.
        """
        if name is not None and name not in self.all:
            raise ApiError(
                404,
                f"model: {name[:100]!r} is not served here: ask for {' or '.join(map(repr, self.all))}",
                param="model",
                code="model_not_found",
            )
