from __future__ import annotations

import pytest

from kernelet.contracts.executor import SchedulingPolicy
from kernelet.contracts.offer import Settings
from kernelet.errors import RequestError
from kernelet.request.status import RequestStatus
from kernelet.scheduler.policies import FCFSPolicy
from kernelet.scheduler.requests import RequestSet
from kernelet.testing.null.harness import null_request

CORE = Settings(plugin="core")


def test_life_of_a_request():
    requests = RequestSet(FCFSPolicy(CORE))
    first, second = requests.add(null_request("a", [1])), requests.add(null_request("b", [1]))
    assert list(requests.waiting) == list(requests) == [first, second]
    requests.start(first)
    assert first.status is RequestStatus.RUNNING
    assert (list(requests.running), list(requests.waiting)) == ([first], [second])
    requests.preempt(first)
    assert first.status is RequestStatus.PREEMPTED
    assert list(requests.waiting) == [first, second], "in its old place"
    requests.start(first)
    requests.end(first)
    requests.end(second)
    assert len(requests) == len(requests.running) == len(requests.waiting) == 0
    assert requests.get("a") is None
    assert second.status is RequestStatus.FINISHED


def test_id_in_use():
    requests = RequestSet(FCFSPolicy(CORE))
    first = requests.add(null_request("a", [1]))
    with pytest.raises(RequestError, match="'a' is in use"):
        requests.add(null_request("a", [2]))
    requests.end(first)
    assert requests.add(null_request("a", [2])).arrival_index == 1


class Capricious(SchedulingPolicy):
    """Answers otherwise each time, and refuses one request."""

    asked = 0

    def key(self, request):
        if request.request_id == "bad":
            raise ZeroDivisionError
        self.asked += 1
        return (float(-self.asked),)


def test_a_policy_is_asked_once():
    requests = RequestSet(Capricious(CORE))
    found = [requests.add(null_request(str(index), [1])) for index in range(3)]
    with pytest.raises(ZeroDivisionError):
        requests.add(null_request("bad", [1]))
    assert requests.get("bad") is None
    for request in found:
        requests.start(request)
        requests.end(request)
    assert len(requests) == 0


def test_who_waits_for_a_connector_stands_aside():
    requests = RequestSet(FCFSPolicy(CORE))
    first, second = requests.add(null_request("a", [1])), requests.add(null_request("b", [1]))
    requests.park(first)
    assert (list(requests.remote), list(requests.waiting)) == ([first], [second])
    assert first.status is RequestStatus.WAITING_FOR_REMOTE_KVS
    requests.start(second)
    assert requests.num_waiting == 1
    requests.unpark(first)
    assert (list(requests.remote), list(requests.waiting), first.status) == ([], [first], RequestStatus.WAITING)
    assert requests.behind(second, first) and not requests.behind(first, second)
    requests.park(first)
    requests.end(first)
    assert len(requests.remote) == 0
