from __future__ import annotations

import pytest

from kernelet.errors import PluginError
from kernelet.hookspecs import hookimpl, hookspec
from kernelet.kernel.host import PluginHost


class Plugin:
    def __init__(self, answer):
        self.answer = answer

    @hookimpl
    def kernelet_schedulers(self):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Last(Plugin):
    @hookimpl(trylast=True)
    def kernelet_schedulers(self):
        return self.answer


class First(Plugin):
    @hookimpl(tryfirst=True)
    def kernelet_schedulers(self):
        return self.answer


def test_the_specs_of_all_domains_are_known():
    hooks = PluginHost().hooks
    assert {"kernelet_platforms", "kernelet_ops", "kernelet_options", "kernelet_stat_loggers"} <= hooks
    assert len(hooks) == 31


def test_order_is_by_name_whatever_the_order_of_registration():
    host = PluginHost()
    for name, plugin in [("c", Plugin(3)), ("a", Last(1)), ("d", Plugin(4)), ("b", Plugin(2)), ("z", First(26))]:
        host.register(name, plugin)
    assert [(a.plugin, a.value) for a in host.call("kernelet_schedulers")] == [
        ("z", 26),
        ("b", 2),
        ("c", 3),
        ("d", 4),
        ("a", 1),
    ]
    assert [a.plugin for a in host.call("kernelet_schedulers", reverse=True)] == ["a", "d", "c", "b", "z"]


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1)])
def test_one_that_raises_does_not_take_the_others_results(error):
    host = PluginHost()
    for name, plugin in [("a", Plugin(1)), ("b", Plugin(error)), ("c", Plugin(3))]:
        host.register(name, plugin)
    answers = host.call("kernelet_schedulers")
    assert [a.value for a in answers] == [1, None, 3]
    assert [a.failure and a.failure.error for a in answers] == [None, error, None]


@pytest.mark.parametrize("value", [None, 0, "", ()])
def test_falsy_answers_count(value):
    host = PluginHost()
    host.register("a", Plugin(value))
    (answer,) = host.call("kernelet_schedulers")
    assert answer.value == value
    assert answer.failure is None


def test_fewer_arguments_are_fine():
    class Some:
        @hookimpl
        def kernelet_process_started(self, rank):
            return rank

    host = PluginHost()
    host.register("a", Some())
    assert [a.value for a in host.call("kernelet_process_started", role="worker", rank=7)] == [7]


def test_plugins_that_are_equal_or_have_no_hash_are_kept_apart():
    class Equal(Plugin):
        __hash__ = None

        def __eq__(self, other):
            return True

    host = PluginHost()
    host.register("a", Equal(1))
    host.register("b", Plugin(2))
    assert [a.value for a in host.call("kernelet_schedulers")] == [1, 2]


def test_two_plugins_may_share_a_function():
    shared = Plugin(7)
    host = PluginHost()
    host.register("a", shared)
    host.register("b", shared)
    assert [(a.plugin, a.value) for a in host.call("kernelet_schedulers")] == [("a", 7), ("b", 7)]


def test_a_wrong_plugin_is_not_registered_at_all():
    class Wrong(Plugin):
        @hookimpl
        def kernelet_nothing(self):
            pass

    host = PluginHost()
    with pytest.raises(PluginError, match="unknown hook kernelet_nothing"):
        host.register("a", Wrong(1))
    assert host.call("kernelet_schedulers") == []
    host.register("a", Plugin(1))  # the name is free


def test_an_optional_hook_may_be_unknown():
    class Optional(Plugin):
        @hookimpl(optionalhook=True)
        def kernelet_of_another_plugin(self):
            pass

    assert PluginHost().register("a", Optional(1)) == {"kernelet_schedulers", "kernelet_of_another_plugin"}


def test_another_function_name_may_implement_a_hook():
    class Renamed:
        @hookimpl(specname="kernelet_schedulers")
        def policies(self):
            return 5

    host = PluginHost()
    assert host.register("a", Renamed()) == {"kernelet_schedulers"}
    assert [a.value for a in host.call("kernelet_schedulers")] == [5]


def test_unregister():
    host = PluginHost()
    host.register("a", Plugin(1))
    host.unregister("a")
    host.unregister("never-there")
    assert host.call("kernelet_schedulers") == []


class Specs:
    @staticmethod
    @hookspec
    def kernelet_bells(count): ...


def test_new_specs():
    class Bells:
        @hookimpl
        def kernelet_bells(self, count):
            return "ding" * count

    host = PluginHost()
    assert host.add_specs(Specs) == {"kernelet_bells"}
    host.register("a", Bells())
    assert [a.value for a in host.call("kernelet_bells", count=2)] == ["dingding"]


def test_specs_that_exist_or_are_none():
    host = PluginHost()
    host.add_specs(Specs)
    with pytest.raises(PluginError, match="kernelet_bells exists already"):
        host.add_specs(Specs)
    with pytest.raises(PluginError, match="holds no function marked"):
        host.add_specs(object)
