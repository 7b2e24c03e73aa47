from __future__ import annotations

import msgspec
import pytest

from kernelet.config import PluginsConfig
from kernelet.kernel.doctor.selection import select

NULL = "kernelet.testing.null:plugin"


@pytest.fixture
def findings(job):
    """The answer, and level, message and fix of each finding; beside the plugin the core and the null platform run."""

    def run(source, *, platform=True, block=(), plugin=True):
        made = job("select", source, config=PluginsConfig(allow=("core",), block=block))
        imports = (NULL,) * platform + made.imports * plugin
        found = select(msgspec.structs.replace(made, imports=imports))
        return found, [(one.level, one.message, one.fix) for one in found.findings]

    return run


ATTENTION = """
@hookimpl
def kernelet_attention_backends():
    return [
        AttentionOffer(name=name, target="m:A", kinds=frozenset(kinds), head_sizes={sizes})
        for name, kinds in {names}.items()
    ]
"""


def messages(found, level):
    return [message for one, message, _ in found if one == level]


def test_nothing_is_missing_but_what_the_null_platform_does_without(findings):
    found, lines = findings("", plugin=False)
    assert (found.platforms, found.platform) == (("null",), "null")
    assert all("weight kernel" in line or "attention backend" in line for line in messages(lines, "failed"))


def test_what_to_install_where_nothing_is_offered(findings):
    _, lines = findings("", plugin=False)
    attention = next((message, fix) for _, message, fix in lines if "attention backend" in message)
    assert "layers of kind full" in attention[0]
    assert "kernelet-attention-NAME" in attention[1]
    assert "kernelet_attention_backends" in attention[1]


def test_without_a_platform(findings):
    found, lines = findings("", platform=False, plugin=False)
    assert (found.platform, found.platforms) == ("", ())
    wanted = {message: fix for level, message, fix in lines if level == "failed"}
    platform = next(fix for message, fix in wanted.items() if "platform" in message)
    assert "kernelet-platform-NAME" in platform
    assert "kernelet_platforms" in platform
    architecture = next(fix for message, fix in wanted.items() if "model architecture" in message)
    assert "kernelet_model_architectures" in architecture


def test_a_capability_that_a_list_left_out_names_the_plugin(findings):
    _, lines = findings("", platform=False, plugin=False, block=("core",))
    executor = next(message for _, message, _ in lines if "executor" in message)
    assert "core blocked: named in KERNELET_PLUGINS_BLOCK" in executor


def about_attention(failures):
    """Those whose first line says so; others list the plugins that are there."""
    return [message for message in failures if "attention" in message.partition("\n")[0]]


def test_equal_bests(findings):
    source = ATTENTION.format(names="{'a': ['full', 'sliding'], 'b': ['full', 'sliding']}", sizes="()")
    _, lines = findings(source)
    (full,) = about_attention(messages(lines, "failed"))
    assert "Several are equally good as attention backend for layers of kind full: a (" in full
    assert "--attention-backend full=NAME" in full
    (sliding,) = messages(lines, "warning")
    assert "kind sliding" in sliding


def test_an_attention_is_asked_for_a_size_that_it_takes(findings):
    source = ATTENTION.format(names="{'a': ['full']}", sizes="(80,)")
    assert not about_attention(messages(findings(source)[1], "failed"))


def test_what_offers_say_of_each_other(findings):
    source = """
@hookimpl
def kernelet_schedulers():
    return [
        SchedulerOffer(name="x", target="m:X", priority=-100, requires=("cache:nope",), conflicts=("executor:fcfs",)),
    ]
"""
    warnings = messages(findings(source)[1], "warning")
    assert warnings == [
        "executor:x requires cache:nope, which no plugin that runs offers: it cannot be selected",
        "executor:x does not work together with executor:fcfs (plugin core): name at most one",
    ]


def test_what_a_start_would_select_and_cannot_run_together(findings):
    source = """
@hookimpl
def kernelet_schedulers():
    return [SchedulerOffer(name="x", target="m:X", priority=9, requires=("cache:nope",))]
"""
    failed = messages(findings(source)[1], "failed")
    assert any("executor:x (plugin doctors_patient:plugin) requires cache:nope" in message for message in failed)


def test_a_finding_says_what_it_is_about(findings):
    found, _ = findings("", plugin=False)
    assert {one.about for one in found.findings} == {"selection"}
