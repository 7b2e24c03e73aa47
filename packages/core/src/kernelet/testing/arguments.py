"""``validate_params``: what a plugin takes of a request's ``extra_args``, held to what its author says."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelet.errors import ParameterError
from kernelet.testing.verdict import ConformanceError, check

Arguments = Mapping[str, Any]
"""``extra_args[plugin]`` of one request."""

UNKNOWN = "no_such_argument"
NUMBERS = (-1, 0, 2**70, 0.5, float("nan"), float("inf"), float("-inf"))
STRANGE: tuple[Any, ...] = (None, "", "?", *NUMBERS, True, [], ["?"], {}, {"?": None})
"""What clients send by mistake."""


def check_validator(
    validate: Callable[[Arguments], None], accepts: Sequence[Arguments], refuses: Sequence[tuple[str, Arguments]]
) -> None:
    """Holds a check of arguments to examples, and to anything else that clients may send.

    Args:
        validate: ``validate_params`` of the class.
        accepts: Arguments that it takes.
        refuses: The name of an argument, and arguments that are refused for it.

    Raises:
        ConformanceError: saying which example it judged otherwise.
    """
    for arguments in accepts:
        error = refusal(validate, arguments)
        check(error is None, f"validate_params() must take {arguments!r}, which is an argument set that works: {error}")
        more = {**arguments, UNKNOWN: 1}
        error = refusal(validate, more)
        check(
            error is not None and UNKNOWN in str(error),
            "validate_params() must refuse an argument that it does not know, and name it: none is ever ignored",
        )
        for name in arguments:
            for value in STRANGE:
                refusal(validate, {**arguments, name: value})
    for name, arguments in refuses:
        error = refusal(validate, arguments)
        check(error is not None, f"validate_params() must refuse {arguments!r}")
        assert error is not None
        check(
            error.parameter.startswith(name),
            f"the ParameterError of validate_params() must name the argument {name!r}, not {error.parameter!r}",
        )


def refusal(validate: Callable[[Arguments], object], arguments: Arguments) -> ParameterError | None:
    """Why arguments are refused; None: they are taken.

    Raises:
        ConformanceError: it raised something else, returned something, or changed the arguments.
    """
    given = copy.deepcopy(dict(arguments))
    before = repr(given)
    try:
        returned = validate(given)
    except ParameterError as error:
        return error
    except Exception as error:
        raise ConformanceError(
            f"validate_params() must refuse with a ParameterError, whatever a client sends; it raised {error!r}"
        ) from error
    check(returned is None, "validate_params() must refuse by raising ParameterError, not by what it returns")
    check(repr(given) == before, "validate_params() must not change the arguments")
    return None
