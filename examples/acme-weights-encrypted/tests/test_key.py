from __future__ import annotations

import stat

import pytest
from acme_weights_encrypted.key import read_key, write_key

from kernelet.errors import ConfigError


def test_a_key_is_random_and_its_owners_alone(tmp_path):
    for name in ("a", "b"):
        write_key(tmp_path / name)
    assert len(read_key(tmp_path / "a")) == 32
    assert read_key(tmp_path / "a") != read_key(tmp_path / "b")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_a_key_is_never_written_over(tmp_path):
    write_key(tmp_path / "a")
    before = read_key(tmp_path / "a")
    with pytest.raises(ConfigError, match="exists"):
        write_key(tmp_path / "a")
    assert read_key(tmp_path / "a") == before
    with pytest.raises(ConfigError, match="No such file"):
        write_key(tmp_path / "nowhere/a")


@pytest.mark.parametrize("text", ["", "ab" * 31, "ab" * 33, "xy" * 32, "ab" * 31 + "aé"])
def test_what_is_no_key_is_not_shown(tmp_path, text):
    (tmp_path / "key").write_text(text)
    with pytest.raises(ConfigError, match="is no key file, which holds 64 hexadecimal digits") as raised:
        read_key(tmp_path / "key")
    assert not text or text not in str(raised.value)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_a_missing_key_file(tmp_path):
    with pytest.raises(ConfigError, match=r"key cannot be read \(No such file.*kernelet encrypt key FILE"):
        read_key(tmp_path / "key")
