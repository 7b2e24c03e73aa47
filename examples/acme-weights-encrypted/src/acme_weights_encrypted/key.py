"""The file that holds the key. What it says appears in no message."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from kernelet.errors import ConfigError

KEY_BYTES = 32
OPTION = "--set acme-weights-encrypted.key_file=FILE"
HOW = "make one with `kernelet encrypt key FILE`"


def read_key(path: Path) -> bytes:
    """The 32 bytes of a key file.

    Raises:
        ConfigError: it cannot be read, or is no key.
    """
    try:
        text = path.read_text(encoding="ascii").strip()
        key = bytes.fromhex(text)
    except OSError as error:
        raise ConfigError(f"the key file {path} cannot be read ({error.strerror}): {HOW}") from None
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigError(f"{path} is no key file, which holds {2 * KEY_BYTES} hexadecimal digits: {HOW}")
    return key


def write_key(path: Path) -> None:
    """Makes a key, in a file that only its owner may read.

    Raises:
        ConfigError: the file exists, or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ConfigError(f"{path} exists: what was encrypted with a key can only be read with it") from None
    except OSError as error:
        raise ConfigError(f"the key file {path} cannot be written ({error.strerror}): name another place") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(KEY_BYTES) + "\n")
