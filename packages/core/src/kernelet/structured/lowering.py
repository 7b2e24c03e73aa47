"""Constraints become rules. ``lower`` runs in the sandbox: whatever a constraint makes it do ends at a deadline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

import msgspec

from kernelet.config.structured import ConstraintLimits
from kernelet.contracts.structured import GrammarRules
from kernelet.request.structured import RulesState, State
from kernelet.structured import rules as over
from kernelet.structured.constraint import TOOL_CALLS, Constraint, parsed
from kernelet.structured.limits import check_choice, check_value, too_large
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.select import EngineBounds
from kernelet.structured.validating import check_comparable

LOWER: Final = "kernelet.structured.lowering:lower"
"""``lower`` as a target of the sandbox."""


WriteSchema = Callable[[object, JsonOptions], GrammarRules]
"""A schema as rules."""


class LowerCall(msgspec.Struct, frozen=True, kw_only=True):
    """What ``lower`` is asked.

    Attributes:
        constraint: What is to become rules.
        limits: What it may ask for.
        engines: Whose bounds are compared with the rules.
        validates: Texts are compared with what cannot be enforced; what they cannot be compared with is invalid.
        blame: An engine that does not enforce the constraint: what is asked is where, and the refusals are its own.
    """

    constraint: Constraint
    limits: ConstraintLimits
    engines: tuple[EngineBounds, ...]
    validates: bool = False
    blame: EngineBounds | None = None


class Lowered(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a constraint.

    Attributes:
        states: What is enforced; empty: nothing can be.
        unfit: Why an engine does not enforce all of it, by name.
        refusals: Place and reason of each part that nobody enforces.
        invalid: Why the constraint means nothing; empty: it means something.
        invalid_at: Where that is; empty: the constraint as a whole.
    """

    states: tuple[State, ...] = ()
    unfit: dict[str, str] = {}
    refusals: tuple[tuple[str, str], ...] = ()
    invalid: str = ""
    invalid_at: str = ""


def lower(payload: bytes) -> bytes:
    """``LowerCall`` to ``Lowered``, in msgpack."""
    return msgspec.msgpack.encode(lowered(msgspec.msgpack.decode(payload, type=LowerCall)))


def lowered(call: LowerCall) -> Lowered:
    """What becomes of a constraint."""
    if call.blame is not None:
        return Lowered(refusals=_places(call, call.blame))
    found = _lowered(call)
    served = any(one.name not in found.unfit for one in call.engines) and found.states
    if call.validates and not found.invalid and not served:
        try:
            check_comparable(call.constraint)
        except InvalidConstraintError as error:
            reasons = [*(f"{path}: {reason}" for path, reason in found.refusals), *found.unfit.values(), str(error)]
            return Lowered(invalid="; ".join(reasons))
    return found


def _lowered(call: LowerCall) -> Lowered:
    try:
        states = states_of(call.constraint, call.limits)
    except UnenforcedError as error:
        return Lowered(refusals=tuple((one.path, one.reason) for one in error.refusals))
    except InvalidConstraintError as error:
        return Lowered(invalid=error.reason, invalid_at=error.path)
    except RecursionError:
        return Lowered(refusals=((call.constraint.kind, "it is nested too deep"),))
    found = [over.decode(state.rules) for state in states if isinstance(state, RulesState)]
    unfit: dict[str, str] = {}
    for one in call.engines:
        why = next((why for rules in found if (why := over.fits(one.offer(), rules)) is not None), None)
        if why is not None:
            unfit[one.name] = why
    return Lowered(states=states, unfit=unfit)


def _places(call: LowerCall, engine: EngineBounds) -> tuple[tuple[str, str], ...]:
    """Where a constraint is beyond an engine's bounds, as far as a place can be named."""
    from kernelet.structured.schema.lower import lower_within

    try:
        states_of(call.constraint, call.limits, partial(lower_within, engine.offer()))
    except UnenforcedError as error:
        return tuple((one.path, one.reason) for one in error.refusals)
    return ()


def states_of(constraint: Constraint, limits: ConstraintLimits, write: WriteSchema | None = None) -> tuple[State, ...]:
    """What is enforced.

    Args:
        constraint: What is asked for.
        limits: What it may ask for.
        write: Turns schemas into rules; None: ``lower_schema``.

    Raises:
        UnenforcedError: parts of the constraint cannot be written as rules.
        InvalidConstraintError: it means nothing, or is too large.
    """
    from kernelet.structured.schema.lower import lower_schema

    found = KINDS[constraint.kind](constraint, limits, write or lower_schema)
    if isinstance(found, GrammarRules):
        found = (RulesState(rules=over.encode(found), digest=over.digest(found)),)
    rules = [over.decode(state.rules) for state in found if isinstance(state, RulesState)]
    size = len(found) + sum(map(over.count_expressions, rules))
    repeat = max(map(over.largest_repeat, rules), default=0)
    if size > limits.max_expressions:
        raise too_large(constraint.kind, f"{size} expressions", f"{limits.max_expressions}", "max-expressions")
    if repeat > limits.max_repeat:
        raise too_large(constraint.kind, f"a repetition up to {repeat} times", f"{limits.max_repeat}", "max-repeat")
    return found


def _options(constraint: Constraint) -> JsonOptions:
    return JsonOptions(max_whitespace=constraint.max_whitespace, additional_properties=constraint.additional_properties)


def _json(constraint: Constraint, limits: ConstraintLimits, write: WriteSchema) -> GrammarRules:
    schema = parsed(constraint)
    check_value(constraint.kind, schema, limits)
    return write(schema, _options(constraint))


def _regex(constraint: Constraint, limits: ConstraintLimits, write: WriteSchema) -> GrammarRules:
    del limits, write
    from kernelet.structured.automata.parse import parse_regex
    from kernelet.structured.automata.write import rules_of_regex

    return rules_of_regex(parse_regex(constraint.text))


def _choice(constraint: Constraint, limits: ConstraintLimits, write: WriteSchema) -> GrammarRules:
    del write
    from kernelet.structured.choice import choice_rules

    texts = parsed(constraint)
    check_choice(len(texts), limits)
    return choice_rules(texts)


def _grammar(constraint: Constraint, limits: ConstraintLimits, write: WriteSchema) -> GrammarRules:
    del limits, write
    from kernelet.structured.ebnf import parse_grammar

    return parse_grammar(constraint.text)


def _structural_tag(constraint: Constraint, limits: ConstraintLimits, write: WriteSchema) -> tuple[State, ...]:
    from kernelet.structured.tags.read import structural_tag_states

    tag = parsed(constraint)
    check_value(constraint.kind, tag, limits)
    return structural_tag_states(tag, _options(constraint), dict(constraint.tokens), write)


def _tool_calls(constraint: Constraint, limits: ConstraintLimits, write: WriteSchema) -> tuple[State, ...]:
    from kernelet.structured.tags.calls import ToolCalls, call_states

    check_value(constraint.kind, parsed(constraint), limits)
    calls = msgspec.json.decode(constraint.text, type=ToolCalls)
    return call_states(calls, _options(constraint), dict(constraint.tokens), write)


Lower = Callable[[Constraint, ConstraintLimits, WriteSchema], GrammarRules | tuple[State, ...]]
"""What is enforced: rules for all of the text, or states."""

KINDS: Mapping[str, Lower] = MappingProxyType(
    {
        "json": _json,
        "json_object": _json,
        "regex": _regex,
        "choice": _choice,
        "grammar": _grammar,
        "structural_tag": _structural_tag,
        TOOL_CALLS: _tool_calls,
    }
)
