"""What ``jsonschema`` says, and whether it says anything: it runs in circles where a reference leads back to itself."""

from __future__ import annotations


def judged(validator, value) -> bool | None:
    """Whether a value is valid; None: nobody says."""
    try:
        return validator.is_valid(value)
    except RecursionError:
        return None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a recursion error inside of its tables, which are in Rust
            raise
        return None
