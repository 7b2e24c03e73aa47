"""The files of a new plugin: templates of the core's wheel, one folder a kind and one for what all kinds share.

A kind is a folder of ``kernelet/templates`` with a ``kind.toml``; adding a folder adds a kind. Every other file is a
template of jinja, its path too. ``kind.toml`` may name other kinds as ``layers``: the new package has their files as
well, less those that the kind itself has at the same path.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from kernelet.cli.plugin_name import Names
from kernelet.contracts.versions import API_VERSIONS

PACKAGE = "kernelet"
FOLDER = "templates"
COMMON = "common"
ABOUT = "kind.toml"
SUFFIX = ".jinja"
FRAGMENTS = "fragments/"
"""Templates below it are parts of others and make no file."""


@dataclass(frozen=True, kw_only=True)
class TemplateKind:
    """What a new plugin can bring.

    Attributes:
        name: As the command line has it.
        summary: What such a plugin brings, a noun with its article.
        api: Contract domains of its hooks.
        suites: Classes of its ``conformance.py``.
        dependencies: What its code imports beside the core, as requirements.
        layers: Kinds whose files it has too, less those that it writes otherwise.
    """

    name: str
    summary: str
    api: tuple[str, ...]
    suites: tuple[str, ...]
    dependencies: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()


def template_kinds() -> dict[str, TemplateKind]:
    """Every kind by name, in the order of the names."""
    folders = sorted(files(PACKAGE).joinpath(FOLDER).iterdir(), key=lambda folder: folder.name)
    found = {}
    for folder in folders:
        about = folder.joinpath(ABOUT)
        if about.is_file():
            fields: dict[str, Any] = tomllib.loads(about.read_text(encoding="utf-8"))
            lists: dict[str, Any] = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
            found[folder.name] = TemplateKind(name=folder.name, summary=fields["summary"], **lists)
    return found


def render(kind: TemplateKind, names: Names, author: Mapping[str, str]) -> dict[str, str]:
    """The files of a new package: path below its folder, and text.

    Args:
        kind: What it brings.
        names: What it is called.
        author: ``name`` and, where known, ``email``.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(PACKAGE, FOLDER),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - what is written is no HTML
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["quoted"] = quoted
    values = {
        "kind": kind,
        "names": names,
        "author": author,
        "core": version("kernelet-core"),
        "api": API_VERSIONS,
    }
    chosen: dict[str, str] = {}
    for layer in (COMMON, *kind.layers, kind.name):
        prefix = f"{layer}/"
        for template in environment.list_templates(filter_func=lambda name: name.endswith(SUFFIX)):
            if template.startswith(prefix) and not template.startswith(f"{prefix}{FRAGMENTS}"):
                chosen[template.removeprefix(prefix).removesuffix(SUFFIX)] = template
    return {
        environment.from_string(path).render(values): environment.get_template(template).render(values)
        for path, template in sorted(chosen.items())
    }


def quoted(text: str) -> str:
    """A string of TOML; a name that a template does not know is jinja's error, not JSON's."""
    return json.dumps(str(text), ensure_ascii=False)
