"""One of several texts."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.structured import ROOT, GrammarRules
from kernelet.structured.expressions import text_of, union_of
from kernelet.structured.refusal import InvalidConstraintError


def choice_rules(texts: Sequence[object]) -> GrammarRules:
    """Exactly one of these texts; an empty one may be among them.

    Raises:
        InvalidConstraintError: there is none, or one is no text.
    """
    if not texts:
        raise InvalidConstraintError("there is nothing to choose from", "choice")
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise InvalidConstraintError(f"a text is expected, not {type(text).__name__}", f"choice, entry {number}")
        if any("\ud800" <= each <= "\udfff" for each in text):
            raise InvalidConstraintError("surrogates are no characters", f"choice, entry {number}")
    return GrammarRules({ROOT: union_of(*(text_of(str(text)) for text in texts))})
