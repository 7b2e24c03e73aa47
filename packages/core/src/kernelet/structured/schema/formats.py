"""Formats of strings that core writes: each as a regular expression, exactly or as a part of what is valid.

JSON Schema leaves it open whether a format is enforced. Those of this table are; all others say nothing about the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelet.structured.automata.parse import parse_regex

if TYPE_CHECKING:
    from kernelet.structured.automata.syntax import Regex


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format.

    Attributes:
        pattern: Matches whole texts.
        left_out: Valid texts that are not written; empty: none are.
    """

    pattern: str
    left_out: str = ""


YEAR: Final = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
LEAP_YEAR: Final = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
MONTH_DAY: Final = "((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
DATE: Final = f"({YEAR}-{MONTH_DAY}|{LEAP_YEAR}-02-29)"
HOUR_MINUTE: Final = "([01][0-9]|2[0-3]):[0-5][0-9]"
TIME: Final = rf"{HOUR_MINUTE}:[0-5][0-9](\.[0-9]{{1,9}})?(Z|[+-]{HOUR_MINUTE})"
CLOCK: Final = "([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S)"
DAYS: Final = "([0-9]+Y([0-9]+M([0-9]+D)?)?|[0-9]+M([0-9]+D)?|[0-9]+D)"
DURATION: Final = f"P({DAYS}(T{CLOCK})?|T{CLOCK}|[0-9]+W)"

LABEL: Final = "[A-Za-z0-9]{1,15}(-[A-Za-z0-9]{1,15}){0,3}"
SHORT_LABEL: Final = "[A-Za-z0-9]{1,14}(-[A-Za-z0-9]{1,14})?"
HOSTNAME: Final = rf"({LABEL}(\.{LABEL}){{0,2}}|{SHORT_LABEL}(\.{SHORT_LABEL}){{3,7}})"
ATOM: Final = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,20}"
EMAIL: Final = rf"{ATOM}(\.{ATOM}){{0,2}}@({LABEL}(\.{LABEL}){{1,2}}|{SHORT_LABEL}(\.{SHORT_LABEL}){{3,5}})"

BYTE: Final = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4: Final = rf"{BYTE}(\.{BYTE}){{3}}"
GROUP: Final = "[0-9A-Fa-f]{1,4}"
IPV6: Final = "(" + "|".join(
    [
        f"({GROUP}:){{7}}{GROUP}",
        f"({GROUP}:){{6}}{IPV4}",
        *(f"{GROUP}(:{GROUP}){{{before - 1}}}::({GROUP}(:{GROUP}){{0,{6 - before}}})?" for before in range(1, 7)),
        f"({GROUP}:){{7}}:",
        f"::({GROUP}(:{GROUP}){{0,6}})?",
        *(f"{GROUP}(:{GROUP}){{{before - 1}}}::({GROUP}:){{0,{5 - before}}}{IPV4}" for before in range(1, 6)),
        f"::({GROUP}:){{0,5}}{IPV4}",
    ]
) + ")"  # fmt: skip

UNRESERVED: Final = r"A-Za-z0-9._~\-"
BEYOND_ASCII: Final = r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
ESCAPED: Final = "%[0-9A-Fa-f]{2}"


def _reference(unreserved: str) -> tuple[str, str]:
    """A URI, and what refers to one relative to another; by the characters that need no escape."""
    free = f"{unreserved}!$&'()*+,;="
    part = f"([{free}:@]|{ESCAPED})"
    first = f"([{free}@]|{ESCAPED})"
    host = rf"(\[{IPV6}\]|([{free}]|{ESCAPED})*)"
    authority = f"//(([{free}:]|{ESCAPED})*@)?{host}(:[0-9]*)?(/{part}*)*"
    end = rf"(\?([{free}:@/?]|{ESCAPED})*)?(#([{free}:@/?]|{ESCAPED})*)?"
    absolute = f"/({part}+(/{part}*)*)?"
    uri = f"[A-Za-z][A-Za-z0-9+.-]*:({authority}|{absolute}|{part}+(/{part}*)*)?{end}"
    relative = f"({authority}|{absolute}|{first}+(/{part}*)*)?{end}"
    return uri, relative


URI, RELATIVE = _reference(UNRESERVED)
IRI, RELATIVE_IRI = _reference(UNRESERVED + BEYOND_ASCII)

POINTER: Final = "(/([^/~]|~[01])*)*"
HEX: Final = "[0-9A-Fa-f]"

FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        "date": Format(pattern=DATE, left_out="the year 0000"),
        "date-time": Format(pattern=f"{DATE}T{TIME}", left_out="as in date and time; lower-case t and z"),
        "duration": Format(pattern=DURATION),
        "email": Format(
            pattern=EMAIL, left_out="quoted or long local parts, hosts without a dot, IP addresses; as in hostname"
        ),
        "hostname": Format(pattern=HOSTNAME, left_out="-- in a label, more than 3 hyphens, long labels in long names"),
        "ipv4": Format(pattern=IPV4),
        "ipv6": Format(pattern=IPV6),
        "iri": Format(pattern=IRI, left_out="characters beyond U+FFFF, IPvFuture"),
        "iri-reference": Format(pattern=f"({IRI}|{RELATIVE_IRI})", left_out="as in iri"),
        "json-pointer": Format(pattern=POINTER),
        "relative-json-pointer": Format(pattern=f"(0|[1-9][0-9]*)(#|{POINTER})"),
        "time": Format(pattern=TIME, left_out="leap seconds, more than 9 digits of a second"),
        "uri": Format(pattern=URI, left_out="IPvFuture"),
        "uri-reference": Format(pattern=f"({URI}|{RELATIVE})", left_out="as in uri"),
        "uuid": Format(pattern=f"{HEX}{{8}}(-{HEX}{{4}}){{3}}-{HEX}{{12}}"),
    }
)
"""By name."""


def language_of(name: str) -> Regex:
    """The texts of a format of the table."""
    return parse_regex(FORMATS[name].pattern)
