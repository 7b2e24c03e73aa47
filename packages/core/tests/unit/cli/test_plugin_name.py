from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from kernelet.cli.plugin_name import LONGEST, names_of, other_kind
from kernelet.cli.usage import UsageError

KINDS = ("platform", "weight-kernel", "op")


@pytest.mark.parametrize(
    "kind, name, package, plugin, offer",
    [
        ("platform", "acme-kernelet-platform-npu", "acme_kernelet_platform_npu", "platform-npu", "npu"),
        ("platform", "acme-kernelet-npu", "acme_kernelet_npu", "platform-npu", "npu"),
        ("platform", "Acme.Platform_NPU", "acme_platform_npu", "platform-acme-npu", "acme-npu"),
        ("platform", "acme-npu", "acme_npu", "platform-acme-npu", "acme-npu"),
        ("platform", "acme-kernelet-platform", "acme_kernelet_platform", "platform-acme", "acme"),
        ("platform", "acme-kernelet", "acme_kernelet", "platform-acme", "acme"),
        ("weight-kernel", "acme-weight-kernel-fast", "acme_weight_kernel_fast", "weight-kernel-acme-fast", "acme-fast"),
        ("weight-kernel", "acme-weight-fast", "acme_weight_fast", "weight-kernel-acme-weight-fast", "acme-weight-fast"),
        ("op", "kernelet-acme-op", "kernelet_acme_op", "op-acme", "acme"),
        ("op", "x9", "x9", "op-x9", "x9"),
    ],
)
def test_names(kind, name, package, plugin, offer):
    names = names_of(kind, name, KINDS)
    assert names.distribution == canonicalize_name(name)
    assert (names.package, names.plugin, names.offer) == (package, plugin, offer)
    assert names.camel.isidentifier()


@pytest.mark.parametrize(
    "name, message",
    [
        ("", "cannot name a distribution"),
        ("-acme", "cannot name a distribution"),
        ("acme-", "cannot name a distribution"),
        ("acme npu", "cannot name a distribution"),
        ("acmé", "cannot name a distribution"),
        ("../acme", "cannot name a distribution"),
        ("acme..x", "with single"),
        ("acme-_x", "with single"),
        ("acme--x", "with single"),
        ("acme\n", "cannot name a distribution"),
        ("a" * (LONGEST + 1), f"has {LONGEST + 1} characters"),
        ("9acme", "starts with a digit"),
        ("lambda", "keyword of Python"),
        ("Json", "module of Python's own"),
        ("test", "'test', which tests have"),
        ("Tests", "'tests', which tests have"),
        ("kernelet", "own maintainers"),
        ("kernelet-weight-fast", "own maintainers"),
        ("Kernelet_Platform.npu", "own maintainers"),
        ("kernelet-models-x", "own maintainers"),
        ("weight-kernel", "says nothing but the kind"),
    ],
)
def test_refused(name, message):
    with pytest.raises(UsageError, match=message):
        names_of("weight-kernel", name, KINDS)


@pytest.mark.parametrize(
    "kind, name, other",
    [
        ("op", "acme-kernelet-platform-board", "platform"),
        ("platform", "acme-weight-kernel-fast", "weight-kernel"),
        ("platform", "acme-weight-fast", None),
        ("platform", "acme-op-platform", None),
        ("platform", "acme-board", None),
        ("weight-kernel", "acme-platform-op", "platform"),
    ],
)
def test_a_name_that_speaks_of_another_kind(kind, name, other):
    assert other_kind(kind, names_of(kind, name, KINDS), KINDS) == other


@given(
    kind=st.sampled_from(KINDS),
    name=st.from_regex(r"[a-z]([a-z0-9.-]|(kernelet)|(platform)|(op)){0,12}", fullmatch=True),
)
def test_what_is_not_refused_can_be_used(kind, name):
    try:
        names = names_of(kind, name, KINDS)
    except UsageError:
        return
    assert names.package.isidentifier()
    assert not keyword.iskeyword(names.package)
    assert names.plugin.startswith(f"{kind}-")
    assert canonicalize_name(names.offer, validate=True) == names.offer
    assert set(names.offer.split("-")) <= set(names.distribution.split("-"))
