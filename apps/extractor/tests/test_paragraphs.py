"""Paragraphs, and texts joined in them."""

import pytest

from fairlane_extractor.characters import flat, join_texts
from fairlane_extractor.paragraphs import number_paragraphs, paragraphs_of, raw_lines
from fairlane_extractor.segments import Line, Segment, Source


def line(start: float, text: str, *sources: Source, end: float | None = None) -> Line:
    return Line(start=start, end=end or start + 2, text=text, sources=sources or ("speech",))


def paragraphs(*lines: Line) -> list[list[str]]:
    numbered = number_paragraphs(lines)
    return [[one.text for _, one in paragraph] for paragraph in paragraphs_of(numbered)]


def test_a_gap_begins_a_paragraph() -> None:
    assert paragraphs(line(0, "a"), line(2.5, "b"), line(8, "c")) == [["a", "b"], ["c"]]


def test_a_pause_ends_a_paragraph_after_a_sentence_only() -> None:
    assert paragraphs(line(0, "One,"), line(3, "two."), line(6, "Three")) == [
        ["One,", "two."], ["Three"],
    ]  # fmt: skip
    assert paragraphs(line(0, "他说：「好。」"), line(3, "然后")) == [["他说：「好。」"], ["然后"]]


def test_a_long_paragraph_ends_at_a_sentence_or_at_last_without_one() -> None:
    sentences = paragraphs(*(line(2 * n, "word " * 20 + "end.") for n in range(10)))
    assert [len(one) for one in sentences] == [4, 4, 2]
    endless = paragraphs(*(line(2 * n, "word " * 20) for n in range(20)))
    assert [len(one) for one in endless] == [10, 10]
    chinese = paragraphs(*(line(2 * n, "字" * 50) for n in range(20)))
    assert [len(one) for one in chinese] == [10, 10]


def test_shown_texts_do_not_interrupt_a_sentence() -> None:
    assert paragraphs(
        line(0, "We talk"),
        line(1, "SUBSCRIBE", "frame"),
        line(2, "about rivers.", "speech", "frame"),
    ) == [["We talk", "about rivers."], ["SUBSCRIBE"]]


def test_raw_lines_are_the_segments_in_the_order_of_time() -> None:
    lines = raw_lines([
        Segment(start=2, end=3, text="b", source="frame", confidence=0.5, language="en"),
        Segment(start=0, end=9, text="a", source="speech"),
    ])  # fmt: skip
    assert lines == [
        Line(start=0, end=9, text="a", sources=("speech",)),
        Line(start=2, end=3, text="b", sources=("frame",), confidence=0.5, language="en"),
    ]


@pytest.mark.parametrize(
    ("texts", "joined"),
    [
        (["one", "two"], "one two"),
        (["今天", "我们"], "今天我们"),
        (["今天，", "我们"], "今天，我们"),
        (["今天", "we", "talk"], "今天 we talk"),
        (["오늘", "수업"], "오늘 수업"),
        (["", "a", " ", "b "], "a b"),
        ([], ""),
    ],
)
def test_texts_are_joined_as_their_script_is_written(texts: list[str], joined: str) -> None:
    assert join_texts(texts) == joined


def test_a_flat_text_has_neither_line_breaks_nor_control_characters() -> None:
    assert flat("a\r\nb\x0bc\u2028d\te\x00f\x1b[0m\ud800 g\x85h\n") == "a b c d ef[0m g h"
    assert flat("今天\n我们") == "今天我们"
