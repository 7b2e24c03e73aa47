"""What cannot be enforced is refused, with the place where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """One part of a constraint that is not enforced.

    Attributes:
        path: Where it stands: ``"/properties/a/uniqueItems"``, a JSON pointer that ends with the keyword, in a schema;
            ``"regex"`` and the like in other constraints. Of a position in a text: ``"regex, character 4"``.
        reason: Why, in words for whoever wrote it.
    """

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class UnenforcedError(ValueError):
    """A constraint cannot be enforced, by no engine.

    Attributes:
        refusals: At least one.
    """

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        super().__init__("; ".join(map(str, refusals)))
        self.refusals = tuple(refusals)


class InvalidConstraintError(ValueError):
    """A constraint means nothing: not JSON, no schema, a regular expression that does not parse.

    Attributes:
        reason: What is expected there.
        path: As in ``Refusal``; empty: the constraint as a whole.
    """

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path
