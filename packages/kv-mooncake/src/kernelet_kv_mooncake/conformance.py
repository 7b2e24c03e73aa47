"""The suites of the test kit, on this package. Those of the connectors need Mooncake."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelet.contracts.kv import KVConnectorOffer
from kernelet.testing.kv_connector import KVConnectorCapabilities, KVConnectorSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageCapabilities, PackageSuite
from kernelet_kv_transfer.params import TO_DECODE

__all__ = ["TestKVMooncake", "TestKVMooncakeStore", "TestPackage"]

PLUGIN = "kernelet_kv_mooncake.plugin"
WHY = "Mooncake, or the libibverbs1 that it needs, is not installed"
CHUNK = 16


class TestPackage(PackageSuite):
    capabilities = PackageCapabilities(device_modules=frozenset({"mooncake"}))

    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-kv-mooncake"


class TestKVMooncake(KVConnectorSuite):
    # the protocol's own suite has all ranks and dtypes; Mooncake's engine sees bytes, and takes a second to end
    capabilities = KVConnectorCapabilities(
        keeps=False,
        producer_params={TO_DECODE: True},
        world_sizes=(2,),
        dtypes=(("float8_e4m3fn", "float32"),),
        examples=5,
    )

    @pytest.fixture
    def offered(self) -> Offered[KVConnectorOffer]:
        pytest.importorskip("mooncake.engine", reason=WHY, exc_type=ImportError)
        return find_offer(PLUGIN, KVConnectorOffer, "kv-mooncake")


class TestKVMooncakeStore(KVConnectorSuite):
    # of ranks and dtypes the most of both, as above: a client takes two seconds to end
    capabilities = KVConnectorCapabilities(
        chunk=CHUNK, shared=True, world_sizes=(2,), dtypes=(("float8_e4m3fn", "float32"),), examples=5
    )

    @pytest.fixture
    def offered(self) -> Iterator[Offered[KVConnectorOffer]]:
        pytest.importorskip("mooncake.store", reason=WHY, exc_type=ImportError)
        with master() as address:
            yield find_offer(
                PLUGIN, KVConnectorOffer, "kv-mooncake-store", master=address, chunk=CHUNK, segment_mib=32, local_mib=16
            )


@contextlib.contextmanager
def master() -> Iterator[str]:
    """A ``mooncake_master`` on this machine; gives its address."""
    port, metrics = _free_port(), _free_port()
    program = Path(sys.executable).with_name("mooncake_master")
    options = [f"-rpc_port={port}", f"-metrics_port={metrics}"]
    options += ["-rpc_address=127.0.0.1", "-metrics_host=127.0.0.1"]
    with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _wait_for(port: int) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), 5):
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
