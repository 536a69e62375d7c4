"""Merging: each text once, its sources, its times, and no text lost."""

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rapidfuzz import fuzz

from fairlane_extractor.matching import letters_of
from fairlane_extractor.merging import merge
from fairlane_extractor.segments import Line, Segment, Source


def said(start: float, end: float, text: str, **more: Any) -> Segment:
    return Segment(start=start, end=end, text=text, source="speech", **more)


def shown(start: float, end: float, text: str, **more: Any) -> Segment:
    return Segment(start=start, end=end, text=text, source="frame", **more)


def subtitle(start: float, end: float, text: str, **more: Any) -> Segment:
    return Segment(start=start, end=end, text=text, source="subtitle", **more)


def merged(*segments: Segment) -> list[tuple[str, tuple[Source, ...]]]:
    return [(line.text, line.sources) for line in merge(segments)]


def test_segments_of_one_source_become_lines_in_the_order_of_time() -> None:
    lines = merge(
        [said(4, 6, "Second."), said(0, 3, " First\nline ", confidence=0.8), said(7, 8, " ")]
    )
    assert lines == [
        Line(start=0, end=3, text="First line", sources=("speech",), confidence=0.8),
        Line(start=4, end=6, text="Second.", sources=("speech",)),
    ]


def test_a_long_text_is_several_lines_with_shares_of_its_time() -> None:
    words = [f"word{n}" for n in range(20_000)]
    lines = merge([subtitle(10, 50, " ".join(words))])
    assert " ".join(line.text for line in lines).split() == words
    assert max(len(line.text) for line in lines) <= 1_000
    assert (lines[0].start, lines[-1].end) == (10, 50)
    for one, following in pairwise(lines):
        assert one.start < one.end == following.start
    chinese = merge([shown(0, 4, "河边" * 1_000)])
    assert [len(line.text) for line in chinese] == [1_000, 1_000]
    assert [(line.start, line.end) for line in chinese] == [(0, 2), (2, 4)]
    exact = "x" * 999 + " " + "y" * 1_000
    assert merged(subtitle(0, 1, exact)) == [(one, ("subtitle",)) for one in exact.split()]


def test_a_text_that_is_said_and_shown_is_one_line_of_both_sources() -> None:
    [line] = merge([
        said(0.2, 3.1, "Good morning everyone.", confidence=0.9, language="en"),
        shown(0, 3, "Good morning everyone", confidence=0.8),
    ])  # fmt: skip
    assert (line.text, line.start, line.end) == ("Good morning everyone.", 0.2, 3.1)
    assert (line.sources, line.language) == (("speech", "frame"), "en")
    assert line.confidence == pytest.approx(0.98)


def test_the_text_of_the_surer_source_stays() -> None:
    assert merged(
        said(0, 3, "God morning every one", confidence=0.5),
        shown(0, 3, "Good morning everyone", confidence=0.97),
        said(5, 8, "We talk about rivers.", confidence=0.95),
        shown(5, 8, "We ta1k about rlvers", confidence=0.6),
    ) == [
        ("Good morning everyone", ("speech", "frame")),
        ("We talk about rivers.", ("speech", "frame")),
    ]


def test_a_subtitle_wins_over_surer_sources() -> None:
    assert merged(
        subtitle(0, 3, "Good morning, everyone!"),
        said(0, 3, "good morning every one", confidence=1.0),
        shown(0, 3, "GOOD MORNING, EVERYONE", confidence=1.0),
    ) == [("Good morning, everyone!", ("subtitle", "speech", "frame"))]


def test_a_frame_text_without_its_spaces_loses() -> None:
    assert merged(
        said(0, 3, "Good morning everyone, this is the news."),
        shown(0, 3, "Goodmorningeveryone,thisisthenews.", confidence=0.99),
    ) == [("Good morning everyone, this is the news.", ("speech", "frame"))]


def test_a_sentence_that_is_shown_in_several_captions_is_there_once() -> None:
    sentence = "Good morning and welcome to the show, today we talk about rivers."
    captions = [
        shown(0, 2, "Good morning and welcome", confidence=0.98),
        shown(2, 4, "to the show, today", confidence=0.98),
        shown(4, 6, "we talk about rivers.", confidence=0.98),
    ]
    assert merged(said(0.1, 6, sentence, confidence=0.7), *captions) == [
        (one.text, ("speech", "frame")) for one in captions
    ]
    assert merged(said(0.1, 6, sentence, confidence=0.99), *captions) == [
        (sentence, ("speech", "frame"))
    ]


def test_captions_that_straddle_sentences_are_there_once() -> None:
    assert merged(
        subtitle(0, 3, "Good morning and welcome to the show."),
        subtitle(3, 6, "Today we talk about rivers and lakes."),
        shown(0, 2, "Good morning and welcome", confidence=0.9),
        shown(2, 4.5, "to the show. Today we talk", confidence=0.9),
        shown(4.5, 6, "about rivers and lakes.", confidence=0.9),
    ) == [
        ("Good morning and welcome to the show.", ("subtitle", "frame")),
        ("Today we talk about rivers and lakes.", ("subtitle", "frame")),
    ]


def test_chinese_captions_and_subtitles_are_there_once() -> None:
    assert merged(
        subtitle(0, 3, "今天我们来看看这个任务队列"),
        shown(0, 3, "今天我们来看看这个任务队列", confidence=0.9),
        shown(0, 3, "订阅频道", confidence=0.9),
    ) == [
        ("今天我们来看看这个任务队列", ("subtitle", "frame")),
        ("订阅频道", ("frame",)),
    ]


def test_a_sentence_that_is_one_of_many_on_a_slide_stays_in_the_speech() -> None:
    slide = shown(
        0, 12, "Rivers carry water. Lakes store water for many years. Clouds move water.",
        confidence=0.99,
    )  # fmt: skip
    sentence = said(5, 8, "Lakes store water for many years.", confidence=0.6)
    assert merged(slide, sentence) == [
        (slide.text, ("frame",)), (sentence.text, ("speech",)),
    ]  # fmt: skip


def test_a_watermark_and_a_name_by_chance_stay() -> None:
    assert merged(
        shown(0, 100, "Rivers TV", confidence=0.9),
        shown(1, 3, "rivers", confidence=0.9),
        said(1, 4, "This is Rivers TV and we talk about rivers."),
    ) == [
        ("Rivers TV", ("frame",)),
        ("This is Rivers TV and we talk about rivers.", ("speech",)),
        ("rivers", ("frame",)),
    ]


def test_texts_with_different_numbers_are_different() -> None:
    assert (
        len(merged(said(0, 3, "The price is 100 euros."), shown(0, 3, "The price is 160 euros.")))
        == 2
    )
    assert len(merged(said(0, 3, "Chapter 1"), shown(0, 3, "Chapter 2"))) == 2
    assert len(merged(
        subtitle(0, 6, "We sold 120 boats in the year 2024 and then we stopped."),
        shown(0, 3, "We sold 170 boats in the year", confidence=0.9),
    )) == 2  # fmt: skip


def test_equal_texts_at_different_times_are_repetitions() -> None:
    assert merged(
        said(0, 2, "La la la la."), said(2, 4, "La la la la."), said(4, 6, "La la la la."),
        shown(0, 2, "La la la la", confidence=0.1), shown(4, 6, "La la la la", confidence=0.1),
    ) == [
        ("La la la la.", ("speech", "frame")),
        ("La la la la.", ("speech",)),
        ("La la la la.", ("speech", "frame")),
    ]  # fmt: skip
    assert len(merged(said(0, 2, "Good morning."), shown(60, 62, "Good morning."))) == 2


def test_one_source_with_the_same_text_at_the_same_time_is_one_line() -> None:
    [line] = merge([
        shown(0, 4, "Good morning", confidence=0.8), shown(3, 6, "Good morning", confidence=0.9),
        shown(3, 6, "GOOD  MORNING"),
    ])  # fmt: skip
    assert (line.start, line.end, line.confidence) == (0, 6, 0.9)


def test_bad_times_and_no_segments_are_no_errors() -> None:
    nan, infinite = float("nan"), float("inf")
    lines = merge([said(nan, nan, "a"), said(-5, -6, "b"), said(3, 1, "c"), said(4, infinite, "d"),
                   shown(infinite, 2, "e")])  # fmt: skip
    assert [(line.text, line.start, line.end) for line in lines] == [
        ("a", 0, 0), ("b", 0, 0), ("e", 0, 2), ("c", 3, 3), ("d", 4, 4),
    ]  # fmt: skip
    assert merge([]) == []


def test_a_thousand_texts_at_once_are_compared_in_bounded_work() -> None:
    chance = random.Random(1)
    words = [f"word{n}" for n in range(500)]

    def text(length: int) -> str:
        return " ".join(chance.choices(words, k=length))

    segments = [shown(0, 100, text(100), confidence=0.9) for _ in range(1_000)]
    segments += [said(n / 100, 50, text(20)) for n in range(1_000)]
    assert len(merge(segments)) == 2_000


WORDS = [
    "rivers",
    "lakes",
    "talk",
    "today",
    "we",
    "about",
    "Good",
    "morning",
    "10",
    "任务队列",
    "看看",
]
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
SEGMENTS = st.lists(
    st.builds(
        lambda start, length, text, source, confidence: Segment(
            start=start / 2, end=(start + length) / 2, text=text, source=source,
            confidence=confidence,
        ),
        st.integers(0, 40), st.integers(0, 30), TEXT,
        st.sampled_from(["subtitle", "speech", "frame"]),
        st.sampled_from([None, 0.2, 0.7, 0.99]),
    ),
    max_size=14,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(segments=SEGMENTS, order=st.randoms())
def test_no_text_is_lost_and_the_order_of_the_input_does_not_matter(
    segments: list[Segment], order: random.Random
) -> None:
    lines = merge(segments)
    assert [line.start for line in lines] == sorted(line.start for line in lines)
    assert all(0 <= line.start <= line.end for line in lines)
    assert all(line.confidence is None or 0 <= line.confidence <= 1 for line in lines)
    for segment in segments:
        assert is_in(extended(segment, segments), lines), segment
    order.shuffle(segments)
    assert merge(segments) == lines


def extended(segment: Segment, segments: list[Segment]) -> Segment:
    """Return a segment with the time of its repetitions, which overlap it or each other."""
    start, end = segment.start, segment.end
    for one in sorted(segments, key=lambda one: one.start) * 2:
        is_equal = (one.source, letters_of(one.text)) == (segment.source, letters_of(segment.text))
        if is_equal and one.start <= end and one.end >= start:
            start, end = min(start, one.start), max(end, one.end)
    return replace(segment, start=start, end=end)


def is_in(segment: Segment, lines: list[Line]) -> bool:
    """Return whether lines at the time of a segment have its text and name its source."""
    near = [
        line
        for line in lines
        if segment.source in line.sources
        and line.start <= segment.end + 1
        and line.end >= segment.start - 1
    ]
    if any(letters_of(line.text) == letters_of(segment.text) for line in near):
        return True
    agreeing = letters_of("".join(line.text for line in near if len(line.sources) > 1))
    return fuzz.partial_ratio(letters_of(segment.text), agreeing) >= 75
