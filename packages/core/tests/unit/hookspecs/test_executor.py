from __future__ import annotations


def test_documented(domain):
    domain.check_documented()


def test_parameters(domain):
    assert domain.parameters() == {
        "kernelet_executors": [],
        "kernelet_communicators": [],
        "kernelet_schedulers": [],
    }


def test_returns(domain):
    assert domain.returns() == {
        "kernelet_executors": "Sequence[ExecutorOffer]",
        "kernelet_communicators": "Sequence[CommunicatorOffer]",
        "kernelet_schedulers": "Sequence[SchedulerOffer]",
    }
