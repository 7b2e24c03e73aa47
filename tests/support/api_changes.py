"""What changed between two surfaces, and the version bump that each change needs.

Major: what a plugin could notice, because it is gone, has another name, type, order or default, or must be given now.
Minor: what is new and need not be given. See docs/plugins/compatibility.md, which lists the rules.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from api_surface import SHARED, empty

MAJOR, MINOR = "major", "minor"


@dataclass(frozen=True)
class Change:
    """One difference: the domain whose version it touches (or ``shared``), the bump, and what it is."""

    domain: str
    bump: str
    text: str


@dataclass(frozen=True)
class Slot:
    """A field or a parameter."""

    type: str
    default: str | None
    kind: str = "plain"  # plain, keyword or star


def complaints(old: dict, new: dict) -> list[str]:
    """One line a domain whose version does not rise as its changes need; empty: all is well."""
    found = list(changes(old, new))
    lines = []
    for domain, before in old["versions"].items():
        mine = [change for change in found if change.domain in {domain, SHARED}]
        now = new["versions"].get(domain)
        if now is None or not mine:
            continue
        bump = MAJOR if any(change.bump == MAJOR for change in mine) else MINOR
        wanted = next_version(before, bump)
        if parse(now) < parse(wanted):
            why = "; ".join(change.text for change in mine if change.bump == bump)
            lines.append(f"{domain} {now} needs a {bump} bump, to {wanted} (contracts/versions.py): {why}")
    return lines


def parse(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)


def next_version(version: str, bump: str) -> str:
    major, minor = parse(version)
    return f"{major + 1}.0" if bump == MAJOR else f"{major}.{minor + 1}"


def changes(old: dict, new: dict) -> Iterator[Change]:
    """Every difference between two surfaces."""
    for domain in sorted(old["domains"].keys() | new["domains"].keys()):
        if domain not in old["domains"]:
            continue  # a new domain starts at its own first version
        before, after = old["domains"][domain], new["domains"].get(domain)
        if after is None:
            yield Change(domain, MAJOR, f"the domain {domain} is gone")
            after = empty()
        for bump, text in domain_changes(before, after):
            yield Change(domain, bump, text)


def domain_changes(old: dict, new: dict) -> Iterator[tuple[str, str]]:
    yield from each("hook", old["hooks"], new["hooks"], hook_changes)
    yield from each("class", old["classes"], new["classes"], class_changes)
    yield from each("function", old["functions"], new["functions"], signature_changes)
    yield from each("name", old["names"], new["names"], name_changes)


def each(what: str, old: dict, new: dict, compare: Callable, added: str = MINOR) -> Iterator[tuple[str, str]]:
    for name, before in old.items():
        if name not in new:
            yield MAJOR, f"{what} {name} is gone"
        else:
            yield from ((bump, f"{what} {name}: {text}") for bump, text in compare(before, new[name]))
    yield from ((added, f"{what} {name} is new") for name in new if name not in old)


def hook_changes(old: str, new: str) -> Iterator[tuple[str, str]]:
    """pluggy passes by name what an implementation asks for: order does not matter, and more is not noticed."""
    before, after = function(old), function(new)
    yield from slots(parameters(before), parameters(after), "parameter", required=MINOR)
    yield from returns(before, after)


def signature_changes(old: str, new: str) -> Iterator[tuple[str, str]]:
    before, after = function(old), function(new)
    first, second = parameters(before), parameters(after)
    yield from slots(first, second, "parameter")
    yield from order(positional(first), positional(second), "parameter")
    yield from returns(before, after)


def function(signature: str) -> ast.FunctionDef:
    (node,) = ast.parse(f"def f{signature}: ...").body
    assert isinstance(node, ast.FunctionDef)
    return node


def parameters(node: ast.FunctionDef) -> dict[str, Slot]:
    found: dict[str, Slot] = {}
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    for argument, default in zip(plain, defaults, strict=True):
        found[argument.arg] = Slot(text(argument.annotation), default and text(default))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found[argument.arg] = Slot(text(argument.annotation), default and text(default), "keyword")
    for star in (arguments.vararg, arguments.kwarg):
        if star is not None:
            found[f"*{star.arg}"] = Slot(text(star.annotation), "", "star")
    return found


def positional(slots: dict[str, Slot]) -> list[str]:
    return [name for name, slot in slots.items() if slot.kind == "plain"]


def text(node: ast.expr | None) -> str:
    return "" if node is None else ast.unparse(node)


def returns(old: ast.FunctionDef, new: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    if text(old.returns) != text(new.returns):
        yield MAJOR, f"returns {text(new.returns) or 'nothing stated'}, it was {text(old.returns) or 'nothing stated'}"


def slots(old: dict[str, Slot], new: dict[str, Slot], what: str, required: str = MAJOR) -> Iterator[tuple[str, str]]:
    """Fields or parameters. ``required``: the bump of a new one without default."""
    for name, before in old.items():
        after = new.get(name)
        if after is None:
            yield MAJOR, f"{what} {name} is gone"
            continue
        if before.type != after.type:
            yield MAJOR, f"{what} {name} is {after.type}, it was {before.type}"
        if before.kind != after.kind:
            yield MAJOR, f"{what} {name} is passed in another way"
        if before.default is None and after.default is not None:
            yield MINOR, f"{what} {name} has a default"
        elif before.default is not None and after.default is None:
            yield MAJOR, f"{what} {name} has no default any more"
        elif before.default != after.default:
            yield MAJOR, f"{what} {name} defaults to {after.default}, it was {before.default}"
    for name, after in new.items():
        if name not in old:
            bump = required if after.default is None else MINOR
            yield bump, f"{what} {name} is new" + (" and has no default" if after.default is None else "")


def order(old: list[str], new: list[str], what: str) -> Iterator[tuple[str, str]]:
    """What is passed by position keeps its place; new ones come last."""
    kept = [name for name in old if name in new]
    if new[: len(kept)] != kept:
        yield MAJOR, f"the order of its {what}s is another"


def class_changes(old: dict, new: dict) -> Iterator[tuple[str, str]]:
    for aspect in ("bases", "options"):
        if old[aspect] != new[aspect]:
            yield MAJOR, f"{aspect} are {', '.join(new[aspect]) or 'none'}, were {', '.join(old[aspect]) or 'none'}"
    added = MINOR if new.get("provided") else MAJOR
    before, after = fields(old), fields(new)
    yield from slots(before, after, "field", required=added)
    if not any("kw_only=True" in option for option in new["options"]) and not is_enum(new):
        yield from order(list(before), list(after), "field")
    yield from members(old, new, added)


def is_enum(described: dict) -> bool:
    return any(base.endswith("Enum") for base in described["bases"])


def fields(described: dict) -> dict[str, Slot]:
    found = {}
    for name, declared in described.get("fields", {}).items():
        (node,) = ast.parse(f"_: {declared}").body
        assert isinstance(node, ast.AnnAssign)
        found[name] = Slot(text(node.annotation), node.value and text(node.value))
    return found


def members(old: dict, new: dict, required: str) -> Iterator[tuple[str, str]]:
    """Methods and properties. ``required``: the bump of a new one that an implementation must have."""
    before, after = old.get("members", {}), new.get("members", {})
    for name, member in after.items():
        if name not in before:
            must = member.get("abstract") or is_protocol(new)
            yield required if must else MINOR, f"{name} is new" + (" and must be implemented" if must else "")
    for name, member in before.items():
        now = after.get(name)
        if now is None:
            yield MAJOR, f"{name} is gone"
            continue
        if member["kind"] != now["kind"]:
            yield MAJOR, f"{name} is a {now['kind']}, it was a {member['kind']}"
        if bool(member.get("abstract")) != bool(now.get("abstract")):
            must = bool(now.get("abstract"))
            yield (MAJOR if must else MINOR), f"{name} {'must' if must else 'need not'} be implemented"
        yield from (
            (bump, f"{name}: {what}") for bump, what in signature_changes(member["signature"], now["signature"])
        )


def is_protocol(described: dict) -> bool:
    return any(base.partition("[")[0] == "Protocol" for base in described["bases"])


def name_changes(old: str, new: str) -> Iterator[tuple[str, str]]:
    if old == new:
        return
    before, after = literals(old), literals(new)
    if before is not None and after is not None and before < after:
        yield MINOR, f"may also be {', '.join(sorted(after - before))}"
    else:
        yield MAJOR, f"is {new}, it was {old}"


def literals(expression: str) -> set[str] | None:
    """The values of ``Literal[...]``; None for anything else."""
    node = ast.parse(expression, mode="eval").body
    if not (isinstance(node, ast.Subscript) and text(node.value) == "Literal"):
        return None
    return {text(item) for item in (node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])}
