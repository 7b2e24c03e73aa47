"""The rows of matrix.toml."""

from __future__ import annotations

import importlib.util
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent / "matrix.toml"
REFERENCE, SAME, OTHER, REFUSED = "reference", "same tokens", "other tokens", "refused"
SHOWS = (REFERENCE, SAME, OTHER, REFUSED)
COUNTERS = ("num_mixed_steps", "num_chunked", "num_preempted", "prefix_hits", "external_hits")
REORDERED = "reordered"
SAME_ENGINE, NEXT_ENGINE, HANDED_OVER = "loaded by the same engine", "loaded by the next engine", "handed over"
AGAIN = ("", SAME_ENGINE, NEXT_ENGINE, HANDED_OVER)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A set of plugins and what it must show.

    Attributes:
        name: Unique.
        wheels: Folders of distributions (or wheels), relative to the root; nothing else of ours is installed.
        shows: ``reference``: its tokens are the truth for rows with its ``truth``; ``same tokens``, ``other tokens``:
            compared with those; ``refused``: the engine does not start.
        checkpoint: Which tiny random model; a key of ``matrix_checkpoints.WRITERS``.
        truth: Rows of one name here are compared with each other; the checkpoint's unless something else is named.
        options: Of ``LLM``, beside those that all rows have; in a text, ``{folder}`` is a folder of the row's own and
            ``{files}`` one with files that rows share, see ``matrix_checkpoints.files``.
        model: Where the model lies if not in the checkpoint's folder.
        prepare: Commands of kernelet to run before; ``{checkpoint}`` and ``{folder}`` are filled in.
        later: Wheels that are installed after that.
        extra_args: Of every request.
        choice: Texts; some requests more are held to them, and each has one of them as its answer.
        happened: What must not be zero: counters, or ``reordered``: requests ended in another order than they came in.
        logged: What the log must hold.
        leaves: A file that must be there afterwards, with something in it.
        error: Class of the error of a refusal.
        says: What its message must hold.
        again: One of ``AGAIN``: requests are computed, and what is compared (both times) comes of it through a KV
            connector; ``handed over``: from an engine that prefills to one that decodes.
        needs: Modules of others' distributions without which it is not run.
        beside: Programs that run beside its engines: arguments of Python; here and in options ``{port}`` and
            ``{other_port}`` are free ones. Each listens on ``{port}``.
        long: Too slow for CI's fast tests.
    """

    name: str
    wheels: tuple[str, ...]
    shows: str
    checkpoint: str = "tiny"
    truth: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    model: str = "{checkpoint}"
    prepare: tuple[Sequence[str], ...] = ()
    later: tuple[str, ...] = ()
    extra_args: Mapping[str, Any] | None = None
    choice: tuple[str, ...] = ()
    happened: tuple[str, ...] = ()
    logged: str = ""
    leaves: str = ""
    error: str = ""
    says: str = ""
    again: str = ""
    needs: tuple[str, ...] = ()
    beside: tuple[Sequence[str], ...] = ()
    long: bool = False

    @property
    def group(self) -> str:
        """Of the rows that are compared with each other."""
        return self.truth or self.checkpoint

    @property
    def missing(self) -> list[str]:
        """What it needs and is not installed here."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]

    @property
    def plugins(self) -> list[str]:
        """Names of the distributions' folders."""
        return [Path(wheel).name.partition("-1.0-py3")[0].replace("_", "-") for wheel in (*self.wheels, *self.later)]


@dataclass(frozen=True)
class Matrix:
    """All rows, and the options and the plugins' settings that each has."""

    rows: tuple[Row, ...]
    options: Mapping[str, Any]
    settings: Mapping[str, Mapping[str, Any]]

    def options_of(self, row: Row) -> dict[str, Any]:
        """Everything that ``LLM`` is given for a row."""
        starts = row.shows != REFUSED
        mine = {name: values for name, values in self.settings.items() if starts and name in row.plugins}
        return {**self.options, **row.options, "set": {**mine, **row.options.get("set", {})}}

    def reference_of(self, row: Row) -> Row:
        """The row whose tokens are the truth for another."""
        return next(one for one in self.rows if one.shows == REFERENCE and one.group == row.group)

    def same_set(self, row: Row) -> tuple[Row, ...]:
        """All rows with the same wheels: they share an environment and a process."""
        return tuple(one for one in self.rows if _set(one) == _set(row))


def read(path: Path = TABLE) -> Matrix:
    """The table.

    Raises:
        ValueError: a row that says nothing, or something unknown.
        TypeError: a key that no row has.
    """
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    sets = table["sets"]
    rows = tuple(_row(sets, **entry) for entry in table["row"]) + tuple(
        row for grid in table.get("grid", ()) for row in _grid(sets, **grid)
    )
    if len({row.name for row in rows}) < len(rows):
        raise ValueError("two rows have one name")
    for row in rows:
        _check(row)
    truths = [row.group for row in rows if row.shows == REFERENCE]
    if len(set(truths)) < len(truths) or {row.group for row in rows if row.shows in {SAME, OTHER}} - set(truths):
        raise ValueError("every checkpoint (or truth) of a row that generates needs one reference row")
    return Matrix(rows, table["options"], table["settings"])


def _row(sets: Mapping[str, Sequence[str]], wheels: Sequence[str], **entry: Any) -> Row:
    named = [wheel for one in wheels for wheel in sets.get(one, (one,))]
    lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
    return Row(wheels=tuple(named), **{**entry, **lists})


def _grid(sets: Mapping[str, Sequence[str]], axes: Sequence[Mapping[str, Mapping[str, Any]]]) -> Iterator[Row]:
    """A row for each choice of one part of every axis; parts are named, and add up to the row."""
    for choice in product(*(axis.items() for axis in axes)):
        entry: dict[str, Any] = {"name": ", ".join(name for name, _ in choice)}
        for _, part in choice:
            for key, value in part.items():
                known = entry.get(key)
                entry[key] = value if known is None else _added(known, value)
        yield _row(sets, **entry)


def _added(known: Any, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {**known, **value}
    if isinstance(value, list):
        return [*known, *value]
    return f"{known}, {value}" if isinstance(value, str) else known or value


def _set(row: Row) -> tuple[set[str], set[str]]:
    return set(row.wheels), set(row.later)


def _check(row: Row) -> None:
    if row.shows not in SHOWS:
        raise ValueError(f"{row.name}: shows is one of {SHOWS}")
    if (row.shows == REFUSED) != bool(row.error and row.says):
        raise ValueError(f"{row.name}: a refusal has its error and what it says, nothing else has")
    if row.again not in AGAIN:
        raise ValueError(f"{row.name}: again is one of {AGAIN}")
    if unknown := set(row.happened) - {*COUNTERS, REORDERED}:
        raise ValueError(f"{row.name}: happened knows no {sorted(unknown)}")
