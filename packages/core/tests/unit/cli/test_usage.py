from __future__ import annotations

import pytest

from kernelet.cli.usage import Parser, UsageError
from kernelet.errors import KerneletError


def test_wrong_usage_is_an_error_like_others():
    assert issubclass(UsageError, KerneletError)


@pytest.mark.parametrize("arguments, prog", [(["--nope"], "kernelet x"), (["sub", "--number", "a"], "kernelet x sub")])
def test_what_is_wrong_is_one_line(arguments, prog, capsys):
    parser = Parser(prog="kernelet x")
    parser.add_subparsers().add_parser("sub").add_argument("--number", type=int)
    with pytest.raises(SystemExit) as stop:
        parser.parse_args(arguments)
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.endswith(f" (`{prog} --help` tells more)\n")
    assert err.count("\n") == 1
