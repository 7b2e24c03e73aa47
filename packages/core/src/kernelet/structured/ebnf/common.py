r"""The terminals of ``%import common``.

What they are in the library is said with look-behind and lazy repeats in places; here it is the same tokens, said
without.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_INT: Final = "[0-9]+"
_SIGN: Final = "[+-]?"
_DECIMAL: Final = r"([0-9]+\.[0-9]*|\.[0-9]+)"
_EXPONENT: Final = r"[eE][+-]?[0-9]+"
_FLOAT: Final = rf"([0-9]+{_EXPONENT}|{_DECIMAL}({_EXPONENT})?)"

COMMON: Final[Mapping[str, str]] = MappingProxyType(
    {
        "DIGIT": "[0-9]",
        "HEXDIGIT": "[0-9a-fA-F]",
        "INT": _INT,
        "SIGNED_INT": _SIGN + _INT,
        "DECIMAL": _DECIMAL,
        "FLOAT": _FLOAT,
        "SIGNED_FLOAT": _SIGN + _FLOAT,
        "NUMBER": rf"({_FLOAT}|{_INT})",
        "SIGNED_NUMBER": rf"{_SIGN}({_FLOAT}|{_INT})",
        "ESCAPED_STRING": r'"([^"\\\n]|\\[^\n])*"',
        "LCASE_LETTER": "[a-z]",
        "UCASE_LETTER": "[A-Z]",
        "LETTER": "[A-Za-z]",
        "WORD": "[A-Za-z]+",
        "CNAME": "[_A-Za-z][_A-Za-z0-9]*",
        "WS_INLINE": r"[ \t]+",
        "WS": r"[ \t\f\r\n]+",
        "CR": r"\r",
        "LF": r"\n",
        "NEWLINE": r"(\r?\n)+",
        "SH_COMMENT": r"\#[^\n]*",
        "CPP_COMMENT": r"//[^\n]*",
        "C_COMMENT": r"/\*([^*]|\*+[^*/])*\*+/",
        "SQL_COMMENT": r"--[^\n]*",
    }
)
"""As regular expressions of Python's."""
