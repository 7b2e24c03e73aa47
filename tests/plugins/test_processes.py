"""Every process runs the same plugins, however it was started, and proves it."""

from __future__ import annotations

import multiprocessing
import time

import pytest
from planted import Planted, Site, available, child, good, offers_as_text, platform

from kernelet.config import PluginsConfig
from kernelet.errors import ManifestMismatchError, PluginError
from kernelet.hookspecs import hookimpl
from kernelet.kernel import Kernel, Manifest

COUNTING = """
CALLS = []


@hookimpl
def kernelet_schedulers():
    CALLS.append(1)
    return (SchedulerOffer(name="counting", target="planted.policies:Policy", priority=-100),)
"""


@pytest.fixture
def parent(site):
    site.install(good("one"), Planted("counting", COUNTING), platform("cpu", available(0)))
    return Kernel.boot(PluginsConfig(), search_path=site.search_path)


def test_hooks_called_twice_return_equal_offers(parent, site):
    again = Kernel.boot(PluginsConfig(), search_path=site.search_path)
    assert offers_as_text(again) == offers_as_text(parent)
    assert again.manifest.digest == parent.manifest.digest
    import planted_kernelet_counting

    assert len(planted_kernelet_counting.CALLS) == 2


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")  # from Python 3.12 on
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_hooks_called_in_another_process_return_equal_offers(parent, site, method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        digest, offers = pool.apply(child, (str(site.folder), parent.manifest.encode()))
    assert digest == parent.manifest.digest
    assert offers == offers_as_text(parent)
    assert set(offers) == {"core", "one", "counting", "platform-cpu"}


def test_two_kernels_of_a_process_may_differ(site):
    site.install(good("one"), good("two"))
    first = Kernel.boot(PluginsConfig(allow=("one",)), search_path=site.search_path)
    second = Kernel.boot(PluginsConfig(allow=("two",)), search_path=site.search_path)
    assert set(offers_as_text(first)) == {"core", "one"}
    assert set(offers_as_text(second)) == {"core", "two"}


def test_a_child_loads_exactly_the_manifest(site):
    site.install(good("one"), good("two"))
    parent = Kernel.boot(PluginsConfig(allow=("one",)), search_path=site.search_path)
    here = Kernel.from_manifest(parent.manifest, PluginsConfig(), search_path=site.search_path)
    assert set(offers_as_text(here)) == {"core", "one"}


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A second folder, as another host has it."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return Site(folder)


def test_the_same_plugins_in_another_folder_are_the_same(parent, site, elsewhere):
    elsewhere.install(good("one"), Planted("counting", COUNTING), platform("cpu", available(0)))
    here = Kernel.from_manifest(parent.manifest, PluginsConfig(), search_path=elsewhere.search_path)
    assert here.manifest.digest == parent.manifest.digest
    assert {e.path for e in here.manifest.plugins} != {e.path for e in parent.manifest.plugins}


@pytest.mark.parametrize(
    "other, message",
    [
        (good("one", version="1.1"), "one: version is '1.1' in this worker process .*, '1.0' in its parent"),
        (good("one", source=good("one").source + "\n# changed\n"), "one: its files differ"),
    ],
    ids=["version", "content"],
)
def test_a_difference_stops_the_child_and_names_both_sides(site, elsewhere, other, message):
    site.install(good("one"))
    elsewhere.install(other)
    parent = Kernel.boot(PluginsConfig(), search_path=site.search_path)
    with pytest.raises(ManifestMismatchError, match=message) as caught:
        Kernel.from_manifest(parent.manifest, PluginsConfig(), search_path=elsewhere.search_path)
    assert str(site.folder) in str(caught.value)
    assert str(elsewhere.folder) in str(caught.value)


def test_a_plugin_that_the_child_lacks(parent, elsewhere):
    with pytest.raises(ManifestMismatchError, match="lacks plugins that its parent runs:\n  counting"):
        Kernel.from_manifest(parent.manifest, PluginsConfig(), search_path=elsewhere.search_path)


def test_a_plugin_that_fails_in_the_child_only(parent, site, monkeypatch):
    import planted_kernelet_one

    def fails():
        raise OSError("only here")

    monkeypatch.setattr(planted_kernelet_one, "kernelet_schedulers", hookimpl(fails))
    with pytest.raises(PluginError, match="only here"):
        Kernel.from_manifest(parent.manifest, PluginsConfig(), search_path=site.search_path)


class Handed:
    name = "handed"

    @hookimpl
    def kernelet_engine_started(self):
        pass


def test_an_object_cannot_go_to_another_process(site):
    parent = Kernel.boot(PluginsConfig(allow=()), plugins=[Handed()], search_path=site.search_path)
    with pytest.raises(PluginError, match=r"objects of the parent process.*import strings"):
        Kernel.from_manifest(parent.manifest, PluginsConfig(), search_path=site.search_path)


def test_an_import_string_can(site):
    site.install(good("one"))
    parent = Kernel.boot(PluginsConfig(allow=()), plugins=["planted_for_test:Plugin"] if _write(site) else [])
    manifest = Manifest.decode(parent.manifest.encode())
    here = Kernel.from_manifest(manifest, PluginsConfig(), search_path=site.search_path)
    assert offers_as_text(here) == offers_as_text(parent)
    assert "planted_for_test:Plugin" in offers_as_text(here)


def _write(site):
    source = "from planted import HEADER\nexec(HEADER)\n\n\nclass Plugin:\n"
    source += "    @hookimpl\n    def kernelet_schedulers(self):\n"
    source += '        return (SchedulerOffer(name="mine", target="a:B", priority=-100),)\n'
    (site.folder / "planted_for_test.py").write_text(source)
    return True


def test_thirty_plugins_are_cheap(site):
    site.install(*(good(f"plugin-{index}") for index in range(30)))
    Kernel.boot(PluginsConfig(), search_path=site.search_path)  # imports are paid by this one
    started = time.process_time()
    kernel = Kernel.boot(PluginsConfig(), search_path=site.search_path)
    elapsed = time.process_time() - started
    assert len(offers_as_text(kernel)) == 31
    assert elapsed < 0.5, f"{elapsed:.3f} s; it takes about 0.05 s"


def test_discovery_imports_nothing(site):
    from kernelet.kernel.discovery import discover

    plugins = [good(f"plugin-{index}") for index in range(30)]
    site.install(*plugins)
    assert len(discover(site.search_path).candidates) == 30
    assert not any(site.imported(plugin) for plugin in plugins)


def test_a_plugin_adds_a_domain(site):
    domain = """
class Specs:
    @staticmethod
    @hookspec
    def kernelet_bells():
        \"\"\"Offers bells.\"\"\"


@hookimpl
def kernelet_hookspecs():
    return (Specs,)
"""
    user = "\n@hookimpl\ndef kernelet_bells():\n    return ('ding',)\n"
    site.install(Planted("a-user", user), Planted("z-domain", domain))
    kernel = Kernel.boot(PluginsConfig(), search_path=site.search_path)
    assert {r.name: str(r.state) for r in kernel.reports} == {
        "core": "active",
        "a-user": "active",
        "z-domain": "active",
    }
    assert [answer.value for answer in kernel.hooks.extra("kernelet_bells")] == [("ding",)]


def test_a_domain_goes_with_the_plugin_that_fails(site):
    domain = """
class Specs:
    @staticmethod
    @hookspec
    def kernelet_bells():
        \"\"\"Offers bells.\"\"\"


@hookimpl
def kernelet_hookspecs():
    return (Specs,)


@hookimpl
def kernelet_schedulers():
    raise OSError("late")
"""
    user = "\n@hookimpl\ndef kernelet_bells():\n    return ('ding',)\n"
    site.install(Planted("a-user", user), Planted("z-domain", domain), good("good"))
    kernel = Kernel.boot(PluginsConfig(), search_path=site.search_path)
    reports = {r.name: r for r in kernel.reports}
    assert reports["z-domain"].reason == "OSError: late"
    assert "unknown hook kernelet_bells" in reports["a-user"].reason
    assert reports["good"].state == "active"
