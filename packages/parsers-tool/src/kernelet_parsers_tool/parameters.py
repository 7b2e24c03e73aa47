"""Families whose calls are XML: a tag a function, a tag a parameter, each value as text."""

from __future__ import annotations

from dataclasses import dataclass

from kernelet.contracts.parsing import (
    CONTENT,
    WHITESPACE,
    Exit,
    NameState,
    ParameterNameState,
    ParameterValueState,
    ParserContext,
    ParserTable,
    State,
    TextState,
)
from kernelet_parsers_tool.parts import behind, closing, identifier, opening, stray


@dataclass(frozen=True, kw_only=True)
class Tags:
    """The markers of a family.

    Attributes:
        call: Before the name of the function.
        parameter: Before the name of a parameter.
        named: Behind either name.
        end_parameter: Behind a value; it counts only where a parameter or the end of the call follows.
        end_call: Behind the parameters.
        end_calls: Behind the calls.
        lines: A value stands on lines of its own.
    """

    call: str
    parameter: str
    named: str
    end_parameter: str
    end_call: str
    end_calls: str
    lines: bool = False


def qwen3(_: ParserContext) -> ParserTable:
    """Qwen3-Coder, Qwen3.5 and later, Step 3.5: a function between the tags of a call, which may lack."""
    tags = Tags(
        call="<function=",
        parameter="<parameter=",
        named=">",
        end_parameter="</parameter>",
        end_call="</function>",
        end_calls="</tool_call>",
        lines=True,
    )
    opens = opening(("<tool_call>", tags.call), "name", in_reasoning=True), opening(tags.call, "name")
    return ParserTable(
        states={**_parameters(tags), "behind": behind(closing(tags.end_calls), *opens)},
        content_exits=(*opens, *stray(tags.end_calls)),
    )


def minimax_m2(_: ParserContext) -> ParserTable:
    """MiniMax M2: several functions between the tags of all calls."""
    tags = Tags(
        call='<invoke name="',
        parameter='<parameter name="',
        named='">',
        end_parameter="</parameter>",
        end_call="</invoke>",
        end_calls="</minimax:tool_call>",
    )
    opens, following = opening("<minimax:tool_call>", "section"), opening(tags.call, "name")
    return ParserTable(
        states={
            **_parameters(tags),
            "section": behind(following, Exit(tags.end_calls, CONTENT, before=WHITESPACE)),
            "behind": behind(following, closing(tags.end_calls), opens),
        },
        content_exits=(opens, *stray(tags.end_calls)),
    )


def glm45(_: ParserContext) -> ParserTable:
    """GLM 4.5, 4.6 and 4.7: the name is text, and keys and values have tags."""
    opens = opening("<tool_call>", "name")
    end = Exit("</tool_call>", CONTENT, closes=True)
    return ParserTable(
        states={
            "name": NameState(exits=(Exit("<arg_key>", "key"), end), read=identifier),
            "key": ParameterNameState(exits=(Exit(("</arg_key>", "<arg_value>"), "value"),)),
            "value": ParameterValueState(
                exits=(
                    Exit(("</arg_value>", "<arg_key>"), "key"),
                    Exit(("</arg_value>", "</tool_call>"), CONTENT, closes=True),
                )
            ),
        },
        content_exits=(opens, *stray("</tool_call>")),
    )


def _parameters(tags: Tags) -> dict[str, State]:
    """The states from a function's name to the end of its call."""
    ends = (tags.end_parameter, f"\n{tags.end_parameter}") if tags.lines else (tags.end_parameter,)
    between = (Exit((end, tags.parameter), "key") for end in ends)
    last = (Exit((end, tags.end_call), "behind", closes=True) for end in ends)
    lacking = (Exit((end, tags.end_calls), CONTENT, before="\n", closes=True) for end in (*ends[:1], tags.end_call))
    return {
        "name": NameState(exits=(Exit(tags.named, "parameters"),), read=identifier),
        "parameters": TextState(
            skip=WHITESPACE,
            exits=(
                Exit(tags.parameter, "key"),
                Exit(tags.end_call, "behind", closes=True),
                Exit(tags.end_calls, CONTENT, closes=True),
            ),
        ),
        "key": ParameterNameState(exits=(Exit(tags.named, "value"),)),
        "value": ParameterValueState(skip="\n" if tags.lines else "", exits=(*between, *last, *lacking)),
    }
