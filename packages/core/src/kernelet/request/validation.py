"""Checks a request's sampling parameters before anything runs: one error that names the field, or clean values."""

from __future__ import annotations

import msgspec

from kernelet.contracts.sampling import SamplingParams
from kernelet.errors import ParameterError
from kernelet.request.extra_args import Validators, check_extra_args
from kernelet.request.fields import SAMPLING_FIELDS
from kernelet.request.values import shown


def validate_sampling_params(params: object, vocab_size: int, plugins: Validators | None = None) -> SamplingParams:
    """The same parameters in one form: tuples, Python's own numbers, 0 for "all" in ``top_k``.

    Args:
        params: What the user gave.
        vocab_size: Ids must be below it.
        plugins: Validators of ``extra_args``, by the name of each active plugin that takes some.

    Raises:
        ParameterError: naming the field, what came and what is allowed.
    """
    if not isinstance(params, SamplingParams):
        raise ParameterError("sampling_params", f"got {shown(params)}, expected SamplingParams")
    values = {name: check(name, getattr(params, name), vocab_size) for name, check in SAMPLING_FIELDS.items()}
    values["extra_args"] = check_extra_args(params.extra_args, plugins or {})
    checked = msgspec.structs.replace(params, **values)
    check_together(checked)
    return checked


def check_together(params: SamplingParams) -> None:
    """What two fields must agree on.

    Raises:
        ParameterError: naming the field to change.
    """
    if params.max_tokens is not None and params.min_tokens > params.max_tokens:
        raise ParameterError("min_tokens", f"got {params.min_tokens}, which is beyond max_tokens {params.max_tokens}")
    if params.stop and not params.detokenize:
        raise ParameterError("stop", "stop strings are found in text: set detokenize=True, or use stop_token_ids")
    banned = set(params.stop_token_ids)
    if params.min_tokens and params.allowed_token_ids is not None and banned.issuperset(params.allowed_token_ids):
        raise ParameterError(
            "min_tokens", "every one of allowed_token_ids stops the text, so nothing can be chosen before min_tokens"
        )
