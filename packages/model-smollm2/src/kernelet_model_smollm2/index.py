"""Finds and downloads one file of a package index over its simple API (PEP 503 and PEP 691), without pip."""

from __future__ import annotations

import base64
import json
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import URLError
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from kernelet_model_smollm2.progress import bar

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
TIMEOUT = 60.0
CHUNK = 1 << 20


class IndexFileError(Exception):
    """The index cannot be reached or does not have the file."""


class _Links(HTMLParser):
    """Collects the addresses of a PEP 503 page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links += [value for key, value in attrs if key == "href" and value]


def request(address: str, accept: str = "*/*") -> Request:
    """A GET; a user name and password in the address become a header, as pip does it.

    Raises:
        IndexFileError: if the address is not one of http or https.
    """
    parts = urlsplit(address)
    if parts.scheme not in {"https", "http"}:
        raise IndexFileError(
            f"the package index {address!r} is not an http(s) address; set PIP_INDEX_URL or install pip"
        )
    headers = {"Accept": accept, "User-Agent": "kernelet-model-smollm2"}
    login, _, host = parts.netloc.rpartition("@")
    if login:
        headers["Authorization"] = "Basic " + base64.b64encode(unquote(login).encode()).decode()
    return Request(urlunsplit(parts._replace(netloc=host)), headers=headers)  # noqa: S310 - the scheme was checked


def find(index: str, distribution: str, filename: str) -> str:
    """Address of ``filename`` among the files of ``distribution``.

    Args:
        index: Base address of the simple API, without a slash at its end.
        distribution: Normalized name.
        filename: Name of the wheel.

    Raises:
        IndexFileError: if the index cannot be reached or does not list the file.
    """
    page = f"{index}/{distribution}/"
    try:
        with urlopen(request(page, ACCEPT), timeout=TIMEOUT) as response:  # noqa: S310
            kind = response.headers.get_content_type()
            body = response.read().decode()
            page = str(response.geturl())
    except (URLError, OSError) as error:
        raise IndexFileError(f"{page}: {error}") from error
    if kind.endswith("json"):
        links: list[str] = [file["url"] for file in json.loads(body)["files"]]
    else:
        parser = _Links()
        parser.feed(body)
        links = parser.links
    for link in links:
        address = urljoin(page, link)
        if unquote(urlsplit(address).path).rpartition("/")[2] == filename:
            return address.partition("#")[0]
    raise IndexFileError(f"{page} does not list {filename}")


def download(index: str, distribution: str, filename: str, folder: Path) -> Path:
    """Downloads the file into ``folder`` and returns its path.

    Raises:
        IndexFileError: as ``find``, or if the transfer breaks.
    """
    address = find(index, distribution, filename)
    target = folder / filename
    try:
        with urlopen(request(address), timeout=TIMEOUT) as response, target.open("wb") as file:  # noqa: S310
            size = response.headers.get("Content-Length")
            with bar(f"Downloading {filename}", int(size) if size else None) as advance:
                while chunk := response.read(CHUNK):
                    file.write(chunk)
                    advance(len(chunk))
    except (URLError, OSError) as error:
        raise IndexFileError(f"{address}: {error}") from error
    return target
