"""Words of which nearly every tokenizer makes one token each, and long ribbons of them to cut prompts from."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path

from bide.errors import BadInput
from bide.i18n import _

_COMMON = Path(__file__).with_name("data") / "words.txt"
_RIBBON = 1 << 15
_FEWEST_WORDS = 64


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Distinct words, and who says that each is one token after a space."""

    words: tuple[str, ...]
    source: str


def common_words() -> Vocabulary:
    """Frequent English words: one token each for the tokenizers of GPT-2, Llama, Qwen, Mistral, Gemma and others."""
    return Vocabulary(tuple(_COMMON.read_text(encoding="utf-8").split()), "frequent English words")


def tokenizer_words(path: str) -> Vocabulary:
    """The words that a tokenizer (a file, a folder or a Hugging Face id) makes one token of.

    Raises BadInput where the tokenizers package is missing, the tokenizer cannot be read, or has too few such words.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise BadInput("tokenizer", path, _("the extra `text`: pip install 'bide[text]'")) from error
    from bide.facts.hf.source import first_line

    file = Path(path) / "tokenizer.json" if Path(path).is_dir() else Path(path)
    try:
        made = Tokenizer.from_file(str(file if file.is_file() else _of_hub(path)))
    except Exception as error:  # tokenizers and the hub raise what they like
        allowed = _("a tokenizer.json, its folder, or a Hugging Face id")
        raise BadInput("tokenizer", path, allowed, first_line(error)) from error
    candidates = sorted({token.lstrip("Ġ▁") for token in made.get_vocab() if token[:1] in ("Ġ", "▁")})
    plain = [word for word in candidates if word.isascii() and word.isalpha() and len(word) > 1]
    found = tuple(word for word in plain if _alone(made, word))
    if len(found) < _FEWEST_WORDS:
        raise BadInput("tokenizer", path, _("a tokenizer with words of one token"), _("leave --tokenizer out"))
    return Vocabulary(found, path)


def _of_hub(name: str) -> Path:
    """Without `Tokenizer.from_pretrained`, which tries for half a minute where there is no network."""
    from bide.facts.hf.source import fetched

    return fetched(import_module("huggingface_hub"), name, "tokenizer.json")  # the tokenizers package needs it too


def _alone(tokenizer: object, word: str) -> bool:
    """Whether two more of the word are two more tokens."""
    encode = tokenizer.encode  # type: ignore[attr-defined]  # a tokenizers.Tokenizer, which has no stubs
    one, three = (len(encode(f"the {' '.join([word] * times)} the").ids) for times in (1, 3))
    return three - one == 2


def file_words(path: Path) -> Vocabulary:
    """The words of a text, in its order: real text to cut prompts from. Raises BadInput."""
    try:
        words = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput("text", str(path), _("a text file in UTF-8"), str(error)[:120]) from error
    if len(words) < _FEWEST_WORDS:
        raise BadInput("text", str(path), _("at least {n} words").format(n=_FEWEST_WORDS))
    return Vocabulary(tuple(words), str(path))


@dataclass(frozen=True)
class Ribbon:
    """Words in a row as JSON text, with where each begins, so that any stretch of it is one slice of bytes.

    Random words, or those of a real text in its order.
    """

    vocabulary: Vocabulary
    seed: int
    real: bool = False

    @cached_property
    def _laid(self) -> tuple[bytes, list[int]]:
        words = self.vocabulary.words
        row = words if self.real else random.Random(self.seed).choices(words, k=_RIBBON)
        written = {word: (" " + json.dumps(word)[1:-1]).encode() for word in set(words)}
        pieces = [written[word] for word in row]
        starts, place = [0], 0
        for piece in pieces:
            place += len(piece)
            starts.append(place)
        return b"".join(pieces), starts

    def cut(self, place: int, words: int) -> bytes:
        """`words` words from the `place`-th on, each with a space before it; the ribbon is a ring."""
        text, starts = self._laid
        count = len(starts) - 1
        place %= count
        if place + words <= count:
            return text[starts[place] : starts[place + words]]
        parts = [text[starts[place] :]]
        rounds, rest = divmod(words - (count - place), count)
        return b"".join([*parts, *[text] * rounds, text[: starts[rest]]])

    @cached_property
    def _digits(self) -> list[bytes]:
        """Words that stand for digits; distinct and of one token, even where the ribbon is real text."""
        words = common_words().words if self.real else self.vocabulary.words
        return [(" " + json.dumps(word)[1:-1]).encode() for word in words[:256]]

    def spelled(self, value: int, words: int) -> bytes:
        """A number in so many words (its lowest digits): the same words for the same number."""
        digits, base = [], len(self._digits)
        for _digit in range(words):
            value, digit = divmod(value, base)
            digits.append(self._digits[digit])
        return b"".join(digits)
