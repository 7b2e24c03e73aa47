from __future__ import annotations

import pytest

from kernelet.contracts.op import DENSE, OpOffer, Support, WeightKernelOffer
from kernelet.contracts.platform import Capabilities
from kernelet.contracts.plugins import Owned
from kernelet.errors import ConfigError, SelectionError
from kernelet.kernel.allow import AllowList
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.kinds import kind_of
from kernelet.kernel.record import Record
from kernelet.kernel.select.ops import Friends, check_options, friends_of, select_op, select_weight_kernel
from kernelet.kernel.select.pick import Request

CAPABILITIES = Capabilities(device_type="x", dtypes=("float32",), memory_bytes=1, features=frozenset({"avx"}))
FRIENDS = Friends(own=frozenset({"platform", "shared"}), invited=frozenset({"guest"}))


def record(name, distribution=None, requires=()):
    candidate = Candidate(
        name=name, entry_point="m", distribution=name if distribution is None else distribution, requirements=requires
    )
    return Record(candidate=candidate, plugin=object())


def test_friends():
    records = [
        record("core", "kernelet-core"),
        record("platform", "My_Platform", ("kernelet-core>=1", "Shared.Dist", "for-tests; extra == 'test'")),
        record("second-of-the-distribution", "my-platform"),
        record("shared", "shared-dist", ("deeper",)),
        record("deeper"),
        record("for-tests"),
        record("stranger"),
        record("named"),
        record("handed", ""),
    ]
    friends = friends_of("platform", records, AllowList(named=frozenset({"named"})))
    assert friends.own == {r.name for r in records} - {"stranger", "for-tests", "named", "handed"}
    assert friends.invited == {"named", "handed"}
    assert "handed" in friends
    assert "deeper" in friends
    assert "stranger" not in friends


def test_a_named_one_of_the_platforms_packages_is_no_stranger():
    friends = friends_of("p", [record("p"), record("core", "kernelet-core")], AllowList(named=frozenset({"p"})))
    assert friends == Friends(own=frozenset({"p", "core"}))


def test_friends_of_a_platform_that_was_handed_over():
    friends = friends_of("p", [record("p", ""), record("core", "kernelet-core"), record("x")], AllowList())
    assert friends.own == {"p", "core"}


def op(name, plugin="platform", **fields):
    return Owned(offer=OpOffer(**({"name": name, "target": "m:f", "op": "norm"} | fields)), plugin=plugin)


def choose_op(*offers, dtype="float32"):
    request = Request(kind=kind_of(OpOffer), purpose="norm")
    return select_op(request, offers, "norm", dtype, CAPABILITIES, "platform", FRIENDS)


def test_op_priority():
    assert choose_op(op("a"), op("b", priority=1), op("c", op="rope", priority=9)).chosen.offer.name == "b"


def test_the_platforms_own_goes_before_priority():
    choice = choose_op(op("own", priority=-1), op("shared", "shared", priority=9))
    assert choice.chosen.offer.name == "own"


def test_a_named_strangers_goes_before_the_platforms_own():
    choice = choose_op(op("own", priority=9), op("theirs", "guest", priority=-1))
    assert choice.chosen.offer.name == "theirs"
    assert "own" in choice.refused
    assert choice.invited
    assert not choose_op(op("own"), op("shared", "shared")).invited


def test_options_of_ops_that_do_not_run_are_refused():
    stranger, guest = record("stranger"), record("guest")
    for one in (stranger, guest):
        one.offers = [(kind_of(OpOffer), op("x").offer, "")]
    check_options({"guest": {"a": 1}, "stranger": {}, "unknown": {}}, [stranger, guest], FRIENDS)
    with pytest.raises(ConfigError, match=r"--set stranger...: its ops do not run, .*KERNELET_PLUGINS=\+stranger"):
        check_options({"stranger": {"a": 1}}, [stranger, guest], FRIENDS)


def test_ops_that_do_not_fit():
    choice = choose_op(
        op("half", dtypes=("float16",), priority=9),
        op("wide", required_features=frozenset({"amx"}), priority=9),
        op("foreign", "stranger", priority=9),
        op("plain", dtypes=("float32",), required_features=frozenset({"avx"})),
    )
    assert choice.chosen.offer.name == "plain"
    assert choice.refused["half"] == "takes float16, not float32"
    assert choice.refused["wide"] == "needs the platform features amx"
    assert choice.refused["foreign"] == (
        "opt-in and not named (not of the platform's packages): name it with KERNELET_PLUGINS=+stranger"
    )


def test_no_op_fits():
    assert choose_op(op("half", dtypes=("float16",))) is None
    assert choose_op() is None


def test_equal_ops():
    with pytest.raises(SelectionError, match=r"a .*b "):
        choose_op(op("a"), op("b"))


class Kernels:
    """Kernels by name: what ``supports`` answers or raises; remembers who was asked."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    def load(self, owned):
        name, kernels = owned.offer.name, self

        class Kernel:
            @staticmethod
            def supports(role, scheme, dtype, shape):
                kernels.asked.append((name, role, scheme, dtype, shape))
                if isinstance(kernels.answers[name], BaseException):
                    raise kernels.answers[name]
                return kernels.answers[name]

        return Kernel


def kernel(name, priority=0, plugin="platform", **fields):
    return Owned(offer=WeightKernelOffer(name=name, target="m:K", priority=priority, **fields), plugin=plugin)


def choose_kernel(kernels, *offers, named=None, role="linear"):
    request = Request(kind=kind_of(WeightKernelOffer), purpose="this weight")
    return select_weight_kernel(
        request, offers, role, DENSE, "float32", (4, 8), CAPABILITIES, FRIENDS, named or {}, kernels.load
    )


YES = Support(True)
NO = Support(False, "int4 only")


def test_the_best_that_supports_the_weight():
    kernels = Kernels(best=NO, good=YES, rest=OSError("never asked"))
    choice = choose_kernel(kernels, kernel("rest"), kernel("good", 5), kernel("best", 9))
    assert choice.chosen.offer.name == "good"
    assert choice.refused == {"best": "int4 only", "rest": "lower priority"}
    assert kernels.asked == [("best", "linear", DENSE, "float32", (4, 8)), ("good", "linear", DENSE, "float32", (4, 8))]


def test_equal_kernels_are_an_error_only_if_both_support_it():
    assert choose_kernel(Kernels(a=YES, b=NO), kernel("a"), kernel("b")).chosen.offer.name == "a"
    with pytest.raises(SelectionError, match=r"a \(platform\), b \(platform\). Name one: --weight-kernel NAME"):
        choose_kernel(Kernels(a=YES, b=YES), kernel("a"), kernel("b"))


def test_kernels_that_are_not_asked():
    kernels = Kernels(plain=YES)
    choice = choose_kernel(
        kernels,
        kernel("table", 9, roles=("embedding",)),
        kernel("wide", 9, required_features=frozenset({"amx"})),
        kernel("foreign", 9, plugin="stranger"),
        kernel("plain"),
    )
    assert choice.chosen.offer.name == "plain"
    assert choice.refused["table"] == "serves embedding, not linear"
    assert choice.refused["wide"] == "needs the platform features amx"
    assert choice.refused["foreign"].startswith("opt-in and not named")
    assert len(kernels.asked) == 1


@pytest.mark.parametrize("answer", [OSError("x"), True])
def test_a_kernel_that_fails_does_not_yield_to_a_slower_one(answer):
    with pytest.raises(SelectionError, match=r"'fast' .* failed: .*KERNELET_PLUGINS_BLOCK=platform"):
        choose_kernel(Kernels(fast=answer, slow=YES), kernel("fast", 9), kernel("slow"))


@pytest.mark.parametrize("named", [{"": "slow"}, {"linear": "slow"}, {"": "fast", "linear": "slow"}])
def test_named(named):
    kernels = Kernels(fast=OSError("never asked"), slow=YES)
    choice = choose_kernel(kernels, kernel("fast", 9), kernel("slow"), named=named)
    assert (choice.chosen.offer.name, choice.reason) == ("slow", "named")


def test_named_of_a_stranger():
    assert choose_kernel(Kernels(x=YES), kernel("x", plugin="stranger"), named={"": "x"}).chosen.plugin == "stranger"


@pytest.mark.parametrize(
    "answer, fields, reason", [(NO, {}, "int4 only"), (YES, {"roles": ("embedding",)}, "serves embedding")]
)
def test_a_named_one_that_cannot_is_not_replaced(answer, fields, reason):
    with pytest.raises(SelectionError, match=f"'a' was named and cannot serve this weight: {reason}"):
        choose_kernel(Kernels(a=answer, b=YES), kernel("a", **fields), kernel("b"), named={"": "a"})


def test_no_kernel():
    with pytest.raises(SelectionError, match=r"No weight kernel for this weight can be used.\n  a: int4 only"):
        choose_kernel(Kernels(a=NO), kernel("a"))
