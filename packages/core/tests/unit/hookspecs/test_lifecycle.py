from __future__ import annotations


def test_documented(domain):
    domain.check_documented()


def test_parameters(domain):
    assert domain.parameters() == {
        "kernelet_options": [],
        "kernelet_configure": ["config"],
        "kernelet_process_started": ["role", "rank"],
        "kernelet_process_stopped": ["role", "rank"],
        "kernelet_engine_started": [],
        "kernelet_engine_stopped": [],
        "kernelet_hookspecs": [],
    }


def test_returns(domain):
    assert domain.returns() == {
        "kernelet_options": "PluginOptions",
        "kernelet_configure": "Sequence[ConfigChange]",
        "kernelet_process_started": "None",
        "kernelet_process_stopped": "None",
        "kernelet_engine_started": "None",
        "kernelet_engine_stopped": "None",
        "kernelet_hookspecs": "Sequence[Any]",
    }
