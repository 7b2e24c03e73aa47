"""Reads the syntax of Lark."""

from __future__ import annotations

import re
from typing import Final

from kernelet.structured.automata.parse import parse_regex
from kernelet.structured.automata.syntax import Regex, chars, literal
from kernelet.structured.ebnf.common import COMMON
from kernelet.structured.ebnf.reader import Item, Reader, Reference, Repeated, Terminal
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
HEADER: Final = re.compile(r"[?!]{0,2}([A-Za-z_][A-Za-z0-9_]*)\s*(\{[^{}\n]*\})?\s*(\.[ ]*-?[0-9]+)?\s*:")
_PATTERN: Final = re.compile(r"/(?!/)((?:\\.|[^/\\\n])*)/([a-z]*)", re.DOTALL)
_IMPORT: Final = re.compile(r"[ \t]+([A-Za-z_.]+)(?:[ \t]*\(([^()]*)\))?(?:[ \t]*->[ \t]*([A-Za-z_][A-Za-z0-9_]*))?")
_FLAGS: Final = frozenset("isxu")
_IN_QUOTES: Final = '\\"/'


class LarkReader(Reader):
    """Reads all of a grammar.

    Attributes:
        rules: By name.
        terminals: By name.
        ignored: Terminals.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.rules: dict[str, Item] = {}
        self.terminals: dict[str, Item] = {}
        self.ignored: list[Item] = []

    def read(self) -> None:
        source = self.source
        self.blank()
        while not source.is_done:
            start = source.at
            if source.skip("%"):
                self._directive(start)
            elif HEADER.match(source.text, start):
                self._definition(start)
            else:
                source.fail("a rule or a terminal is expected: name: ...")
            self.blank()

    def _definition(self, start: int) -> None:
        source = self.source
        header = HEADER.match(source.text, start)
        assert header is not None
        name = header[1]
        if header[2]:
            source.refuse(f"templates are not supported, as {name!r} is one", start)
        self._define(name, start)
        source.at = header.end()
        item = self.alternatives()
        if not self.ends():
            source.fail(f"{source.peek()!r} closes nothing or means nothing here")
        (self.terminals if _is_terminal(name) else self.rules)[name] = item

    def _define(self, name: str, at: int) -> None:
        if name in self.rules or name in self.terminals:
            kind = "terminal" if _is_terminal(name) else "rule"
            self.source.fail(f"the {kind} {name!r} is there twice", at)

    # --- directives ------------------------------------------------------------------------------

    def _directive(self, start: int) -> None:
        source = self.source
        found = NAME.match(source.text, source.at)
        name = found[0] if found else ""
        source.at += len(name)
        if name == "ignore":
            self.ignored.append(self.alternatives())
        elif name == "import":
            self._import(start)
        else:
            source.refuse(f"%{name} is not supported", start)

    def _import(self, start: int) -> None:
        source = self.source
        found = _IMPORT.match(source.text, source.at)
        if found is None:
            source.fail("an import is written %import common.NAME", start)
        path, several, alias = found.groups()
        module, _, single = path.rpartition(".")
        if several is not None:
            module, names = path, [each.strip() for each in several.split(",")]
        else:
            names = [single]
        if module != "common":
            source.refuse(f"only common terminals can be imported, not {path!r}", start)
        for name in names:
            if name not in COMMON:
                source.fail(f"there is no common terminal {name!r}", start)
            given = alias or name
            self._define(given, start)
            self.terminals[given] = Terminal(parse_regex(COMMON[name]), start)
        source.at = found.end()

    # --- items -----------------------------------------------------------------------------------

    def blank(self) -> None:
        source = self.source
        while not source.is_done:
            if source.peek(2) == "//" or source.peek() == "#":
                end = source.text.find("\n", source.at)
                source.at = len(source.text) if end < 0 else end
            elif source.peek().isspace():
                source.at += 1
            else:
                return

    def ends(self) -> bool:
        source = self.source
        if source.is_done:
            return True
        line = source.text[source.text.rfind("\n", 0, source.at) + 1 : source.at]
        return not line.strip() and (source.peek() == "%" or HEADER.match(source.text, source.at) is not None)

    def after_sequence(self) -> None:
        source = self.source
        if source.skip("->"):
            self.blank()
            found = NAME.match(source.text, source.at)
            if found is None:
                source.fail("an alias is written -> name")
            source.at = found.end()
            self.blank()

    def atom(self) -> Item:
        source = self.source
        start = source.at
        if source.skip("("):
            return self.bracketed(")")
        if source.skip("["):
            return self._optional()
        if source.peek() == '"':
            return Terminal(self._text(start), start)
        if source.peek() == "/":
            return Terminal(self._pattern(start), start)
        found = NAME.match(source.text, start)
        if found is None:
            source.fail(f"{source.peek()!r} means nothing here")
        source.at = found.end()
        if source.peek() == "{":
            source.refuse(f"templates are not supported, as {found[0]!r} is one", start)
        return Reference(found[0], start)

    def _optional(self) -> Item:
        return Repeated(self.bracketed("]"), 0, 1)

    def _text(self, start: int) -> Regex:
        source = self.source
        source.take()
        text = self.quoted('"', _IN_QUOTES)
        if source.skip(".."):
            if not source.skip('"'):
                source.fail('a range is written "a".."z"', start)
            last = self.quoted('"', _IN_QUOTES)
            if len(text) != 1 or len(last) != 1 or last < text:
                source.fail("a range goes from one character to one that is not before it", start)
            return chars([(ord(text), ord(last))])
        if not source.skip("i"):
            return literal(text)
        escaped = "".join(f"\\U{ord(each):08x}" for each in text)
        return parse_regex(escaped, "i")

    def _pattern(self, start: int) -> Regex:
        source = self.source
        found = _PATTERN.match(source.text, start)
        if found is None:
            source.fail("'/' is missing for the regular expression that begins here", start)
        source.at = found.end()
        flags = frozenset(found[2])
        if flags - _FLAGS:
            source.refuse(f"the flag {min(flags - _FLAGS)} of regular expressions is not supported", start)
        try:
            return parse_regex(found[1], found[2], lazy=False)
        except UnenforcedError as error:
            return source.refuse("; ".join(f"{one.path}: {one.reason}" for one in error.refusals), start)
        except InvalidConstraintError as error:
            return source.fail(str(error), start)

    def count(self) -> tuple[int, int | None] | None:
        source = self.source
        start = source.at
        each = source.peek()
        if each and each in "*+?":
            source.take()
            return (1 if each == "+" else 0, 1 if each == "?" else None)
        if not source.skip("~"):
            return None
        self.blank()
        low = source.number()
        high = low
        if low is not None and source.skip(".."):
            high = source.number()
        if low is None or high is None:
            return source.fail("a count is ~n or ~n..m", start)
        if high < low:
            source.fail("the numbers of a repeat are out of order", start)
        return low, high


def _is_terminal(name: str) -> bool:
    return name.lstrip("_")[:1].isupper()
