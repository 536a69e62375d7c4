"""Exports: every format, and texts that try to break it."""

import json
import re

import msgspec
import pysubs2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from apps.extractor.tests.stores import result
from fairlane import BadSetting
from fairlane_extractor.characters import flat
from fairlane_extractor.exports import FORMATS, MEDIA_TYPES, export
from fairlane_extractor.results import StoredResult
from fairlane_extractor.segments import Line

TALK = result(
    1,
    title="A talk",
    lines=(
        Line(start=0, end=1.5, text="Good morning.", sources=("speech",), paragraph=0),
        Line(start=2, end=3, text="RIVERS", sources=("frame",), paragraph=1),
        Line(start=2.25, end=2.25, text="We talk", sources=("subtitle", "frame"), paragraph=0),
        Line(start=3725.5, end=3726, text="今天", sources=("speech",), paragraph=2),
        Line(start=3726, end=3727, text="我们", sources=("speech",), paragraph=2),
    ),
)

HOSTILE = [
    "00:00:01,000 --> 00:00:02,000",
    "a\n\n2\n00:00:05,000 --> 00:00:06,000\ninjected",
    "a\r\n\r\nNOTE injected\r\n\r\nSTYLE\n::cue{}",
    "<b>bold</b> <i>x <script>alert(1)</script> <c.red>a</c> <v Ann>b &lt; &amp;",
    "{\\an8}{\\pos(1,1)}top {b}",
    "# heading\n- item\n1. one\n> quote\n```code```\n~~~\n---\n***",
    "[link](javascript:alert(1)) ![image](http://evil.example/a.png) <http://evil.example>",
    "https://evil.example www.evil.example a|b|c\n|-|-|\n`code` *a* _b_ **c** ~~d~~ $x$ \\ &nbsp;",
    "\x00\x1b[2Ja\u2028b\ud800",
    "Kommentar #",
    "  indented\tcode",
    "WEBVTT",
    "1",
]


def with_texts(*texts: str) -> StoredResult:
    lines = tuple(
        Line(start=5.0 * n, end=5.0 * n + 4, text=text, sources=("speech",), paragraph=n)
        for n, text in enumerate(texts)
    )
    return result(1, title=texts[0], input=texts[-1], lines=lines)


def test_text_is_one_paragraph_after_the_other() -> None:
    assert export(TALK, "txt") == "Good morning. We talk\n\nRIVERS\n\n今天我们\n"


def test_srt_has_numbered_cues_with_times() -> None:
    assert export(TALK, "srt").startswith(
        "1\n00:00:00,000 --> 00:00:01,500\nGood morning.\n\n"
        "2\n00:00:02,000 --> 00:00:03,000\nRIVERS\n\n"
        "3\n00:00:02,250 --> 00:00:02,750\nWe talk\n\n"
        "4\n01:02:05,500 --> 01:02:06,000\n今天\n"
    )


def test_vtt_has_a_header_and_times_with_a_point() -> None:
    assert export(TALK, "vtt").startswith(
        "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nGood morning.\n\n00:00:02.000 -->"
    )


def test_markdown_has_a_title_a_source_and_times() -> None:
    assert export(TALK, "md") == (
        "# A talk\n\nSource: https\\://video.example/1\n\n**0:00** Good morning. We talk\n\n"
        "> **0:02** RIVERS\n\n**1:02:05** 今天我们\n"
    )


def test_json_is_the_whole_result() -> None:
    text = export(TALK, "json")
    assert msgspec.json.decode(text, type=StoredResult) == TALK
    assert json.loads(text)["lines"][1]["sources"] == ["frame"]
    assert text.endswith("}\n")


@pytest.mark.parametrize("format", FORMATS)
def test_a_result_without_lines_is_a_file_too(format: str) -> None:
    text = export(result(1, "", " "), format)  # type: ignore[arg-type]
    assert "-->" not in text
    assert format in MEDIA_TYPES


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(BadSetting, match='"exe" is not a format; expected one of: txt, srt'):
        export(TALK, "exe")  # type: ignore[arg-type]


def assert_whole(texts: list[str]) -> None:
    """Assert that each format has one entry per text, and that it shows that text."""
    hostile = with_texts(*texts)
    visible = [flat(text) for text in texts if flat(text)]
    srt = export(hostile, "srt")
    blocks = [one.strip("\n").split("\n") for one in srt.split("\n\n") if one]
    assert [block[0] for block in blocks] == [str(n + 1) for n in range(len(visible))]
    assert [len(block) for block in blocks] == [3] * len(visible)
    assert [block[1].count("-->") for block in blocks] == [1] * len(visible)
    assert srt.count("-->") == len(visible)
    assert len(pysubs2.SSAFile.from_string(srt, "srt") if visible else []) == len(visible)
    assert not re.search(r"<[a-z/!]|\{\\", srt)
    vtt = export(hostile, "vtt").removeprefix("WEBVTT\n\n")
    cues = [one for one in vtt.split("\n\n") if one.strip()] if visible else []
    assert [_unescaped(one.strip("\n").split("\n", 1)[1]) for one in cues] == visible
    assert [one.count("-->") for one in cues] == [1] * len(cues)
    text = export(hostile, "txt")
    assert text.splitlines()[::2] == visible
    assert_markdown(export(hostile, "md"), flat(texts[0]), flat(texts[-1]), visible)
    json.loads(export(with_texts(*(flat(text) for text in texts)), "json"))


def _unescaped(text: str) -> str:
    assert not re.search("[<>]", text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def assert_markdown(text: str, title: str, source: str, visible: list[str]) -> None:
    """Assert that the only markup is ours."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    kinds = {token.type for token in tokens}
    assert kinds <= {"heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline"}
    inner = [token.children or [] for token in tokens if token.type == "inline"]
    shown = ["".join(child.content for child in children) for children in inner]
    for children in inner:
        assert {child.type for child in children} <= {
            "text",
            "text_special",
            "strong_open",
            "strong_close",
        }
    assert shown[0] == (title or "Text")
    assert shown[1] == f"Source: {source}".strip()
    assert [re.sub(r"^[0-9:]+ ", "", one, count=1) for one in shown[2:]] == visible
    assert not re.search(r"(?<!\\)(https?://|www\.)", text)


def test_no_text_breaks_a_format() -> None:
    assert_whole(HOSTILE)
    for text in HOSTILE:
        assert_whole([text])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.text(
            st.sampled_from("ab1 \n\r\x85\u2028\t-->#*_`~[]()<>!&|\\{}$@.:/wW+=今，"), max_size=20
        ),
        min_size=1,
        max_size=4,
    )
)
def test_no_combination_of_signs_breaks_a_format(texts: list[str]) -> None:
    assert_whole(texts)
