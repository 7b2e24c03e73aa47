"""``kernelet plugins new``: writes a package that builds, installs and passes its suite, as a start."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from kernelet.cli.plugin_name import Names, names_of, other_kind
from kernelet.cli.plugin_taken import check_free
from kernelet.cli.plugin_template import TemplateKind, render, template_kinds
from kernelet.cli.usage import UsageError

AUTHOR = re.compile(r"(?P<name>[^<>@]*[^<>@\s])(?:\s*<(?P<email>[^<>]*)>)?")
ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
EMAIL = re.compile(rf"{ATOM}(?:\.{ATOM})*@{LABEL}(?:\.{LABEL})+")
"""An address as metadata may have it: RFC 5322's form without quotes, with a domain that others reach."""
DESCRIPTION = """\
Writes a folder NAME with a package that builds, installs, passes its conformance suite and its lint at once; its
implementation is small and complete, and yours to replace.

kinds:
{kinds}

NAME names the distribution; use a prefix of your own, as in acme-kernelet-platform-board. What follows from it:
  import name    NAME with underscores: acme_kernelet_platform_board
  plugin         KIND and what NAME says beside it: of what follows `kernelet` or, without that word, of all of NAME:
                 platform-board. It is the entry point, what KERNELET_PLUGINS takes and the namespace of options.
  offer          the plugin without its kind, what operators type in a flag: board
A NAME that speaks of another kind than KIND is taken as it is, with a warning that says which plugin it makes. A NAME
that would replace something else is refused: a module of Python's, what Kernelet requires, or what is installed here.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    kinds = template_kinds()
    width = max(map(len, kinds)) + 2
    lines = "\n".join(f"  {kind.name:<{width}}{kind.summary}" for kind in kinds.values())
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = DESCRIPTION.format(kinds=lines)
    parser.add_argument("kind", metavar="KIND", choices=tuple(kinds), help="what the plugin brings, see above")
    parser.add_argument("name", metavar="NAME", help="name of the distribution and of the folder")
    parser.add_argument(
        "--directory", metavar="DIR", default=".", help="folder, which exists, that gets the folder NAME (default: .)"
    )
    parser.add_argument(
        "--author", metavar="NAME <EMAIL>", help="who publishes it, for its metadata (default: The authors of NAME)"
    )


def run(options: argparse.Namespace) -> int:
    """Writes the package and says what to run next."""
    kinds = template_kinds()
    names = names_of(options.kind, options.name, kinds)
    check_free(names, (one for kind in kinds.values() for one in kind.dependencies))
    author = author_of(options.author if options.author is not None else f"The authors of {names.distribution}")
    folder = folder_of(Path(options.directory), options.name)
    write(folder, kinds[options.kind], names, author)
    if other := other_kind(options.kind, names, kinds):
        print(
            f"warning: {options.name!r} speaks of the kind {other}, and this is a {options.kind}: the plugin is called "
            f"{names.plugin} and its offer {names.offer}",
            file=sys.stderr,
        )
    print(f"{folder} holds the distribution {names.distribution} with the plugin {names.plugin}.")
    print(f'Next: cd {folder} && python -m pip install -e ".[testing]" && python -m pytest')
    return 0


def author_of(text: str) -> Mapping[str, str]:
    """``Jane Doe <jane@acme.example>``, or a name alone, as metadata has it.

    Raises:
        UsageError: neither.
    """
    match = AUTHOR.fullmatch(text.strip())
    if match is None or not text.isprintable():
        raise UsageError(f"--author {text!r}: write a name, or 'Name <name@example.org>'")
    email = match["email"]
    if email is not None and not email.isascii():
        raise UsageError(
            f"--author {text!r}: metadata takes no address with letters outside ASCII; give another one (of a domain, "
            "its xn-- form) or the name alone"
        )
    if email is not None and not EMAIL.fullmatch(email):
        raise UsageError(f"--author {text!r}: {email!r} is no address; write 'Name <name@example.org>' or a name")
    return {key: value for key, value in match.groupdict().items() if value}


def folder_of(directory: Path, name: str) -> Path:
    """Where a package is written.

    Raises:
        UsageError: there is no such directory, or what is there already has that name.
    """
    folder = directory / name
    try:
        if not directory.exists():
            raise UsageError(f"--directory {directory} does not exist: correct it, or make it first")
        if not directory.is_dir():
            raise UsageError(f"--directory {directory} is a file: name a folder")
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is a file: take another NAME or --directory, or remove it")
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder} exists and is not empty: take another NAME or --directory, or remove it")
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}") from error
    return folder


def write(folder: Path, kind: TemplateKind, names: Names, author: Mapping[str, str]) -> None:
    """Writes the files of a new package.

    Raises:
        UsageError: a file cannot be written.
    """
    try:
        for path, text in render(kind, names, author).items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
