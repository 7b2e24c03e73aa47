from __future__ import annotations

from kernelet.request import limits


def test_limits_leave_room_for_what_the_common_apis_allow():
    # OpenAI's API: 4 stop strings, 128 answers, 300 biases; vLLM suites ask for a few hundred bad words.
    assert limits.MAX_STOP_STRINGS >= 4
    assert limits.MAX_N >= 128
    assert limits.MAX_LOGIT_BIAS >= 300
    assert limits.MAX_BAD_WORDS >= 300
    assert limits.MAX_TEMPERATURE >= 2.0


def test_ten_thousand_stop_strings_are_too_many():
    assert limits.MAX_STOP_STRINGS < 10_000


def test_a_seed_fits_63_bits():
    assert limits.MAX_SEED.bit_length() == 63
