"""The rules for English sentences and names, and the search for places that break a rule."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from hunspell import Hunspell
from passages import CODE, Passage

LONGEST_SENTENCE: Final = 25  # words
MOST_CLAUSES: Final = 2  # relative clauses in a sentence

_SENTENCE_END: Final = re.compile(
    r"(?<=[.!?])[\")]?\s+(?=[\"(]?[A-Z0-9`])|\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.|[\w*]+:)\s)|;\s"
)
_RELATIVE: Final = re.compile(r"\b(?:that|which|who|whose|what|whatever|whichever)\b", re.IGNORECASE)
_SECTION: Final = re.compile(
    r"^[ \t]*(?:Args|Arguments|Returns|Raises|Yields|Attributes|Note|Example|Examples):[ \t]*$", re.MULTILINE
)
_WORD: Final = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")


@dataclass(frozen=True)
class Finding:
    """A place that breaks a rule, and what to write instead."""

    path: str
    line: int
    rule: str
    advice: str


@dataclass
class Rules:
    """The words, openings and names to avoid, and the dictionary.

    Attributes:
        words: Patterns of words and phrases, and the advice for each.
        openings: First words that leave the first sentence of a docstring incomplete.
        names: Parts of names to avoid, and the advice for each.
        terms: Words that the dictionary lacks: terms of the field and proper names.

    """

    words: dict[re.Pattern[str], str]
    openings: frozenset[str]
    names: dict[str, str]
    whole_names: frozenset[str]
    terms: frozenset[str]
    _known: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path) -> Rules:
        """Load the rules from `words.toml` and `terms.txt` in the folder."""
        loaded = tomllib.loads((folder / "words.toml").read_text(encoding="utf-8"))
        terms = (folder / "terms.txt").read_text(encoding="utf-8").split()
        return cls(
            words={
                re.compile(rf"\b(?:{pattern})", re.IGNORECASE): advice
                for pattern, advice in loaded["words"].items()
            },
            openings=frozenset(loaded["openings"]),
            names=loaded["names"],
            whole_names=frozenset(loaded["whole_names"]),
            terms=frozenset(term.lower() for term in terms),
        )

    def check(self, passage: Passage) -> Iterator[Finding]:
        """Yield the findings of a passage."""
        found = self._name(passage.text) if passage.kind == "name" else self._prose(passage)
        for offset, rule, advice in found:
            yield Finding(passage.path, passage.line + passage.text.count("\n", 0, offset), rule, advice)

    def _name(self, name: str) -> Iterator[tuple[int, str, str]]:
        bare = name.strip("_").lower()
        if bare in self.whole_names:
            yield 0, "name", f"{name!r} is no noun and no verb with its object"
        for part in bare.split("_"):
            if part in self.names:
                yield 0, "name", f"{part!r} in {name!r}; {self.names[part]}"

    def _prose(self, passage: Passage) -> Iterator[tuple[int, str, str]]:
        text = passage.text
        opening = _WORD.match(text.lstrip())
        if passage.kind == "docstring" and opening and opening[0].capitalize() in self.openings:
            yield 0, "opening", f"begin with a verb or a noun phrase, not with {opening[0]!r}"
        for pattern, advice in self.words.items():
            for found in pattern.finditer(text):
                yield found.start(), "word", f"{' '.join(found[0].split())!r}; write {advice}"
        if passage.kind != "heading":
            yield from _sentences(text)
        yield from self._spelling(text)

    def _spelling(self, text: str) -> Iterator[tuple[int, str, str]]:
        for found in _WORD.finditer(text):
            word = found[0]
            plain = word.islower() or word.istitle()
            if plain and word != CODE and len(word) > 2 and not self._is_known(word):  # noqa: PLR2004
                yield (
                    found.start(),
                    "spelling",
                    f"{word!r}; if it is a term, add it to scripts/english/terms.txt",
                )

    def _is_known(self, word: str) -> bool:
        if word not in self._known:
            stem = word.lower().removesuffix("'s")
            self._known[word] = (
                stem in self.terms or self._dictionary.spell(word) or self._dictionary.spell(stem)
            )
        return self._known[word]

    @cached_property
    def _dictionary(self) -> Hunspell:
        return Hunspell("en_US")


def _sentences(text: str) -> Iterator[tuple[int, str, str]]:
    start = 0
    text = _SECTION.sub(lambda found: " " * len(found[0]), text)
    for end in [*(found.end() for found in _SENTENCE_END.finditer(text)), len(text)]:
        start += len(text[start:end]) - len(text[start:end].lstrip())
        sentence = text[start:end]
        words = re.findall(r"[\w'-]*\w", sentence)
        if len(words) > LONGEST_SENTENCE:
            yield start, "length", f"{len(words)} words in a sentence; write at most {LONGEST_SENTENCE}"
        clauses = len(_RELATIVE.findall(sentence))
        if clauses > MOST_CLAUSES:
            yield start, "clauses", f"{clauses} relative clauses in a sentence; write at most {MOST_CLAUSES}"
        start = end
