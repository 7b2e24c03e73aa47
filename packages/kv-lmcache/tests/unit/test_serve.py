from __future__ import annotations

import http.server
import json
import threading

import pytest

from kernelet_kv_lmcache import serve


def status(pending, in_flight, ranks):
    stores = {"_default": {"pending_keys_count": pending, "in_flight_task_count": in_flight}}
    return {"storage_manager": {"store_controllers": stores}, "registered_non_cuda_instance_ids": ranks}


@pytest.mark.parametrize(
    "said, busy, busy_when_left",
    [
        (status(0, 0, []), False, False),
        (status(1, 0, []), True, True),
        (status(0, 1, []), True, True),
        (status(0, 0, [7]), True, False),
    ],
)
def test_busy(said, busy, busy_when_left):
    assert serve.busy(said, left=False) == busy
    assert serve.busy(said, left=True) == busy_when_left


@pytest.fixture
def server():
    """Says one status after the other, and the last one again and again."""
    said, asked = [], []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(said.pop(0) if len(said) > 1 else said[0]).encode())

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}/status", said, asked
        found.shutdown()
        thread.join()


def test_waits_until_files_are_written_and_ranks_have_left(server):
    address, said, asked = server
    said += [status(2, 0, [1]), status(0, 2, []), status(0, 0, [])]
    serve.wait_until_idle(address, 60, left=False)
    assert len(asked) == 3


def test_does_not_wait_for_ever(server):
    address, said, _ = server
    said.append(status(1, 0, []))
    serve.wait_until_idle(address, 0.1, left=False)
