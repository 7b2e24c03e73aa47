"""The parsers of an engine's answers: selected once, and made anew for every choice."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from kernelet.config import PluginsConfig
from kernelet.contracts.parsing import (
    MakeTable,
    ParserContext,
    ParserOffer,
    ParserTable,
    ReasoningParserOffer,
    ToolParserOffer,
)
from kernelet.contracts.plugins import Owned, PluginView
from kernelet.contracts.serving import ParsersInfo
from kernelet.engine.options import AUTO
from kernelet.engine.output_parsing import OutputParsing
from kernelet.engine.reasoning import Reasoner
from kernelet.engine.tool_choice import Tools, held_calls, offered_calls
from kernelet.errors import ConfigError, PluginError, RequestFailedError, SelectionError
from kernelet.request.message import ParsedMessage
from kernelet.request.tool_choice import Choice, ToolChoice, read_tool_choice
from kernelet.request.values import shown
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.table import CompiledTable, combine
from kernelet.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

FREE = Choice("auto")

TOOL_FLAG, REASONING_FLAG = "--tool-call-parser", "--reasoning-parser"

READS_TOOLS = re.compile(r"\btools\b")
NO_TOOLS = (
    "--enable-auto-tool-choice: the model's chat template never reads `tools`, so the model is not told of them: put a "
    "template that does into the model's folder (chat_template.jinja), or send one with requests (chat_template)"
)
NOT_TOGETHER = (
    f"these two do not go together: give the parser of the model's own format to both, leave out {REASONING_FLAG}, or "
    "choose auto"
)


# --- which parsers run ---------------------------------------------------------------------------


def resolve_parsers(
    config: PluginsConfig, plugins: PluginView, templates: Callable[[], Collection[str]]
) -> PluginsConfig:
    """The configuration with the names of parsers in place of ``auto``.

    Args:
        config: As the operator said.
        plugins: What is installed.
        templates: Reads the sources of the model's chat templates.

    Raises:
        SelectionError: a name that nobody offers, or several parsers fit equally well.
        ConfigError: tools are to be called and no parser finds the calls.
    """
    templates = cache(templates)
    tool = _resolved(plugins, ToolParserOffer, config.tool_call_parser, templates, TOOL_FLAG)
    reasoning = _resolved(plugins, ReasoningParserOffer, config.reasoning_parser, templates, REASONING_FLAG)
    if config.auto_tool_choice and tool is None:
        raise ConfigError(_no_tool_parser(plugins, config.tool_call_parser))
    if config.auto_tool_choice and (sources := templates()) and not any(map(READS_TOOLS.search, sources)):
        logger.warning(NO_TOOLS)
    return replace(config, tool_call_parser=tool, reasoning_parser=reasoning)


def _no_tool_parser(plugins: PluginView, asked: str | None) -> str:
    why = f", and {TOOL_FLAG} {asked} found none that fits the chat template" if asked else ""
    names = ", ".join(owned.offer.name for owned in plugins.offers(ToolParserOffer))
    return (
        f"--enable-auto-tool-choice needs a parser that finds the calls{why}: give {TOOL_FLAG} NAME. "
        f"Choices: {names or 'none; install a package of parsers'}"
    )


def _resolved(
    plugins: PluginView,
    kind: type[ParserOffer],
    name: str | None,
    templates: Callable[[], Collection[str]],
    flag: str,
) -> str | None:
    if name is None:
        return None
    if name != AUTO:
        return plugins.select(kind, name).chosen.offer.name
    best = best_hinted(plugins.offers(kind), templates())
    if len(best) > 1:
        names = ", ".join(f"{owned.offer.name} ({owned.plugin})" for owned in best)
        raise SelectionError(f"{flag} auto: several parsers fit the chat template equally well: {names}. Name one.")
    if best:
        return best[0].offer.name
    how = f"give {flag} NAME" if plugins.offers(kind) else "none is installed: install a package of parsers"
    logger.warning("%s auto: no parser fits the chat template, so nothing is parsed; %s", flag, how)
    return None


def best_hinted(offers: Sequence[Owned[ParserOffer]], templates: Collection[str]) -> list[Owned[ParserOffer]]:
    """Of the parsers whose hints one of the templates contains, those with the most; of these, the highest priority."""
    fitting = [owned for owned in offers if _fits(owned.offer.chat_template_hints, templates)]
    ranks = [(len(owned.offer.chat_template_hints), owned.offer.priority) for owned in fitting]
    return [owned for owned, rank in zip(fitting, ranks, strict=True) if rank == max(ranks)]


def _fits(hints: Sequence[str], templates: Collection[str]) -> bool:
    return bool(hints) and any(all(hint in template for hint in hints) for template in templates)


# --- what runs for a request ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NamedParser:
    """A parser that was selected.

    Attributes:
        label: ``"tool parser 'x'"``.
        name: Of its offer.
        make: The plugin's function.
    """

    label: str
    name: str
    make: MakeTable

    def table(self, context: ParserContext) -> ParserTable:
        """Its table for a request.

        Raises:
            RequestFailedError: the plugin failed.
        """
        try:
            table = self.make(context)
        except Exception as error:
            raise RequestFailedError(f"{self.label} failed: {type(error).__name__}: {error}") from error
        if not isinstance(table, ParserTable):
            raise RequestFailedError(f"{self.label} failed: it returned {shown(table)}, not a ParserTable")
        return table


def place_of(error: BaseException | None, function: object) -> str:
    """`` (FILE, line N)`` where the function's own file raised; empty if that is not known."""
    file = getattr(getattr(function, "__code__", None), "co_filename", None)
    frames = traceback.extract_tb(None if error is None else error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    return f" ({file}, line {lines[-1]})" if lines else ""


class ChoiceParser:
    """The parser of one choice. What a plugin's function raises in it becomes an error of the request, and is logged.

    Args:
        parsing: Of the request.
    """

    def __init__(self, parsing: OutputParsing) -> None:
        self._label = parsing.label
        self._parser = parsing.new_parser()

    @property
    def message(self) -> ParsedMessage:
        """What was parsed until now; it grows."""
        return self._parser.message

    def push(self, spans: Iterable[Span]) -> None:
        """More of the choice.

        Raises:
            RequestFailedError: the plugin failed.
        """
        self._call(lambda: self._parser.push(spans))

    def finish(self, *, cut: bool) -> None:
        """No more text comes.

        Raises:
            RequestFailedError: the plugin failed.
        """
        self._call(lambda: self._parser.finish(cut=cut))

    def _call(self, function: Callable[[], object]) -> None:
        try:
            function()
        except Exception as error:
            logger.exception("%s failed", self._label)
            raise RequestFailedError(f"{self._label} failed: {type(error).__name__}: {error}") from error


@dataclass(frozen=True, kw_only=True)
class Parsers:
    """The parsers of an engine. Safe to use from several threads.

    Attributes:
        tokenizer: Of the model; None: markers are found in the text.
        tool: Finds calls; None: they stay text.
        reasoning: Finds reasoning; None: it stays text.
        auto_tool_choice: Whether clients may leave it to the model to call their tools.
    """

    tokenizer: Tokenizer | None = None
    tool: NamedParser | None = None
    reasoning: NamedParser | None = None
    auto_tool_choice: bool = False

    @property
    def info(self) -> ParsersInfo:
        """Names, for servers."""
        return ParsersInfo(
            tool=None if self.tool is None else self.tool.name,
            reasoning=None if self.reasoning is None else self.reasoning.name,
            auto_tool_choice=self.auto_tool_choice,
        )

    def parsing(
        self,
        prompt: str,
        tools: Tools | None = None,
        tool_choice: ToolChoice = "auto",
        template_kwargs: Mapping[str, Any] | None = None,
        *,
        parallel_tool_calls: bool = True,
    ) -> OutputParsing | None:
        """How the answers to a rendered chat are parsed; None: not at all.

        Args:
            prompt: What the chat template made.
            tools: As the template takes them; none: no calls are looked for.
            tool_choice: ``"none"``: calls are dropped; ``"required"``, or a function: the answer must be a call.
            template_kwargs: Further variables of the template.
            parallel_tool_calls: More than one call may come, where calls are held to their form.

        Raises:
            ParameterError: another ``tool_choice``, or one that nothing here can see to.
            RequestFailedError: a plugin failed.
        """
        functions = functions_of(tools or ())
        choice = read_tool_choice(tool_choice, functions)
        tool = self.tool if tools else None
        if tool is None and self.reasoning is None:
            held_calls(choice, functions, None, None)
            return None
        context = ParserContext(
            tools=functions,
            prompt=prompt,
            template_kwargs=template_kwargs or {},
            parses_tools=tool is not None,
            parses_reasoning=self.reasoning is not None,
        )
        try:
            return self.compile(tool, context, choice, parallel=parallel_tool_calls)
        except RequestFailedError:
            logger.exception("a request cannot be parsed")
            raise

    def compile(
        self, tool: NamedParser | None, context: ParserContext, choice: Choice = FREE, *, parallel: bool = True
    ) -> OutputParsing:
        """What the selected parsers make of a context.

        Raises:
            ParameterError: nothing here can see to the choice.
            RequestFailedError: a plugin failed, or the two cannot run together.
        """
        running = [parser for parser in (tool, self.reasoning) if parser is not None]
        label = " and ".join(parser.label for parser in running)
        calls = None if tool is None else tool.table(context)
        thinks = None if self.reasoning is None else self.reasoning.table(context)
        try:
            table = CompiledTable(combine(calls, thinks), self._is_token)
        except ValueError as error:
            advice = f"; {NOT_TOGETHER}" if calls and thinks else ""
            raise RequestFailedError(f"{label}: {error}{advice}") from error
        reasoner = None
        if self.reasoning is not None and thinks is not None:
            reasoner = Reasoner(parser=self.reasoning, table=thinks, calls=calls, context=context, token_of=self._token)
        return OutputParsing(
            table=table,
            tools=context.tools,
            reasoner=reasoner,
            drops_calls=choice.kind == "none",
            calls=held_calls(choice, context.tools, calls, thinks, parallel=parallel),
            offered=offered_calls(choice, context.tools, calls, parallel=parallel),
            marker_ids=frozenset(index for text in table.tokens if (index := self._token(text)) is not None),
            label=label,
        )

    def _is_token(self, text: str) -> bool:
        return self._token(text) is not None

    def _token(self, text: str) -> int | None:
        """The id of a text that the tokenizer never cuts."""
        index = None if self.tokenizer is None else self.tokenizer.token_to_id(text)
        return index if index is not None and self.tokenizer and self.tokenizer.added_token(index) == text else None


def make_parsers(config: PluginsConfig, plugins: PluginView, tokenizer: Tokenizer | None) -> Parsers:
    """The parsers that the configuration names, tried once.

    Raises:
        SelectionError: no plugin offers one of them.
        ConfigError: the model has no text, or the two cannot run together.
        PluginError: one cannot be imported, or fails.
    """
    found = Parsers(
        tokenizer=tokenizer,
        tool=_named(plugins, ToolParserOffer, config.tool_call_parser),
        reasoning=_named(plugins, ReasoningParserOffer, config.reasoning_parser),
        auto_tool_choice=config.auto_tool_choice,
    )
    running = found.tool or found.reasoning
    if running is not None and tokenizer is None:
        raise ConfigError(f"{running.label} needs text, but the model has no tokenizer: leave the parser out")
    try:
        found.compile(found.tool, ParserContext())
    except RequestFailedError as error:
        makes = [one.make for one in (found.tool, found.reasoning) if one is not None]
        places = dict.fromkeys(place_of(error.__cause__, make) for make in makes)
        raise PluginError(f"{error}{''.join(places)}") from error
    return found


def _named(plugins: PluginView, kind: type[ParserOffer], name: str | None) -> NamedParser | None:
    return None if name is None else find_parser(plugins, kind, name)


def find_parser(plugins: PluginView, kind: type[ParserOffer], name: str) -> NamedParser:
    """A parser by its name.

    Raises:
        SelectionError: no plugin offers it.
        PluginError: it cannot be imported.
    """
    owned = plugins.select(kind, name).chosen
    label = "tool parser" if kind is ToolParserOffer else "reasoning parser"
    return NamedParser(label=f"{label} {owned.offer.name!r}", name=owned.offer.name, make=plugins.load(owned))


def functions_of(tools: Tools) -> tuple[Mapping[str, Any], ...]:
    """The functions among tools: those of OpenAI's chat, ``{"type": "function", "function": ...}``, or bare ones."""
    found = (tool.get("function", tool) for tool in tools)
    return tuple(one for one in found if isinstance(one, Mapping) and isinstance(one.get("name"), str))
