from __future__ import annotations

import pytest

from kernelet.errors import TokenizerError
from kernelet.text.folder import read_json


def test_missing_file_is_empty(tmp_path):
    assert read_json(tmp_path / "no.json") == {}


def test_reads_an_object(tmp_path):
    (tmp_path / "a.json").write_text('{"é": 1}', encoding="utf-8")
    assert read_json(tmp_path / "a.json") == {"é": 1}


@pytest.mark.parametrize(
    "content, problem", [(b"{", "not valid JSON"), (b"[1]", "not list"), (b"\xff{}", "not valid JSON")]
)
def test_damaged_file(tmp_path, content, problem):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(TokenizerError, match=rf"a\.json.*{problem}.*write the file again"):
        read_json(tmp_path / "a.json")
