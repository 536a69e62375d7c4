"""Phrases cut into segments: a sentence each, and none longer than ten seconds."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from fairlane_extractor.speech.engine import Phrase, Word

LONGEST_SECONDS: Final = 10.0
SHORTEST_SECONDS: Final = 1.0  # a shorter sentence stays with the next one
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
_MARKS: Final = "，。！？；：、）】》」』”’…"
_WORD: Final = re.compile(rf"\s*(?:[{_UNSPACED}]|[^\s{_UNSPACED}]+)[{_MARKS}]*")
_END: Final = re.compile(r"[.!?。！？…][\"'”’」』)]*$")
_TITLES: Final = frozenset({"mr.", "mrs.", "ms.", "dr.", "st.", "prof.", "vs.", "no."})


def split_phrase(phrase: Phrase) -> list[Phrase]:
    """Split a phrase at the ends of its sentences, and long sentences between words."""
    words = phrase.words or estimate_words(phrase)
    groups: list[list[Word]] = []
    for word in words:
        if not groups or _ends(groups[-1], word):
            groups.append([])
        groups[-1].append(word)
    return [_joined(group, phrase) for group in groups]


def estimate_words(phrase: Phrase) -> tuple[Word, ...]:
    """Return the words of a phrase, with times by their share of its characters."""
    texts = _WORD.findall(phrase.text)
    total = sum(map(len, texts)) or 1
    seconds = phrase.end - phrase.start
    places = [0]
    for text in texts:
        places.append(places[-1] + len(text))
    times = [phrase.start + seconds * place / total for place in places]
    return tuple(
        Word(start, end, text) for (start, end), text in zip(pairwise(times), texts, strict=True)
    )


def _ends(group: Sequence[Word], following: Word) -> bool:
    if following.end - group[0].start > LONGEST_SECONDS:
        return True
    text = group[-1].text.strip()
    is_short = group[-1].end - group[0].start < SHORTEST_SECONDS
    return bool(_END.search(text)) and not is_short and not _is_abbreviation(text)


def _is_abbreviation(text: str) -> bool:
    return text.lower() in _TITLES or bool(re.fullmatch(r"(?:[A-Za-z]\.)+", text))


def _joined(group: Sequence[Word], phrase: Phrase) -> Phrase:
    known = [word.confidence for word in group if word.confidence is not None]
    return Phrase(
        group[0].start, group[-1].end, "".join(word.text for word in group).strip(),
        sum(known) / len(known) if known else phrase.confidence, phrase.language, tuple(group),
    )  # fmt: skip
