from __future__ import annotations

from kv_world import KVWorld

from kernelet.scheduler.kv.fences import Fences


def test_blocks_are_nobodys_until_the_step_that_cancels_has_ended():
    world = KVWorld(caching=False)
    world.add("a", 6)
    world.step()
    request = next(iter(world.scheduler._requests.running))
    fences = Fences(world.cache)
    fences.raise_("c", 7, world.cache.hold(request))
    world.cache.forget(request)
    assert (fences.pending, fences.holding, world.num_free) == (True, True, [98])
    assert fences.send(4) == {"c": [7]}
    assert fences.send(5) == {}
    fences.ended(3)
    assert (fences.pending, fences.holding, world.num_free) == (False, True, [98])
    fences.ended(4)
    assert (fences.holding, world.num_free) == (False, [100])
    world.cache.check()
