"""Intersections that need no automaton: lengths and single classes of characters stay counted repeats."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.structured.automata import alphabet
from kernelet.structured.automata.syntax import (
    ANY,
    EPSILON,
    EVERYTHING,
    NOTHING,
    Both,
    Chars,
    Complement,
    Concat,
    Regex,
    Repeat,
    Union,
    all_of,
    chars,
    complement,
    concat,
    repeat,
    union,
)


def meet(parts: Sequence[Regex]) -> Regex:
    """Texts that are in each of these, as simple as it is seen at once."""
    flat: dict[Regex, None] = dict.fromkeys(
        each for part in parts for each in (part.parts if isinstance(part, Both) else (part,))
    )
    flat.pop(EVERYTHING, None)
    if NOTHING in flat:
        return NOTHING
    if EPSILON in flat:
        return EPSILON if all(part.facts.nullable for part in flat) else NOTHING
    runs = [part for part in flat if _is_run(part)]
    excluded = [part.part for part in flat if isinstance(part, Complement)]
    rest: list[Regex] = [part for part in flat if not _is_run(part) and not isinstance(part, Complement)]
    run = _meet_runs(runs)
    if run == NOTHING:
        return NOTHING
    if run == EPSILON:
        return EPSILON if all(part.facts.nullable for part in flat) else NOTHING
    if len(rest) == 1 and _item(run) == ANY and rest[0].facts.plain:
        narrowed = narrow(rest[0], *_bounds(run))
        if narrowed is not None:
            rest, run = [narrowed], EVERYTHING
    remaining: list[Regex] = [part for part in (*rest, run) if part != EVERYTHING]
    if NOTHING in remaining:
        return NOTHING
    if excluded:
        out = complement(union(*excluded))
        if out in {NOTHING, EVERYTHING} and remaining:
            return NOTHING if out == NOTHING else all_of(remaining)
        remaining.append(out)
    return all_of(remaining)


def _item(part: Regex) -> Regex:
    return part.part if isinstance(part, Repeat) else part


def _is_run(part: Regex) -> bool:
    """A repeat of one class of characters."""
    return isinstance(_item(part), Chars)


def _bounds(run: Regex) -> tuple[int, int | None]:
    return (run.minimum, run.maximum) if isinstance(run, Repeat) else (1, 1)


def _meet_runs(runs: Sequence[Regex]) -> Regex:
    ranges, low, high = alphabet.ALL, 0, None
    for run in runs:
        item = _item(run)
        assert isinstance(item, Chars)
        minimum, maximum = _bounds(run)
        ranges, low = alphabet.intersect(ranges, item.ranges), max(low, minimum)
        high = maximum if high is None else high if maximum is None else min(high, maximum)
    if high is not None and low > high:
        return NOTHING
    return repeat(chars(ranges), low, high)


def narrow(regex: Regex, low: int, high: int | None) -> Regex | None:
    """The texts of a plain expression with these lengths; None where only an automaton can tell."""
    shortest, longest = regex.facts.shortest, regex.facts.longest
    if regex == NOTHING or (high is not None and shortest > high) or (longest is not None and longest < low):
        return NOTHING
    if shortest >= low and (high is None or (longest is not None and longest <= high)):
        return regex
    if isinstance(regex, Union):
        parts = [narrow(part, low, high) for part in regex.parts]
        known = [part for part in parts if part is not None]
        return union(*known) if len(known) == len(parts) else None
    if isinstance(regex, Repeat):
        return _narrow_repeat(regex, low, high)
    if isinstance(regex, Concat):
        return _narrow_concat(regex, low, high)
    return None


def _narrow_repeat(regex: Repeat, low: int, high: int | None) -> Regex | None:
    each = regex.part.facts
    if each.shortest != each.longest:
        # ``(a|bc)?`` and the like: without the empty text, or as it is
        if (regex.minimum, regex.maximum) != (0, 1):
            return None
        inner = narrow(regex.part, low, high)
        return inner if inner is None or low > 0 else union(EPSILON, inner)
    minimum = max(regex.minimum, -(-low // each.shortest))
    maximum = regex.maximum
    if high is not None:
        most = high // each.shortest
        maximum = most if maximum is None else min(most, maximum)
    if maximum is not None and minimum > maximum:
        return NOTHING
    return repeat(regex.part, minimum, maximum)


def _narrow_concat(regex: Concat, low: int, high: int | None) -> Regex | None:
    """Of parts with one length each but for one, that one is narrowed."""
    variable = [i for i, part in enumerate(regex.parts) if part.facts.shortest != part.facts.longest]
    if len(variable) != 1:
        return None
    index = variable[0]
    fixed = regex.facts.shortest - regex.parts[index].facts.shortest
    inner = narrow(regex.parts[index], max(low - fixed, 0), None if high is None else high - fixed)
    return None if inner is None else concat(*regex.parts[:index], inner, *regex.parts[index + 1 :])
