from __future__ import annotations

import inspect
import pickle

import pytest

from kernelet import errors

CLASSES = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, Exception)]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_one_base_for_all_and_a_docstring_each(cls):
    assert issubclass(cls, errors.KerneletError)
    assert cls.__doc__
    assert cls.__doc__.strip().endswith(".") or "Attributes:" in cls.__doc__


def test_what_a_caller_may_catch():
    assert issubclass(errors.ConfigError, ValueError)
    assert issubclass(errors.RequestError, ValueError)
    assert issubclass(errors.ParameterError, errors.RequestError)
    assert issubclass(errors.SelectionError, errors.PluginError)
    assert not issubclass(errors.EngineDeadError, errors.RequestError), "a dead engine is nobody's request's fault"


def test_a_parameter_is_named():
    error = errors.ParameterError("top_p", "must be in (0, 1]")
    assert error.parameter == "top_p"
    assert str(error) == "top_p: must be in (0, 1]"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.parameter, str(again)) == (errors.ParameterError, "top_p", str(error))


MADE = {
    errors.FailedParameterError: lambda: errors.FailedParameterError("json", "it took too long"),
    errors.MalformedConstraintError: lambda: errors.MalformedConstraintError("json", "is no type", "/type"),
    errors.UnenforcedConstraintError: lambda: errors.UnenforcedConstraintError("json", ["/a: no"], [("/a", "no")]),
}
"""Made from more than a message."""


@pytest.mark.parametrize("cls", MADE, ids=lambda cls: cls.__name__)
def test_errors_of_a_parameter_reach_other_processes(cls):
    error = MADE[cls]()
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.parameter, str(again)) == (cls, "json", str(error))
    assert str(error).startswith("json: ")


OTHERS = [cls for cls in CLASSES if cls is not errors.ParameterError and cls not in MADE]


@pytest.mark.parametrize("cls", OTHERS, ids=lambda cls: cls.__name__)
def test_errors_reach_other_processes(cls):
    again = pickle.loads(pickle.dumps(cls("what happened and what to do")))
    assert type(again) is cls
    assert str(again) == "what happened and what to do"
