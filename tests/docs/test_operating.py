"""docs/operating.md: its configuration is taken, its manifests have the probes and times that it speaks of."""

from __future__ import annotations

import re
import tomllib

import yaml
from doc_examples import blocks
from workspace import ROOT

from kernelet.engine.option_sources import resolve_options
from kernelet.serve.options import ServeOptions, resolve_serve_options

PAGE = ROOT / "docs/operating.md"


def block(language, title=""):
    return next(one.text for one in blocks(PAGE) if one.language == language and one.title == title)


def test_the_file_is_taken(tmp_path):
    file = tmp_path / "kernelet.toml"
    file.write_text(block("toml"))
    said = tomllib.loads(block("toml"))
    serving, engine = resolve_serve_options({}, file, environ={}), resolve_options({}, file, environ={})
    assert serving.options.served_model_name == ("assistant",)
    assert {name for name, source in serving.sources.items() if source != "default"} == said["serve"].keys()
    assert {name for name, source in engine.sources.items() if source != "default"} == said.keys() - {"serve"}


def test_a_pod_has_time_to_end_and_probes_that_there_are():
    deployment, service = yaml.safe_load_all(block("yaml", "kernelet.yaml"))
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    variables = {one["name"]: one["value"] for one in container["env"]}
    options = resolve_serve_options({}, environ=variables).options
    sleep = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert sleep + options.shutdown_timeout < pod["terminationGracePeriodSeconds"]
    assert pod["enableServiceLinks"] is False
    paths = {name: container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    assert paths == {"startup": "/ready", "liveness": "/live", "readiness": "/ready"}
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]


def test_numbers_of_the_page_are_the_programs():
    text = PAGE.read_text(encoding="utf-8")
    assert f"`--shutdown-timeout` seconds ({ServeOptions().shutdown_timeout:g})" in text
    assert f"`http://{ServeOptions().host}:{ServeOptions().port}`" in text
    assert re.search(r'ENTRYPOINT \["kernelet", "serve"\]', block("text", "Dockerfile"))
