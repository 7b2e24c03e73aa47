"""What a user may set for an engine: one table that the Python API, the command line, files and variables share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from kernelet.config.kv import FAILURE_POLICIES
from kernelet.contracts.kv import ROLES
from kernelet.engine.option_values import Kind

AUTO = "auto"
"""Where the chat template shall say which parser fits."""

FALLBACKS = ("none", "validate")

DTYPES = ("auto", "float64", "float32", "bfloat16", "float16")


@dataclass(frozen=True, kw_only=True)
class OptionSpec:
    """One option: how its value is read, and what it is for."""

    name: str
    kind: Kind
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None

    @property
    def flag(self) -> str:
        """``--max-num-seqs``."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """``KERNELET_MAX_NUM_SEQS``."""
        return "KERNELET_" + self.name.upper()


def option(default: Any, kind: Kind, help: str, **limits: Any) -> Any:  # noqa: A002  the word that argparse uses
    """A field of ``EngineOptions``."""
    metadata = {"kind": kind, "help": help, **limits}
    if default == {}:
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """All options, with their defaults. Names are those of vLLM where they mean the same."""

    dtype: str = option("auto", Kind.TEXT, "compute dtype; auto takes the checkpoint's own", choices=DTYPES)
    max_model_len: int | None = option(
        None, Kind.INTEGER, "tokens of prompt and output together; the model's", minimum=1
    )
    load_seed: int = option(0, Kind.INTEGER, "seed of random parts of loading (requests have their own)", minimum=0)
    load_format: str = option("auto", Kind.TEXT, "format of the weights; auto asks the folder")
    quantization: str | None = option(
        None, Kind.TEXT, "how weights are stored: the method of a quantized checkpoint, or one that quantizes at load"
    )
    kv_cache_dtype: str = option(
        "auto", Kind.TEXT, "how keys and values are kept in the KV cache; auto: in the model's dtype"
    )
    block_size: int = option(16, Kind.INTEGER, "tokens in a block of the KV cache", minimum=1)
    num_blocks: int | None = option(None, Kind.INTEGER, "blocks of the KV cache; sized from memory", minimum=2)
    kv_cache_memory_bytes: int | None = option(
        None, Kind.INTEGER, "bytes for the KV cache; sized from memory", minimum=1
    )
    memory_utilization: float = option(
        0.5, Kind.NUMBER, "share of the memory left after loading that the KV cache may take", minimum=0.0, maximum=1.0
    )
    enable_prefix_caching: bool = option(True, Kind.FLAG, "reuse the KV cache of equal prefixes")
    eviction_policy: str | None = option(None, Kind.TEXT, "name of the policy that gives up cached prefixes")
    max_num_seqs: int = option(64, Kind.INTEGER, "requests in a step at most", minimum=1)
    max_num_batched_tokens: int = option(2048, Kind.INTEGER, "tokens in a step at most", minimum=1)
    enforce_eager: bool = option(False, Kind.FLAG, "record no decode steps to replay them, where the platform could")
    max_graph_capture_size: int = option(
        256, Kind.INTEGER, "requests of a decode step that is recorded and replayed at most", minimum=1
    )
    scheduling_policy: str | None = option(None, Kind.TEXT, "order of requests: fcfs, priority, or a plugin's")
    tensor_parallel_size: int = option(1, Kind.INTEGER, "ranks that share each layer", minimum=1)
    distributed_executor_backend: str | None = option(None, Kind.TEXT, "name of the executor that launches workers")
    communicator: str | None = option(None, Kind.TEXT, "collectives between ranks; the platform's")
    platform: str | None = option(None, Kind.TEXT, "name of the platform; the best one that is available")
    attention_backend: Mapping[str, str] = option(
        {}, Kind.PAIRS, "attention by NAME, or KIND=NAME for one kind of layer"
    )
    weight_kernel: Mapping[str, str] = option({}, Kind.PAIRS, "weight kernel by NAME, or ROLE=NAME for one role")
    logits_processors: Sequence[str] = option((), Kind.NAMES, "custom logits processors that run, in order")
    io_processor_plugin: str | None = option(
        None, Kind.TEXT, "IO processor that turns data into prompts and vectors into answers; the checkpoint's own"
    )
    tool_call_parser: str | None = option(
        None,
        Kind.TEXT,
        "parser that finds tool calls in answers, see kernelet parsers list; "
        "auto asks the chat template; none: calls stay text",
    )
    reasoning_parser: str | None = option(
        None,
        Kind.TEXT,
        "parser that takes reasoning out of answers, see kernelet parsers list; "
        "auto asks the chat template; none: it stays text",
    )
    enable_auto_tool_choice: bool = option(False, Kind.FLAG, "let clients leave it to the model to call their tools")
    tool_parser_plugin: str | None = option(None, Kind.FILE, "a Python file that offers tool parsers")
    reasoning_parser_plugin: str | None = option(None, Kind.FILE, "a Python file that offers reasoning parsers")
    structured_outputs_backend: str | None = option(
        None, Kind.TEXT, "grammar engine of requests that name none; auto: the best that enforces all of the constraint"
    )
    structured_allowed_backends: Sequence[str] | None = option(
        None, Kind.NAMES, "grammar engines that serve requests, named by them or taken by auto; all that are installed"
    )
    structured_fallback: str = option(
        "none",
        Kind.TEXT,
        "a constraint that cannot be enforced: none refuses it, validate checks the finished text and says so",
        choices=FALLBACKS,
    )
    structured_disable_any_whitespace: bool = option(False, Kind.FLAG, "JSON under a constraint is compact")
    structured_disable_additional_properties: bool = option(
        False, Kind.FLAG, "objects have no properties that a schema does not name, unless it says so"
    )
    structured_max_whitespace: int = option(
        8, Kind.INTEGER, "longest run of insignificant whitespace in JSON under a constraint", minimum=0, maximum=1000
    )
    structured_in_reasoning: bool = option(False, Kind.FLAG, "constraints hold in reasoning too")
    structured_jump_forward: bool = option(
        True, Kind.FLAG, "tokens that a constraint leaves no choice about cost one step together"
    )
    structured_max_bytes: int = option(64 << 10, Kind.INTEGER, "bytes of a constraint", minimum=1)
    structured_max_depth: int = option(64, Kind.INTEGER, "nesting of a schema", minimum=1, maximum=500)
    structured_max_nodes: int = option(10_000, Kind.INTEGER, "values in a schema", minimum=1)
    structured_max_repeat: int = option(10_000, Kind.INTEGER, "largest repetition in a constraint", minimum=1)
    structured_max_enum: int = option(2_000, Kind.INTEGER, "values of an enum, texts of a choice", minimum=1)
    structured_max_expressions: int = option(
        50_000, Kind.INTEGER, "expressions of the rules that a constraint becomes", minimum=1
    )
    structured_compile_timeout: float = option(
        10.0, Kind.NUMBER, "seconds to read a constraint, and seconds to compile it", minimum=0.1
    )
    structured_compile_memory: int = option(1 << 30, Kind.INTEGER, "bytes that either may take", minimum=1 << 20)
    structured_compile_inline: bool = option(
        False, Kind.FLAG, "compile while all requests wait: where ranks decide alone, they decide alike"
    )
    structured_cache_bytes: int = option(256 << 20, Kind.INTEGER, "bytes of compiled constraints to keep", minimum=0)
    structured_mask_timeout: float = option(
        10.0, Kind.NUMBER, "seconds that finding a request's next tokens may take", minimum=0.001
    )
    kv_connector: Sequence[str] = option(
        (), Kind.NAMES, "KV connectors that run, in order: the first that has a prefix loads it, all save"
    )
    kv_role: str | None = option(
        None,
        Kind.TEXT,
        "whether this engine only gives keys and values away, only takes them, or both; each connector's default",
        choices=ROLES,
    )
    kv_transfer_config: Mapping[str, object] | None = option(
        None, Kind.JSON, "KV connectors as vLLM writes them: kv_connector, kv_role, kv_connector_extra_config, ..."
    )
    kv_load_failure_policy: str | None = option(
        None,
        Kind.TEXT,
        "a request whose keys and values cannot be loaded: recompute (the default) computes what is missing, "
        "fail ends it with an error",
        choices=FAILURE_POLICIES,
    )
    kv_load_timeout: float = option(
        30.0, Kind.NUMBER, "seconds that loading keys and values of a request may take", minimum=0.001, maximum=86400.0
    )
    kv_handover_timeout: float = option(
        480.0,
        Kind.NUMBER,
        "seconds that keys and values of a request that ended wait to be fetched",
        minimum=0.001,
        maximum=86400.0,
    )
    kv_events_config: Mapping[str, object] | None = option(
        None, Kind.JSON, "what enters and leaves the prefix cache, published over ZMQ; as in vLLM"
    )
    plugins: Sequence[str] | None = option(
        None, Kind.NAMES, "plugins to load: NAME,... only these; +NAME adds to the default; empty: none"
    )
    plugins_block: Sequence[str] = option((), Kind.NAMES, "plugins not to load")
    locked: str | None = option(
        None, Kind.LOCK, "refuse to start with other plugins than a lock file says; without FILE: kernelet.lock"
    )
    set: Mapping[str, Mapping[str, object]] = option({}, Kind.SETTINGS, "a plugin's own option, as PLUGIN.KEY=VALUE")
    engine_silence_timeout: float = option(
        15.0,
        Kind.NUMBER,
        "seconds without a sign of life until the engine's process counts as stalled",
        minimum=2.0,
    )
    engine_step_timeout: float = option(
        300.0, Kind.NUMBER, "seconds of one step until the engine counts as stalled", minimum=1.0
    )
    log_stats: bool = option(False, Kind.FLAG, "log throughput and cache use about every ten seconds")


OPTIONS: tuple[OptionSpec, ...] = tuple(
    OptionSpec(name=entry.name, default={} if entry.default is MISSING else entry.default, **entry.metadata)
    for entry in fields(EngineOptions)
)
"""The table, in the order of ``--help``."""
