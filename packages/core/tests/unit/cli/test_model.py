from __future__ import annotations

import json

from kernelet.cli.model import list_models
from kernelet.contracts.model import ModelSourceOffer
from kernelet.engine.bootstrap import boot_kernel
from kernelet.engine.options import EngineOptions
from kernelet.hookspecs import hookimpl


class Models:
    name = "models"

    @hookimpl
    def kernelet_model_sources(self):
        return (ModelSourceOffer(name="s", target="m:S", models={"b": "second", "a": "first"}),)


def test_models_by_name():
    kernel = boot_kernel(EngineOptions(plugins=("core",)), [Models()])
    assert list_models(kernel) == [
        {"name": "a", "summary": "first", "plugin": "models"},
        {"name": "b", "summary": "second", "plugin": "models"},
    ]


def test_list(kernelet):
    assert kernelet("model", "list", "--json") == (0, "[]\n", "")
    assert kernelet("model", "list")[1].split() == ["NAME", "SUMMARY", "PLUGIN"]


def test_architectures(kernelet):
    _, out, _ = kernelet("model", "architectures", "--json")
    (row,) = json.loads(out)
    assert (row["name"], row["plugin"]) == ("NullForCausalLM", "kernelet.testing.null:plugin")
    assert "NullForCausalLM" in kernelet("model", "architectures")[1]


def test_the_path_and_nothing_else(kernelet, null_folder):
    assert kernelet("model", "path", null_folder) == (0, null_folder + "\n", "")
    code, out, _ = kernelet("model", "path", null_folder, "--json")
    assert (code, json.loads(out)) == (0, {"name": null_folder, "path": null_folder})
    code, out, err = kernelet("model", "path", "/no/such")
    assert (code, out) == (1, "")
    assert "there is no model" in err
