"""``kernelet``: finds the command, and turns every error into one line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.cli.usage import WRONG_USAGE, Parser, UsageError

if TYPE_CHECKING:
    from kernelet.cli.commands import Command

INTERRUPTED = 130
PIPE_CLOSED = 141

DESCRIPTION = "Kernelet, a microkernel inference engine for language models."
EPILOG = "`kernelet COMMAND --help` tells more. Plugins are shown by `kernelet plugins list`."


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; returns the exit code: 0, 1 for an error, 2 for wrong usage."""
    hold_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    try:
        code = dispatch(given)
        if sys.stdout is not None:  # it was closed before the start
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output is gone; the interpreter must not try to flush it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt as error:
        for note in getattr(error, "__notes__", ()):  # which plugin's code it came from
            print(note, file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if debug:
            raise
        print(f"error: {describe(error)}", file=sys.stderr)
        return exit_code(error)
    return code


def hold_streams() -> None:
    """Standard streams that were closed before the start: no file or socket gets their numbers, no log is an error."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number: this one
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def exit_code(error: Exception) -> int:
    """2 for wrong usage, a sampling parameter out of its range included, else 1."""
    from kernelet.errors import ParameterError

    return WRONG_USAGE if isinstance(error, UsageError | ParameterError) else 1


def describe(error: Exception) -> str:
    """The message of an error that was raised on purpose; for any other one its kind too."""
    from kernelet.errors import KerneletError

    if isinstance(error, KerneletError):
        return str(error)
    return f"{type(error).__name__}: {error} (run it again with --debug for the traceback)"


def dispatch(arguments: list[str]) -> int:
    """Picks the command without importing another one."""
    from kernelet.cli.commands import OWN, all_commands

    name = next((argument for argument in arguments if not argument.startswith("-")), None)
    before = arguments[: arguments.index(name)] if name is not None else arguments
    if "--version" in before:
        from importlib.metadata import version

        print(f"kernelet {version('kernelet-core')}")
        return 0
    commands = {command.name: command for command in OWN}
    if name not in commands or not set(before) <= {"--debug"}:
        commands = all_commands()
        parser = top_parser(commands)
        parser.parse_args([argument for argument in before if argument != "--debug"] + ([name] if name else []))
        if name is None:
            parser.print_help()
            return WRONG_USAGE
    assert name is not None
    return run_command(commands[name], arguments[arguments.index(name) + 1 :], debug="--debug" in before)


def top_parser(commands: dict[str, Command]) -> Parser:
    """The parser of what stands before the command; it also writes the help."""
    parser = Parser(
        prog="kernelet", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    parser.add_argument("--debug", action="store_true", help="show tracebacks and all of the log")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in commands.values():
        subparsers.add_parser(command.name, help=command.help, add_help=False)
    return parser


def run_command(command: Command, arguments: list[str], *, debug: bool) -> int:
    """Parses a command's own arguments and runs it."""
    module = command.load()
    parser = Parser(prog=f"kernelet {command.name}", description=command.help)
    parser.add_argument("--debug", action="store_true", help="show tracebacks and all of the log")
    module.configure(parser)
    parse = getattr(module, "parse", None)
    options = parser.parse_args(arguments) if parse is None else parse(parser, arguments)
    set_up_logging(debug=debug or options.debug)
    return module.run(options)


def set_up_logging(*, debug: bool) -> None:
    """Warnings of our own code go to stderr as one line each; everything with --debug."""
    import logging

    from kernelet.config.log_lines import LineFormatter

    handler = logging.StreamHandler()
    pattern = "%(asctime)s %(name)s %(levelname)s %(message)s" if debug else "%(levelname)s: %(message)s"
    handler.setFormatter(LineFormatter(pattern))
    log = logging.getLogger("kernelet")
    log.handlers[:] = [handler]
    log.propagate = False
    log.setLevel(logging.DEBUG if debug else logging.WARNING)


if __name__ == "__main__":
    sys.exit(main())
