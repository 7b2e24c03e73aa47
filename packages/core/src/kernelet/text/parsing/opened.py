"""What must have stood at the end of a prompt that is not known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kernelet.contracts.parsing import CONTENT, REASONING, TextState

if TYPE_CHECKING:
    from kernelet.contracts.parsing import ParserTable


def opened_by_prompt(table: ParserTable, text: str) -> str:
    """The mark with which the prompt opened reasoning: the answer has the end of reasoning without its begin.

    Args:
        table: Of a reasoning parser.
        text: The whole answer.
    """
    thinks = table.states.get(REASONING)
    if not isinstance(thinks, TextState):
        return ""
    begins = [exit_.parts[0] for exit_ in table.content_exits if exit_.to == REASONING]
    ends = [exit_.parts[0] for exit_ in thinks.exits if exit_.to == CONTENT]
    first = re.search("|".join(map(re.escape, [*begins, *ends])), text)
    return begins[0] if begins and first is not None and first[0] in ends else ""
