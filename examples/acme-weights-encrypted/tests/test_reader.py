"""One clear error for each thing that can be wrong, and nothing secret in any of them."""

from __future__ import annotations

import traceback

import pytest
import torch
from acme_weights_encrypted.conformance import InMemory
from acme_weights_encrypted.file import EncryptedFile, write_file
from acme_weights_encrypted.key import read_key, write_key
from acme_weights_encrypted.reader import EncryptedReader

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError, WeightsError

TENSORS = {"a": torch.arange(60_000.0).view(300, 200), "b": torch.ones(3, dtype=torch.bfloat16)}


@pytest.fixture
def key_file(tmp_path):
    write_key(tmp_path / "model.key")
    return tmp_path / "model.key"


@pytest.fixture
def folder(tmp_path, key_file):
    folder = tmp_path / "model"
    folder.mkdir()
    write_file(folder / "one.encrypted", InMemory(TENSORS), read_key(key_file))
    return folder


def open_with(folder, key_file):
    values = {"key_file": None if key_file is None else str(key_file)}
    return EncryptedReader.open(folder, Settings(plugin="acme-weights-encrypted", values=values))


def test_rows_of_a_tensor(folder, key_file):
    reader = open_with(folder, key_file)
    for rows in (slice(None), slice(7, 9), slice(250, 1000), slice(9, 7), slice(None, None, 50), slice(-3, None)):
        assert torch.equal(reader.read("a", rows), TENSORS["a"][rows])
    assert reader.shape("a") == (300, 200)
    assert (reader.nbytes("a"), reader.nbytes("b"), reader.nbytes()) == (240_000, 6, 240_006)


def test_each_error_is_clear_and_tells_no_secret(folder, key_file, tmp_path):
    wrong = tmp_path / "other.key"
    write_key(wrong)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    raw = bytearray((folder / "one.encrypted").read_bytes())
    raw[-100] ^= 1
    (damaged / "one.encrypted").write_bytes(raw)
    cases = {
        r"the weights in .*model are encrypted: name the file.*key_file=FILE": (folder, None, ConfigError),
        r"key file .*nowhere cannot be read": (folder, tmp_path / "nowhere", ConfigError),
        r"one\.encrypted was encrypted with another key: .*key_file=FILE": (folder, wrong, ConfigError),
        r"damaged/one\.encrypted is damaged at [ab]: chunk 3 was changed; fetch the file again": (
            damaged,
            key_file,
            WeightsError,
        ),
    }
    secrets = [key_file.read_text().strip(), wrong.read_text().strip()]
    secrets += [repr(bytes.fromhex(secret)) for secret in secrets]
    for says, (where, key, kind) in cases.items():
        with pytest.raises(kind, match=says) as raised:
            read_all(open_with(where, key))
        told = "".join(traceback.format_exception(raised.value))
        assert not [secret for secret in secrets if secret in told]


def read_all(reader):
    for name in reader.names():
        reader.read(name)


def test_nothing_of_the_key_is_in_the_objects(folder, key_file):
    secret = read_key(key_file)
    reader = open_with(folder, key_file)
    file = EncryptedFile(folder / "one.encrypted", secret)
    for one in (reader, file, *vars(file).values()):
        assert secret.hex() not in repr(one)
        assert repr(secret) not in repr(one)


def test_a_file_holds_neither_names_nor_numbers_in_the_clear(folder):
    raw = (folder / "one.encrypted").read_bytes()
    assert b"float32" not in raw
    assert TENSORS["a"].numpy().tobytes()[4000:4064] not in raw


def test_a_dtype_that_the_format_does_not_hold(tmp_path, key_file):
    with pytest.raises(WeightsError, match=r"c is of torch\.complex64, which the format does not hold"):
        write_file(tmp_path / "c.encrypted", InMemory({"c": torch.zeros(2, dtype=torch.complex64)}), read_key(key_file))
