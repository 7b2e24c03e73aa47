from __future__ import annotations

import inspect

import pytest

from kernelet.cache.eviction import LRUPolicy
from kernelet.cache.groups import FullGroupManager, SlidingWindowGroupManager
from kernelet.contracts.attention import Attention, AttentionOffer
from kernelet.contracts.cache import CachePolicyOffer, CacheSpecOffer, EvictionPolicy
from kernelet.contracts.executor import CommunicatorOffer, ExecutorOffer, SchedulerOffer
from kernelet.contracts.io import IOProcessorOffer
from kernelet.contracts.kv import KVConnectorOffer
from kernelet.contracts.model import (
    ModelArchitectureOffer,
    ModelSource,
    ModelSourceOffer,
    WeightFormatOffer,
    WeightReader,
)
from kernelet.contracts.offer import Option, Settings
from kernelet.contracts.op import Op, OpOffer, Support, WeightKernel, WeightKernelOffer
from kernelet.contracts.parsing import CONTENT, ParserTable, ReasoningParserOffer, ToolParserOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.contracts.quant import KVCacheMethod, KVCacheOffer, QuantizationMethod, QuantizerOffer, QuantOffer
from kernelet.contracts.quantizing import Quantizer
from kernelet.contracts.sampling import LogitsProcessor, LogitsProcessorOffer
from kernelet.contracts.serving import Endpoint, EndpointOffer, Server, ServerOffer
from kernelet.contracts.stats import StatLogger, StatLoggerOffer
from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.errors import PluginError
from kernelet.executor.in_process import InProcessExecutor
from kernelet.kernel.doctor.trials import INTERFACES, MADE, NotHereError, Subject, trials
from kernelet.kernel.kinds import KINDS
from kernelet.scheduler.policies import FCFSPolicy
from kernelet.testing.grammar_engine.reference import ReferenceCompiled, ReferenceEngine
from kernelet.testing.io_processor import Distances
from kernelet.testing.null.platform import NullDevice

SETTINGS = Settings(plugin="p", values={"memory_bytes": 1 << 20})


def attempt(offer, target, **fields):
    """Runs every trial of an offer; returns their words."""
    done = []
    for what, trial in trials(type(offer)):
        trial(Subject(offer=offer, raw=target, target=target, settings=SETTINGS, **fields))
        done.append(what)
    return done


class Paged(Attention):
    made = ()

    def __init__(self, spec, settings):
        super().__init__(spec, settings)
        type(self).made += (spec,)

    allocate_cache = build_metadata = write_kv = lambda self, *args: None
    forward = lambda self, query, cache, metadata, sinks=None: query


class Kernel(WeightKernel):
    asked = ()

    @classmethod
    def supports(cls, role, scheme, dtype, shape):
        cls.asked += ((role, shape),)
        return Support(role == "linear")

    prepare = apply = lambda self, *args: None


class Source(ModelSource):
    resolve = lambda self, name: name


class Processor(LogitsProcessor):
    add_request = lambda self, request_id, arguments, prompt_token_ids: True
    apply = lambda self, logits, rows: logits


class Logger(StatLogger):
    closed = False
    record = record_finished = lambda self, it: None

    def close(self):
        type(self).closed = True


class Scale(Op):
    def __call__(self, x):
        return x


class Reader(WeightReader):
    """Made by ``cls(folder)``, as ``open`` of the contract does."""

    def __init__(self, folder): ...

    names = lambda self: ()
    shape = lambda self, name: ()
    read = lambda self, name, rows=None: None
    nbytes = lambda self, name=None: 0


class Keyless(Reader):
    def __init__(self, folder, key): ...


class Keyed(Keyless):
    open = classmethod(lambda cls, folder, settings: cls(folder, settings["memory_bytes"]))


class Unquantized(QuantizationMethod):
    def scheme(self, layer):
        return None

    def canonical(self, layer, stored):
        return {}


class Plain(KVCacheMethod):
    def scheme(self, layer):
        return None


class Bits(Quantizer):
    def __init__(self, settings):
        super().__init__(settings)
        assert settings.values == {"bits": 4}

    def write(self, source, folder, progress): ...


class NoServer(Server):
    async def run(self, sockets): ...

    def stop(self): ...

    def stop_now(self): ...


class NoEndpoint(Endpoint):
    app = None


def no_calls(context):
    return ParserTable(start=CONTENT if context.tools == () else "nowhere")


BOTH = ["implements its contract", "made with the plugin's options"]
PLATFORM = {"probe": "m:p", "config": "m:C", "worker": "m:W"}
WEIGHTS = WeightFormatOffer(name="a", target="m:A", patterns=("*.a",))
ALL_KINDS = frozenset({"full", "sliding", "mla", "tree"})
GOOD = [
    (
        AttentionOffer(name="a", target="m:A", kinds=frozenset({"full", "sliding", "mla"}), block_size_multiple=24),
        Paged,
        BOTH,
    ),
    (WeightKernelOffer(name="a", target="m:A", roles=("linear", "embedding")), Kernel, BOTH),
    (OpOffer(name="a", target="m:A", op="x"), Scale, BOTH),
    (CacheSpecOffer(name="a", target="m:A", kind="full"), FullGroupManager, BOTH),
    (CacheSpecOffer(name="a", target="m:A", kind="sliding_window"), SlidingWindowGroupManager, BOTH),
    (CacheSpecOffer(name="a", target="m:A", kind="mla"), FullGroupManager, BOTH),
    (CachePolicyOffer(name="a", target="m:A", api="2.0"), LRUPolicy, BOTH),
    (ModelSourceOffer(name="a", target="m:A", models={}), Source, BOTH),
    (ExecutorOffer(name="a", target="m:A"), InProcessExecutor, BOTH[:1]),
    (SchedulerOffer(name="a", target="m:A"), FCFSPolicy, BOTH),
    (LogitsProcessorOffer(name="a", target="m:A"), Processor, BOTH),
    (StatLoggerOffer(name="a", target="m:A", api="2.0"), Logger, BOTH),
    (PlatformOffer(name="a", target="m:A", **PLATFORM), NullDevice, BOTH),
    (WEIGHTS, Reader, BOTH[:1]),
    (QuantOffer(name="a", target="m:A"), Unquantized, BOTH[:1]),
    (QuantizerOffer(name="a", target="m:A", options={"bits": Option(type=int, default=4)}), Bits, BOTH),
    (KVCacheOffer(name="a", target="m:A"), Plain, BOTH[:1]),
    (ServerOffer(name="a", target="m:A"), NoServer, BOTH),
    (EndpointOffer(name="a", target="m:A", prefix="/a"), NoEndpoint, BOTH[:1]),
    (IOProcessorOffer(name="a", target="m:A"), Distances, BOTH[:1]),
    (WEIGHTS, Keyed, BOTH[:1]),
    (GrammarEngineOffer(name="a", target="m:A"), ReferenceEngine, BOTH),
    (ToolParserOffer(name="a", target="m:a"), no_calls, BOTH),
    (ReasoningParserOffer(name="a", target="m:a"), no_calls, BOTH),
]


@pytest.mark.parametrize("offer, target, done", GOOD, ids=lambda one: getattr(one, "__name__", ""))
def test_what_keeps_its_contract(offer, target, done):
    assert attempt(offer, target) == done


def test_every_kind_is_tried_somehow():
    kinds = {kind.offer for kind in KINDS}
    without = {ModelArchitectureOffer, OpOffer, ToolParserOffer, ReasoningParserOffer}
    assert set(INTERFACES) | without == kinds
    unmade = {
        ModelArchitectureOffer,
        WeightFormatOffer,
        QuantOffer,
        KVCacheOffer,
        KVConnectorOffer,
        ExecutorOffer,
        CommunicatorOffer,
        EndpointOffer,
        IOProcessorOffer,
    }
    assert kinds - set(MADE) == unmade


def test_an_attention_is_made_for_each_of_its_kinds():
    Paged.made = ()
    offer = AttentionOffer(
        name="a",
        target="m:A",
        kinds=frozenset({"full", "sliding"}),
        head_sizes=(80,),
        dtypes=("bfloat16",),
        block_size_multiple=24,
    )
    attempt(offer, Paged)
    assert [(s.kind, s.head_size, s.dtype, s.window) for s in Paged.made] == [
        ("full", 80, "bfloat16", None),
        ("sliding", 80, "bfloat16", 16),
    ]
    assert all(spec.block_size % 24 == 0 for spec in Paged.made)


def test_a_kernel_is_asked_for_each_of_its_roles():
    Kernel.asked = ()
    attempt(WeightKernelOffer(name="a", target="m:A", roles=("linear", "grouped_linear")), Kernel)
    assert Kernel.asked == (("linear", (64, 64)), ("grouped_linear", (2, 64, 64)))


def test_a_logger_is_closed_again():
    Logger.closed = False
    attempt(StatLoggerOffer(name="a", target="m:A", api="2.0"), Logger)
    assert Logger.closed


class Wrong(EvictionPolicy):
    add = remove = lambda self, block_id: None
    evict = lambda self: 7
    __len__ = lambda self: 0


class Nan(FCFSPolicy):
    key = lambda self, request: (float("nan"),)


class Text(FCFSPolicy):
    key = lambda self, request: "ab"


class NeverEnds(ReferenceEngine):
    def load(self, compiled):
        loaded = super().load(compiled)
        loaded.start = lambda: self.hold(ReferenceCompiled.start(loaded))
        return loaded

    def hold(self, grammar):
        grammar.can_end = lambda: False
        return grammar


class Bare(Kernel):
    supports = classmethod(lambda cls, role, scheme, dtype, shape: True)


class Fussy(Source):
    def __init__(self, settings):
        raise OSError("no such disk")


@pytest.mark.parametrize(
    "offer, target, error, message",
    [
        (GOOD[6][0], Wrong, PluginError, r"evict\(\) gave up 7 and left 0 blocks"),
        (GOOD[9][0], Nan, PluginError, r"key\(\) returned \(nan,\), not numbers"),
        (GOOD[9][0], Text, PluginError, r"key\(\) returned \('a', 'b'\), not numbers"),
        (GOOD[1][0], Bare, PluginError, r"supports\(\) returned bool, not Support"),
        (GOOD[7][0], Fussy, OSError, "no such disk"),
        (GOOD[2][0], 5, PluginError, "m:A is a int, which cannot be called"),
        (GOOD[9][0], int, PluginError, "int is no subclass of kernelet.contracts.executor.SchedulingPolicy"),
        (GOOD[2][0], abs, NotHereError, "a function has nothing"),
        (WEIGHTS, Keyless, PluginError, r"Keyless.__init__ cannot be called as the contract does, with \(folder\)"),
        (CacheSpecOffer(name="a", target="m:A", kind="own"), FullGroupManager, NotHereError, "the cache spec own"),
        (GOOD[-1][0], lambda context: {}, PluginError, "m:a returned dict, not ParserTable"),
        (GOOD[-1][0], lambda context: ParserTable(start="nowhere"), ValueError, "begins with 'nowhere'"),
        (GOOD[-3][0], NeverEnds, PluginError, r"the end were \(False, True, False\), not"),
        (GOOD[-2][0], {}, PluginError, "m:a is a dict, which cannot be called"),
    ],
)
def test_what_does_not(offer, target, error, message):
    with pytest.raises(error, match=message):
        attempt(offer, target)


@pytest.mark.parametrize("index", [0, 1, 2, 12])
def test_what_the_platform_lacks_is_not_made(index):
    offer, target, _ = GOOD[index]
    with pytest.raises(NotHereError, match="no such unit"):
        attempt(offer, target, missing="no such unit")


def test_a_request_has_what_a_policy_may_look_at():
    from kernelet.contracts.executor import Orderable
    from kernelet.kernel.doctor.trials import _Request

    wanted = {name for name, member in vars(Orderable).items() if isinstance(member, property)}
    assert wanted == set(_Request.__dataclass_fields__)
    assert inspect.signature(_Request).parameters
