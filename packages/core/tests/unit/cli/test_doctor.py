from __future__ import annotations

import json

import pytest

from kernelet.cli.doctor import costs, counts, finding_line, print_checkup
from kernelet.kernel.doctor.checkup import Checkup, PluginCheckup, TargetCheckup
from kernelet.kernel.doctor.conformance import Failed, Verdict
from kernelet.kernel.doctor.messages import Check, Cost, Finding

NULL = "kernelet.testing.null:plugin"


def test_the_object(kernelet):
    code, out, err = kernelet("plugins", "doctor", NULL, "--json")
    assert err == ""
    found = json.loads(out)
    assert code == (0 if found["ok"] else 1)
    assert set(found) == {"ok", "platform", "plugins", "findings", "environment"}
    assert found["platform"] == "null"
    (plugin,) = found["plugins"]
    assert plugin["report"]["name"] == NULL
    assert plugin["cost"]["seconds"] > 0
    assert {target["target"] for target in plugin["targets"]} >= {"kernelet.testing.null.worker:NullWorker"}
    # the null platform computes without kernels and attention
    assert all(
        "weight kernel" in f["message"] or "attention" in f["message"]
        for f in found["findings"]
        if f["level"] == "failed"
    )


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["nope"], 1, "no plugin is called 'nope'"),
        ([NULL, "--timeout", "0"], 2, "--timeout 0.0: expected more than 0 seconds"),
        ([NULL, "--timeout", "nan"], 2, "--timeout nan: expected more than 0 seconds"),
        ([NULL, "--set", "nobody.key=1"], 1, "no plugin has this name"),
        (["--plugins", "nope"], 1, "'nope'"),
    ],
)
def test_what_cannot_be_examined(kernelet, arguments, code, message):
    found, out, err = kernelet("plugins", "doctor", *arguments)
    assert (found, out) == (code, "")
    assert message in err


CHECKUP = Checkup(
    ok=False,
    platform="cpu",
    plugins=[
        PluginCheckup(
            report={"name": "p", "distribution": "d", "version": "1.0", "state": "active"},
            cost=Cost(seconds=0.125, bytes=3 << 20),
            checks=[Check(what="a"), Check(what="b", result="warning")],
            targets=[
                TargetCheckup(
                    target="m:A",
                    uses=["op:a target", "op:b target"],
                    cost=None,
                    checks=[Check(what="a", result="failed")],
                )
            ],
            conformance=[
                Verdict(plugin="p", module="d.conformance", passed=7, failed=[Failed(test="t", message="it must")])
            ],
        )
    ],
    findings=[
        Finding(level="failed", about="p", message="it must", fix="do it"),
        Finding(level="note", about="p", message="n"),
    ],
    environment={"core": "kernelet-core 1.0"},
)


def test_the_tables(capsys):
    print_checkup(CHECKUP)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "p d 1.0 active 0.12 s 3.0 MiB 1 ok, 1 warning" in lines
    assert "p m:A op:a, ... (2) - - 1 failed" in lines
    assert "p d.conformance 7 1 0" in lines
    assert "core: kernelet-core 1.0" in lines
    assert "selected: platform cpu" in lines
    assert lines[-3:] == ["failed: p: it must. To do: do it", "note: p: n", "1 failed"]


def test_pieces():
    assert costs(None) == ("-", "-")
    assert counts([]) == "-"
    assert finding_line(Finding(level="warning", about="p", message="m")) == "warning: p: m"


def test_without_failures_all_is_well(capsys):
    import msgspec

    print_checkup(msgspec.structs.replace(CHECKUP, ok=True, findings=[], plugins=[]))
    assert capsys.readouterr().out.endswith("\nall is well\n")
