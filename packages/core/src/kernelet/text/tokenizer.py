"""The tokenizer of a model folder."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import tokenizers

from kernelet.errors import PromptError, TokenizerError
from kernelet.text.decoding import ByteDecoding, parse_decoder
from kernelet.text.folder import read_json
from kernelet.text.special_tokens import SpecialTokens, read_token_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

_MAX_ID: Final = 2**32 - 1
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
LONG: Final = 1024
"""Letters from which on a text is tokenized as a batch of one: the library then lets other threads run, and starts its
own."""
LETTERS_LOST: Final = 8
"""Where not every letter is in a token (dropped spaces, long unknown words), a text may be so much longer."""


class Tokenizer:
    """Text to token ids and back. Safe to use from several threads: nothing changes after construction.

    Ids are those of `transformers`' AutoTokenizer on the same folder. Decoding works on bytes where the tokenizer's
    decoder has a meaning in bytes (see `decoding`); it differs from the `tokenizers` library in two places, both where
    the library loses text: an added token that is not part of the vocabulary proper is its own text whatever letters
    it has, and in an invalid run of byte tokens only the invalid bytes become U+FFFD.

    Attributes:
        decoding: How tokens become bytes; None if only the library's own decoder can tell.
        special_tokens: Text by role: ``{"bos_token": "<s>"}``.
        bos_token_id: None if the model has none.
        eos_token_id: The tokenizer's own, else the first of `eos_token_ids`; None if there is none.
        eos_token_ids: All ids that end a text, those of generation_config.json included.
        all_special_ids: Ascending.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        special_tokens: SpecialTokens | None = None,
        *,
        bos_token_ids: Sequence[int] = (),
        eos_token_ids: Sequence[int] = (),
    ) -> None:
        """Take over `backend`, which nobody else may change from now on.

        Args:
            backend: Of the library.
            special_tokens: Made special in `backend`.
            bos_token_ids: Where `special_tokens` names no bos token.
            eos_token_ids: Beside the eos token of `special_tokens`.
        """
        specials = special_tokens or SpecialTokens()
        specials.add_to(backend)
        backend.no_truncation()
        backend.no_padding()
        self._backend = backend
        # the state of the decoder alone: all of a tokenizer in JSON takes a tenth of a second and 16 MB
        state = None if backend.decoder is None else json.loads(backend.decoder.__getstate__())
        self.decoding: ByteDecoding | None = parse_decoder(state)
        added = backend.get_added_tokens_decoder()
        self._added = {index: token.content for index, token in added.items()}
        self._verbatim = {index for index in added if backend.model.id_to_token(index) is None}
        self._special = frozenset(index for index, token in added.items() if token.special)
        self._bytes: dict[int, bytes] = {}
        self.special_tokens = {role: token.content for role, token in specials.named.items()}
        self.all_special_ids = tuple(sorted(self._special))
        bos, eos = (self._role_id(role) for role in ("bos_token", "eos_token"))
        self.bos_token_id = bos if bos is not None else next(iter(bos_token_ids), None)
        self.eos_token_id = eos if eos is not None else next(iter(eos_token_ids), None)
        self.eos_token_ids = frozenset(eos_token_ids) | (frozenset() if eos is None else {eos})

    @classmethod
    def from_folder(cls, folder: str | PathLike[str]) -> Tokenizer:
        """Load the tokenizer of a model folder.

        Raises:
            TokenizerError: A file is missing or malformed.
        """
        folder = Path(folder)
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise TokenizerError(_no_tokenizer(folder))
        try:
            backend = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises Exception itself
            raise TokenizerError(
                f"{path} cannot be read by tokenizers {tokenizers.__version__} ({error}): "
                "the file is damaged, or needs a newer `tokenizers` (pip install -U tokenizers)"
            ) from error
        if read_json(folder / "tokenizer_config.json").get("split_special_tokens"):
            backend.encode_special_tokens = True
        return cls(
            backend,
            SpecialTokens.from_folder(folder),
            bos_token_ids=read_token_ids(folder, "bos_token_id"),
            eos_token_ids=read_token_ids(folder, "eos_token_id"),
        )

    def _role_id(self, role: str) -> int | None:
        return self.token_to_id(self.special_tokens[role]) if role in self.special_tokens else None

    def __len__(self) -> int:
        """Number of tokens, added ones included."""
        return self._backend.get_vocab_size(with_added_tokens=True)

    @property
    def vocab_size(self) -> int:
        """Number of tokens without the added ones."""
        return self._backend.get_vocab_size(with_added_tokens=False)

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """The ids of a text.

        Args:
            text: Any text; the empty one too.
            add_special_tokens: Put the tokens around it that the model's post-processor asks for (bos, as a rule).

        Raises:
            PromptError: `text` is not a string, or not valid Unicode.
        """
        try:
            if len(text) > LONG:
                (encoding,) = self._backend.encode_batch_fast([text], add_special_tokens=add_special_tokens)
                return list(encoding.ids)
            return list(self._backend.encode(text, add_special_tokens=add_special_tokens).ids)
        except TypeError as error:
            raise PromptError(_not_text(text)) from error
        except Exception as error:  # the library raises Exception itself
            raise PromptError(f"the tokenizer has no tokens for some character ({error}): leave it out") from error

    @cached_property
    def longest_token(self) -> int:
        """Letters of the longest token, as the vocabulary writes it."""
        return max(map(len, self._backend.get_vocab(with_added_tokens=True)), default=1)

    def surely_exceeds(self, text: str, num_tokens: int) -> bool:
        """Whether a text is so long that it must have more tokens, told without tokenizing it, which takes memory."""
        if len(text) <= num_tokens:
            return False
        byte_level = self.decoding is not None and self.decoding.byte_level
        return len(text) > num_tokens * self.longest_token * (1 if byte_level else LETTERS_LOST)

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """The text of a sequence; ids outside the vocabulary have none."""
        skipped = self._special if skip_special_tokens else frozenset()
        known = [index for index in ids if index not in skipped and self.id_to_token(index) is not None]
        if self.decoding is None:
            return self.decode_with_library(known)
        pieces = [self.token_bytes(index, first=place == 0) for place, index in enumerate(known)]
        return self.decoding.decode(pieces)

    def decode_with_library(self, ids: Sequence[int]) -> str:
        """What the `tokenizers` library decodes, special tokens included."""
        return self._backend.decode(ids, skip_special_tokens=False)

    def token_bytes(self, index: int, *, first: bool = False) -> bytes:
        """The real bytes of one token; empty for an id outside the vocabulary.

        They may be a part of a character only. The bytes of a sequence's tokens, joined, spell its text, but for
        the space that some tokenizers strip at the start.

        Args:
            index: Token id.
            first: The token opens a text: a few decoders drop its space marks.
        """
        if first and self.decoding is not None and self.decoding.first_token_drops:
            return self.decoding.token_bytes(self.id_to_token(index) or "", first=True)
        found = self._bytes.get(index)
        if found is None:
            found = self._bytes[index] = self._token_bytes(index)
        return found

    def _token_bytes(self, index: int) -> bytes:
        token = self.id_to_token(index)
        if token is None:
            return b""
        if self.decoding is None:
            text = self.decode_with_library([index])
            return (token if not text or REPLACEMENT in text else text).encode()
        # Byte-level vocabularies are written in another alphabet; an added token is written in plain text.
        if self.decoding.byte_level and index in self._verbatim:
            return token.encode()
        return self.decoding.token_bytes(token)

    def token_to_id(self, token: str) -> int | None:
        """The id of a token's string as the vocabulary writes it."""
        return self._backend.token_to_id(token)

    def id_to_token(self, index: int) -> str | None:
        """A token's string as the vocabulary writes it; None for an id outside of it."""
        return self._backend.id_to_token(index) if 0 <= index <= _MAX_ID else None

    def is_special(self, index: int) -> bool:
        """Whether `skip_special_tokens` skips it."""
        return index in self._special

    @property
    def added_tokens(self) -> dict[str, int]:
        """Ids of added tokens (special or not), by their text."""
        return {text: index for index, text in self._added.items()}

    def added_token(self, index: int) -> str | None:
        """The text of an added token (special or not); None for any other id."""
        return self._added.get(index)


def _no_tokenizer(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder} is not a folder: give the folder that holds the model's tokenizer.json"
    names = ("tokenizer.model", "vocab.json", "vocab.txt", "tekken.json")
    others = [name for name in names if (folder / name).exists()]
    if not others:
        return f"{folder} has no tokenizer.json: copy it from where the model was published"
    return (
        f"{folder} has {', '.join(others)} but no tokenizer.json, which is the format that is read here. Make one: "
        f"load {folder} with AutoTokenizer.from_pretrained of `transformers` and call save_pretrained on the result"
    )


def _not_text(text: object) -> str:
    if not isinstance(text, str):
        return f"the prompt should be a string, not {type(text).__name__}"
    place = next(place for place, character in enumerate(text) if "\ud800" <= character <= "\udfff")
    return (
        f"the prompt holds a lone surrogate (U+{ord(text[place]):04X}) at position {place}, which is no character: "
        "decode the text with errors='replace' before you send it"
    )
