"""Rows of text from picture to picture: noise, growth, watermarks, blocks, and the bounds."""

import pytest

from fairlane_extractor.frames.captions import LARGEST_RESULT, bound_segments, make_segments
from fairlane_extractor.frames.moving_text import continue_text
from fairlane_extractor.frames.reading import Box, Row, in_reading_order, join_pieces
from fairlane_extractor.frames.row_times import RowTimes
from fairlane_extractor.frames.same_text import is_same_text
from fairlane_extractor.segments import Segment

PLACES = {"bottom": 0.85, "below": 0.91, "top": 0.05}
Reading = tuple[str, float] | tuple[str, float, str]


def row(text: str, confidence: float = 0.95, place: str = "bottom") -> Row:
    top = PLACES[place]
    return Row(Box(0.2, top, 0.2 + 0.02 * len(text), top + 0.05), text, confidence)


def segments_of(*pictures: list[Row]) -> list[tuple[float, float, str]]:
    """Return the segments of pictures that are half a second apart."""
    rows = RowTimes()
    for number, picture in enumerate(pictures):
        time = number / 2
        rows.update(picture, max(0.0, time - 0.4), time)
    end = len(pictures) / 2
    return [(one.start, one.end, one.text) for one in make_segments(rows.finish(end), end)]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (("The river is wide", 0.99), ("the river, is wide.", 0.99), True),
        (("The river is wide", 0.99), ("The rlver ls wide", 0.99), True),
        (("The river is wide", 0.99), ("The rivet is wde", 0.7), True),
        (("Open the door", 0.99), ("Open the drawer", 0.99), False),
        (("Step 2 of 9", 0.99), ("Step 3 of 9", 0.7), False),
        (("今天的天气非常好", 0.99), ("今天的天气非常坏", 0.99), False),
    ],
)
def test_the_same_text_is_recognised_in_spite_of_the_recogniser(
    one: tuple[str, float], other: tuple[str, float], is_same: bool
) -> None:
    assert is_same_text(*one, *other) is is_same


def test_times_lie_between_the_samples() -> None:
    assert segments_of([], [row("one")], [row("one")], [row("two")], []) == [
        (0.3, 1.3, "one"), (1.3, 1.8, "two"),
    ]  # fmt: skip


def test_a_text_that_is_hidden_for_a_moment_is_one_segment() -> None:
    assert segments_of([row("one")], [], [], [row("one")]) == [(0.0, 2.0, "one")]


def test_a_text_that_returns_later_is_two_segments() -> None:
    found = segments_of([row("one")], *[[]] * 8, [row("one")], *[[]] * 9)
    assert found == [(0.0, 0.3, "one"), (4.3, 4.8, "one")]


def test_the_reading_with_the_most_confidence_is_the_text() -> None:
    readings = [("wide rivet", 0.6), ("wide river", 0.97), ("wide river", 0.9), ("wde rver", 0.7)]
    pictures = [[row(text, confidence)] for text, confidence in readings]
    assert segments_of(*pictures) == [(0.0, 2.0, "wide river")]


def test_a_caption_that_fades_is_not_read_twice() -> None:
    faded = [row("lt is a lng cantion", 0.62)]
    blended = [row("lt is a lng sentence", 0.85)]
    clear = [row("It is a long sentence", 0.99)]
    assert segments_of(faded, clear, clear, blended, []) == [(0.3, 1.8, "It is a long sentence")]


def test_words_that_appear_one_by_one_are_one_segment() -> None:
    pictures = [[row(text)] for text in ("We", "We walk", "We walk home", "We walk home")]
    assert segments_of(*pictures, []) == [(0.0, 1.8, "We walk home")]


def test_a_watermark_that_flickers_is_one_segment() -> None:
    mark = row("@river", place="top")
    pictures = [[mark], [mark], [mark], [], [], [], [], [mark], [mark], [mark], [mark], [mark]]
    assert segments_of(*pictures) == [(0.0, 6.0, "@river")]


def test_rows_that_come_and_go_together_are_one_segment() -> None:
    both = [row("first row"), row("second row", place="below")]
    assert segments_of(both, both, []) == [(0.0, 0.8, "first row second row")]
    assert segments_of(both, [row("first row")], [row("first row")], []) == [
        (0.0, 1.3, "first row"), (0.0, 0.3, "second row"),
    ]  # fmt: skip
    apart = [row("first row"), row("title", place="top")]
    assert [text for _, _, text in segments_of(apart, apart)] == ["title", "first row"]


def test_lines_of_a_drawing_are_no_text() -> None:
    assert segments_of([row("--|"), row("•", place="top")]) == []


def test_pieces_of_a_row_are_joined() -> None:
    pieces = [
        Row(Box(0.52, 0.80, 0.8, 0.86), "谢谢大家！", 0.9),
        Row(Box(0.1, 0.80, 0.5, 0.86), "请订阅，", 0.8),
        Row(Box(1.2, 0.80, 1.5, 0.86), "@river", 0.9), Row(Box(0.1, 0.90, 0.5, 0.96), "below", 0.9),
    ]  # fmt: skip
    joined = in_reading_order(join_pieces(pieces))
    assert [one.text for one in joined] == ["请订阅，谢谢大家！", "@river", "below"]
    assert joined[0] == Row(Box(0.1, 0.80, 0.8, 0.86), "请订阅，谢谢大家！", 0.8)


def test_rows_are_read_line_by_line() -> None:
    boxes = {
        "d": Box(0.6, 0.52, 0.9, 0.60), "a": Box(0.1, 0.10, 0.4, 0.2), "c": Box(0.1, 0.5, 0.4, 0.6),
        "b": Box(0.6, 0.09, 0.9, 0.18),
    }  # fmt: skip
    rows = [Row(box, text, 1.0) for text, box in boxes.items()]
    assert "".join(one.text for one in in_reading_order(rows)) == "abcd"


def test_a_result_beyond_the_bound_loses_its_shortest_segments() -> None:
    segments = [
        Segment(start=number, end=number + 1 + number % 7, text="x" * 500, source="frame")
        for number in range(20_000)
    ]
    kept = bound_segments(segments)
    assert sum(len(one.text) + 70 for one in kept) < LARGEST_RESULT
    assert len(kept) > 9_000
    assert min(one.end - one.start for one in kept) >= 4
    assert bound_segments(segments[:10]) == segments[:10]


def test_a_text_that_moves_is_one_segment() -> None:
    news = "突发新闻：河上的老桥今天重新开放，市民前来参观"
    parts = [news[max(0, shown - 12) : shown] for shown in range(2, len(news) + 12, 3)]
    assert segments_of(*([row(part)] for part in parts), []) == [(0.0, 5.3, news)]
    steps = [f"Step {number} of 9: open the box" for number in range(1, 5)]
    assert [text for _, _, text in segments_of(*([row(step)] for step in steps))] == steps


@pytest.mark.parametrize(
    ("text", "part", "longer"),
    [
        ("Breaking news: th", "Breaking news: the bri", "Breaking news: the bri"),
        ("the bridge over", "dge over the river", "the bridge over the river"),
        ("the bridgeover", "idge over the", "the bridge over the"),
        ("the bridge ovex", "ridge over the", "the bridge over the"),
        ("the bridge", "another text", None),
        ("the bridge is closed", "the bridge", None),
    ],
)
def test_the_next_part_of_a_moving_text_continues_it(
    text: str, part: str, longer: str | None
) -> None:
    assert continue_text(text, part) == longer
