from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from kernelet.testing.weight_format.files import bytes_read, damages, files_of, matching, open_files, spread

DATA = bytes(range(256)) * 4


def test_every_damage_is_one():
    results = [damage.of(DATA) for damage in damages(changed=True)]
    assert len(set(results)) == len(results) == 1 + len(damages(changed=False))
    assert DATA not in results
    assert sum(a != b for a, b in zip(results[-1], DATA, strict=True)) == 1


def test_spread_gives_each_file_a_stem(tmp_path):
    def write(folder, tensors):
        (folder / "model.x").write_text(str(tensors))

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    spread(write, tmp_path / "a", tmp_path / "b", 3, {"w": 1})
    assert files_of(tmp_path) == [tmp_path / "b" / "part-03.x"] == matching(tmp_path / "b", ["*.x", "part*"])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the system does not tell")
def test_reading_and_holding_is_seen(tmp_path):
    file = tmp_path / "data"
    file.write_bytes(b"x" * (1 << 22))
    before = bytes_read()
    assert open_files(tmp_path) == []
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert mapped[::4096] == b"x" * 1024
        assert bytes_read() - before > 1 << 21
        assert len(open_files(tmp_path)) >= 2
    assert open_files(tmp_path) == []
    before = bytes_read()
    assert len(file.read_bytes()) == 1 << 22
    assert bytes_read() - before >= 1 << 22
