from __future__ import annotations

from kernelet.contracts.offer import Settings
from kernelet.testing.communicator.calls import Call, expected, pack
from kernelet.testing.communicator.ranks import Answer, Group, ProcessRanks, ThreadRanks, attempt, free_address

REFERENCE = "kernelet.testing.communicator.reference:MeshCommunicator"
HANGS = "kernelet.testing.communicator.faults:Hangs"
CALL = Call(op="all_reduce")


def group(target, deadline=60.0, size=2):
    return Group(target=target, settings=Settings(plugin="x"), size=size, device="cpu", deadline=deadline)


def results(call, size=2):
    return [[[pack(tensor), pack(tensor)] for (tensor,) in [wanted]] for wanted in expected(call, size)]


def test_threads_bring_answers_by_rank():
    call = Call(op="reduce_scatter", shape=(3, 3))
    assert [answer.results for answer in ThreadRanks(group(REFERENCE, size=3)).run([call])] == results(call, 3)


def test_a_thread_that_hangs_has_no_answer():
    answers = ThreadRanks(group(HANGS, deadline=0.5)).run([Call(op="broadcast", source=1)])
    assert answers == [Answer(), Answer()]


def test_what_is_raised_is_told():
    answer = attempt(group("builtins:dict", size=1), 0, free_address(), [CALL])
    assert "TypeError" in answer.error
    ranks = ThreadRanks(group("kernelet.testing.communicator.faults:NotACommunicator"))
    assert all("is no Communicator" in answer.error for answer in ranks.run([CALL]))
    ranks.close()


def test_processes_are_spawned_again_after_one_that_hung():
    ranks = ProcessRanks(group(HANGS, deadline=60.0))
    try:
        assert [answer.results for answer in ranks.run([CALL])] == results(CALL)
        first = [process.pid for process, _ in ranks._running]
        assert [answer.results for answer in ranks.run([CALL])] == results(CALL)
        assert [process.pid for process, _ in ranks._running] == first
        object.__setattr__(ranks.group, "deadline", 1.0)
        assert ranks.run([Call(op="broadcast", source=1)]) == [Answer(), Answer()]
        assert ranks._running == []
    finally:
        ranks.close()


def test_a_process_that_cannot_import_says_why():
    ranks = ProcessRanks(group("no_such_module_of_a_vendor:X", size=1))
    (answer,) = ranks.run([CALL])
    assert "no_such_module_of_a_vendor" in answer.error
    assert ranks._running == []
