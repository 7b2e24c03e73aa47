"""``kernelet plugins new``: writes a package that builds, installs and passes its suite, as a start."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from kernelet.cli.plugin_name import Names, names_of
from kernelet.cli.plugin_template import TemplateKind, render, template_kinds
from kernelet.cli.usage import UsageError

AUTHOR = re.compile(r"(?P<name>[^<>]*[^<>\s])(?:\s*<(?P<email>[^<>\s@]+@[^<>\s@]+)>)?")
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
    parser.add_argument("--directory", metavar="DIR", default=".", help="where the folder NAME is written (default: .)")
    parser.add_argument(
        "--author", metavar="NAME <EMAIL>", help="who publishes it, for its metadata (default: The authors of NAME)"
    )


def run(options: argparse.Namespace) -> int:
    """Writes the package and says what to run next."""
    kinds = template_kinds()
    names = names_of(options.kind, options.name, kinds)
    author = author_of(options.author if options.author is not None else f"The authors of {names.distribution}")
    folder = Path(options.directory) / options.name
    write(folder, kinds[options.kind], names, author)
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
    return {key: value for key, value in match.groupdict().items() if value}


def write(folder: Path, kind: TemplateKind, names: Names, author: Mapping[str, str]) -> None:
    """Writes the files of a new package.

    Raises:
        UsageError: the folder is there and holds something, or cannot be made.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} exists and is not empty: take another NAME or --directory, or remove it")
        for path, text in render(kind, names, author).items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error}") from error
