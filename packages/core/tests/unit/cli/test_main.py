from __future__ import annotations

import importlib.metadata
import logging
import os
import subprocess
import sys

import pytest

from kernelet.cli import commands
from kernelet.cli.main import main
from kernelet.cli.usage import UsageError
from kernelet.errors import ConfigError, KerneletError, ParameterError

COMMAND = [sys.executable, "-m", "kernelet.cli"]


class Stub:
    """A command that does what a test says."""

    def __init__(self, action):
        self.action = action

    def configure(self, parser):
        parser.add_argument("word", nargs="?")

    def run(self, options):
        return self.action(options)


@pytest.fixture
def stub(monkeypatch):
    def install(action):
        monkeypatch.setattr(commands.Command, "load", lambda self: Stub(action))

    return install


def test_version(kernelet):
    code, out, _ = kernelet("--version")
    assert (code, out) == (0, f"kernelet {importlib.metadata.version('kernelet-core')}\n")


def test_help_lists_every_command(kernelet):
    code, out, _ = kernelet("--help")
    assert code == 0
    words = " ".join(out.split())
    assert all(f"{command.name} {command.help}" in words for command in commands.OWN)


def test_no_command_shows_the_help(kernelet):
    code, out, _ = kernelet()
    assert code == 2
    assert "commands" in out


def test_an_unknown_command_is_wrong_usage(kernelet):
    code, _, err = kernelet("fly")
    assert code == 2
    assert "'fly'" in err


@pytest.mark.parametrize(
    "arguments",
    [["run"], ["run", "m", "--nope"], ["run", "m", "--set", "x"], ["run", "m", "--dtype", "int8"], ["plugins"]],
)
def test_wrong_usage_is_one_line_and_2(kernelet, arguments):
    code, out, err = kernelet(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert f"(`kernelet {arguments[0]} --help` tells more)" in err
    assert err.count("\n") == 1


def test_the_exit_code_is_the_commands(kernelet, stub):
    stub(lambda options: 7)
    assert kernelet("run")[0] == 7


@pytest.mark.parametrize(
    "error, code, message",
    [
        (KerneletError("do this"), 1, "error: do this\n"),
        (UsageError("not so"), 2, "error: not so\n"),
        (ParameterError("top_p", "must be in (0, 1]"), 2, "error: top_p: must be in (0, 1]\n"),
        (ConfigError("not here"), 1, "error: not here\n"),
        (RuntimeError("a bug"), 1, "error: RuntimeError: a bug (run it again with --debug for the traceback)\n"),
    ],
)
def test_an_error_is_one_line(kernelet, stub, error, code, message):
    def fail(options):
        raise error

    stub(fail)
    assert kernelet("run") == (code, "", message)


def test_debug_shows_the_traceback(kernelet, stub):
    def fail(options):
        raise KerneletError("do this")

    stub(fail)
    with pytest.raises(KerneletError):
        kernelet("run", "--debug")
    with pytest.raises(KerneletError):
        kernelet("--debug", "run")
    assert logging.getLogger("kernelet").level == logging.DEBUG


def test_ctrl_c_is_quiet(kernelet, stub):
    def interrupt(options):
        raise KeyboardInterrupt

    stub(interrupt)
    assert kernelet("run") == (130, "", "")


def test_the_log_is_quiet_but_for_warnings(kernelet, stub):
    def talk(options):
        log = logging.getLogger("kernelet.something")
        log.info("details")
        log.warning("careful")
        return 0

    stub(talk)
    assert kernelet("run") == (0, "", "WARNING: careful\n")


def test_a_closed_pipe_is_quiet():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run([*COMMAND, "--version"], stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


def test_main_reads_the_process_arguments(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["kernelet", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("kernelet ")


def test_version_and_help_import_nothing_heavy():
    for argument in ("--version", "--help"):
        program = (
            "import sys; from kernelet.cli.main import main\n"
            f"try: main([{argument!r}])\n"
            "except SystemExit: pass\n"
            "bad = {'torch', 'numpy', 'rich', 'pluggy', 'msgspec', 'tokenizers'} & set(sys.modules)\n"
            "bad |= {name for name in sys.modules if name.startswith('kernelet_')}\n"
            "sys.exit(repr(bad) if bad else 0)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("closed", [(2,), (0, 1, 2)])
def test_streams_that_were_closed_before_the_start_are_held(closed, tmp_path):
    """Nothing that is opened later gets their numbers, and whoever writes there does no harm."""
    seen = tmp_path / "seen"
    script = (
        "import os, sys\nfrom kernelet.cli.main import hold_streams\nhold_streams()\n"
        f"file = open({str(seen)!r}, 'w')\nprint('x', file=sys.stderr, flush=True)\n"
        "file.write(f'{file.fileno() > 2} {sys.stderr.isatty()} {[os.get_inheritable(one) for one in range(3)]}')"
    )
    close = " ".join(f"{number}>&-" for number in closed)
    subprocess.run(["/bin/sh", "-c", f'exec "$0" -c "$1" {close}', sys.executable, script], check=True)
    assert seen.read_text() == "True False [True, True, True]"
