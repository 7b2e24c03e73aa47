from __future__ import annotations

import json

import pytest

from kernelet.errors import (
    ChatTemplateError,
    EngineDeadError,
    EngineDrainingError,
    FailedBusyError,
    FailedParameterError,
    ParameterError,
    PluginError,
    PromptError,
    RequestError,
    RequestFailedError,
    SandboxBusyError,
    SandboxTimeoutError,
)
from kernelet_server_openai.protocol.errors import ApiError, ErrorResponse, as_api_error


def test_the_body_has_the_shape_of_openai():
    error = ApiError(400, "top_p: wrong", param="top_p", code="bad")
    assert json.loads(error.body()) == {
        "error": {"message": "top_p: wrong", "type": "invalid_request_error", "param": "top_p", "code": "bad"}
    }
    assert ErrorResponse.model_validate_json(error.body()).error.param == "top_p"


@pytest.mark.parametrize(
    "status, kind", [(400, "invalid_request_error"), (429, "rate_limit_error"), (500, "server_error")]
)
def test_the_type_fits_the_status(status, kind):
    assert ApiError(status, "x").kind == kind


@pytest.mark.parametrize(
    "error, status, param",
    [
        (ParameterError("top_p", "got 7"), 400, "top_p"),
        (ParameterError("extra_args['x']", "wrong"), 400, "extra_args['x']"),
        (PromptError("empty"), 400, "prompt"),
        (ChatTemplateError("refused"), 400, "prompt"),
        (ChatTemplateError("tools: the model's own words"), 400, "tools"),
        (ChatTemplateError("chat_template_kwargs.x is not a variable of it"), 400, "chat_template_kwargs.x"),
        (ChatTemplateError("tools[0].function.parameters.a is nested"), 400, "tools[0].function.parameters.a"),
        (ChatTemplateError("continue_final_message: no text"), 400, "continue_final_message"),
        (ChatTemplateError("messages[0].x is nested"), 400, "prompt"),
        (ChatTemplateError("toolsmith refused"), 400, "prompt"),
        (RequestError("no"), 400, None),
        (SandboxTimeoutError("too long"), 400, None),
        (SandboxBusyError("later"), 503, None),
        (FailedBusyError("later"), 503, None),
        (RequestFailedError("a plugin raised"), 500, None),
        (FailedParameterError("structured_outputs", "too much"), 400, "structured_outputs"),
        (EngineDeadError("the engine stopped"), 503, None),
        (PluginError("broken"), 500, None),
        (KeyError("secret"), 500, None),
    ],
)
def test_errors_of_the_engine(error, status, param):
    found = as_api_error(error)
    assert (found.status, found.param) == (status, param)


def test_an_unforeseen_error_tells_nothing_of_the_inside():
    assert "secret" not in as_api_error(KeyError("secret")).message


def test_an_error_of_ours_stays_as_it_is():
    error = ApiError(404, "x")
    assert as_api_error(error) is error


def test_a_field_has_the_name_that_the_client_used():
    found = as_api_error(ParameterError("logprobs", "got -2"), {"logprobs": "top_logprobs"})
    assert (found.param, found.message) == ("top_logprobs", "top_logprobs: got -2")
    assert as_api_error(PromptError("empty"), prompt="messages").param == "messages"


def test_who_may_come_again_is_told_when():
    assert as_api_error(EngineDeadError("x")).headers["retry-after"]


def test_an_engine_that_drains_is_not_dead():
    found = as_api_error(EngineDrainingError("x"))
    assert (found.status, found.code) == (503, "draining")
    assert found.headers["retry-after"]
    assert as_api_error(EngineDeadError("x")).code == "engine_dead"
