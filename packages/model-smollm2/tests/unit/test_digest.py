from __future__ import annotations

from kernelet_model_smollm2.digest import digest


def test_digest_of_the_standard(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")  # the example of FIPS 180-4
    assert digest(tmp_path / "file") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
