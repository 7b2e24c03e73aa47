"""The socket that clients connect to: bound before the model loads, so that a port in use is known at once."""

from __future__ import annotations

import errno
import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

from kernelet.errors import ConfigError
from kernelet.serve.options import ServeOptions


@dataclass(frozen=True, kw_only=True)
class Listener:
    """A bound socket. It listens once a server does: until then clients are refused.

    Attributes:
        address: Where clients find it: ``http://127.0.0.1:8000`` or ``unix:/run/kernelet.sock``.
        path: The file to remove at the end; None: there is none.
    """

    socket: socket.socket
    address: str
    path: Path | None = None

    def close(self) -> None:
        """Gives the address free. May be called twice."""
        self.socket.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def bind(options: ServeOptions) -> Listener:
    """Binds what the options say.

    Raises:
        ConfigError: the address is in use, not this machine's, or not allowed.
    """
    return bind_uds(Path(options.uds)) if options.uds else bind_port(options.host, options.port)


def bind_port(host: str, port: int) -> Listener:
    """A TCP socket."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise ConfigError(f"--host {host}: no such address ({error}): give an address of this machine") from error
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as error:
        made.close()
        raise ConfigError(why_not_bound(host, port, error)) from error
    shown, number = made.getsockname()[:2]
    return Listener(socket=made, address=f"http://{f'[{shown}]' if ':' in shown else shown}:{number}")


def why_not_bound(host: str, port: int, error: OSError) -> str:
    """The message for a port that cannot be had."""
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use: stop what uses it, or choose another one by --port"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--host {host} is no address of this machine: 0.0.0.0 or :: stand for all that it has"
    if error.errno in {errno.EACCES, errno.EPERM}:
        return f"port {port} needs privileges: choose one from 1024 on by --port"
    return f"{host}:{port} cannot be bound: {error.strerror or error}"


def bind_uds(path: Path) -> Listener:
    """A Unix domain socket; a file that a dead server left is replaced."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        remove_stale(path)
        made.bind(str(path))
    except OSError as error:
        made.close()
        reason = "its folder does not exist" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
        raise ConfigError(f"--uds {path} cannot be bound: {reason}") from error
    except ConfigError:
        made.close()
        raise
    return Listener(socket=made, address=f"unix:{path}", path=path)


def remove_stale(path: Path) -> None:
    """Removes a socket's file on which nobody listens.

    Raises:
        ConfigError: somebody does, or it is something else.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ConfigError(f"--uds {path} exists and is no socket: remove it, or name another file")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        else:
            raise ConfigError(f"--uds {path} is in use: stop what uses it, or name another file")
