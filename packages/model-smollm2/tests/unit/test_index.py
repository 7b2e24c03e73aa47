from __future__ import annotations

import base64

import pytest

from kernelet_model_smollm2.index import IndexFileError, download, find, request


@pytest.mark.parametrize("form", ["json", "html"])
def test_finds_and_downloads(index, release, tmp_path, form):
    pinned, wheel = release
    index.form = form
    path = download(index.address, pinned.distribution, pinned.wheel, tmp_path)
    assert path == tmp_path / pinned.wheel
    assert path.read_bytes() == wheel.read_bytes()


def test_address_has_no_fragment(index, release):
    address = find(index.address, release[0].distribution, release[0].wheel)
    assert address == index.address.removesuffix("simple") + f"files/{release[0].wheel}"


def test_login_becomes_a_header(index, release, tmp_path):
    address = index.address.replace("//", "//user:p%40ss@")
    find(address, release[0].distribution, release[0].wheel)
    assert index.requests == [("/simple/tiny-model/", "Basic " + base64.b64encode(b"user:p@ss").decode())]


def test_unlisted_file(index):
    with pytest.raises(IndexFileError, match=r"does not list other\.whl"):
        find(index.address, "tiny-model", "other.whl")


def test_unknown_distribution(index):
    with pytest.raises(IndexFileError, match="404"):
        find(index.address, "nobody", "nobody.whl")


def test_unreachable(tmp_path):
    # port 9 of this machine: nobody listens there
    with pytest.raises(IndexFileError, match=r"127\.0\.0\.1:9"):
        download("http://127.0.0.1:9/simple", "tiny-model", "x.whl", tmp_path)


def test_only_http():
    with pytest.raises(IndexFileError, match="PIP_INDEX_URL"):
        request("file:///srv/index")
