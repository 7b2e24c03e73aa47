from __future__ import annotations

from kernelet_router_prefix.fleet import Fleet
from kernelet_router_prefix.metrics import metrics_text
from kernelet_router_prefix.settings import RouterSettings


def test_a_line_an_engine():
    fleet = Fleet(RouterSettings(engines={"prefill": ("http://a",), "decode": ("http://b",)}))
    fleet.engines[0].up = True
    with fleet.engines[0].working():
        lines = metrics_text(fleet).splitlines()
    labels = '{engine="http://a",role="prefill"}'
    assert f"kernelet_router_engine_up{labels} 1" in lines
    assert f"kernelet_router_open_requests{labels} 1" in lines
    assert f"kernelet_router_requests_total{labels} 1" in lines
    assert 'kernelet_router_engine_up{engine="http://b",role="decode"} 0' in lines
    assert "# TYPE kernelet_router_requests_total counter" in lines
