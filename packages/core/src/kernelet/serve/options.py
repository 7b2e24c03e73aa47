"""What ``kernelet serve`` takes beside the engine's options: flags, variables, and ``[serve]`` of the file."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

from kernelet.config import env
from kernelet.engine.option_sources import SERVE, merge, read_file, read_variables
from kernelet.engine.option_values import Kind
from kernelet.engine.options import OptionSpec, option
from kernelet.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """All options, with their defaults."""

    host: str = option("127.0.0.1", Kind.TEXT, "address to listen on; 0.0.0.0 or :: for all of the machine's")
    port: int = option(8000, Kind.INTEGER, "port to listen on; 0 takes a free one", minimum=0, maximum=65535)
    uds: str | None = option(None, Kind.TEXT, "a Unix domain socket to listen on, in place of host and port")
    server: str | None = option(None, Kind.TEXT, "name of the server; the best one that is installed")
    endpoint: Sequence[str] = option((), Kind.NAMES, "applications beside the server, each under its own prefix")
    served_model_name: Sequence[str] = option(
        (), Kind.NAMES, "names that clients may ask for; the first is shown in answers; MODEL as it is given"
    )
    api_server_count: int = option(1, Kind.INTEGER, "frontend processes that share the port", minimum=1, maximum=64)
    restart_engine: bool = option(False, Kind.FLAG, "start the engine anew if it dies or stalls")
    shutdown_timeout: float = option(
        20.0, Kind.NUMBER, "seconds that requests get to finish after SIGTERM or SIGINT", minimum=0.0, maximum=86400.0
    )


SERVE_OPTIONS: tuple[OptionSpec, ...] = tuple(
    OptionSpec(name=entry.name, default=None if entry.default is MISSING else entry.default, **entry.metadata)
    for entry in fields(ServeOptions)
)
"""The table, in the order of ``--help``."""


@dataclass(frozen=True, kw_only=True)
class ResolvedServeOptions:
    """Options and who set each."""

    options: ServeOptions
    sources: Mapping[str, str]


def resolve_serve_options(
    arguments: Mapping[str, object], file: str | Path | None = None, *, environ: Mapping[str, str] | None = None
) -> ResolvedServeOptions:
    """Merges arguments, variables and the file's section ``[serve]``.

    Raises:
        ConfigError: an unknown name, or a value that the option does not take.
    """
    content = (read_file(Path(file)) if file else {}).get(SERVE, {})
    if not isinstance(content, Mapping):
        raise ConfigError(f"{SERVE} in {file}: got {content!r}, expected a section [{SERVE}] with options")
    section = {name.replace("-", "_"): value for name, value in content.items()}
    values, sources = merge(
        SERVE_OPTIONS, section, f"[{SERVE}] of {file}", read_serve_variables(environ), arguments, "--{flag}"
    )
    if values.get("served_model_name") == ():
        raise ConfigError(
            f"{sources['served_model_name']}: got an empty name: give one, or leave it out for MODEL's own"
        )
    return ResolvedServeOptions(options=ServeOptions(**values), sources=sources)


def read_serve_variables(environ: Mapping[str, str] | None) -> dict[str, object]:
    """Every ``KERNELET_<OPTION>`` that is set.

    Raises:
        ConfigError: a variable looks like a misspelt option, or was set by Kubernetes.
    """
    known = [spec.variable for spec in SERVE_OPTIONS]
    for name in env.variables(environ):
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.93)
        if name not in known and near:
            raise ConfigError(f"{name} is no option: did you mean {near[0]}? Unset it or correct its name")
    found = read_variables(SERVE_OPTIONS, environ)
    if str(found.get("port", "")).startswith("tcp://"):
        raise ConfigError(
            f"KERNELET_PORT is {found['port']!r}: Kubernetes sets it for a Service that is called kernelet; set "
            "enableServiceLinks: false in the pod, or give the Service another name"
        )
    return found
