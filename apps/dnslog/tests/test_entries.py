import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlane_dnslog.entries import (
    LONGEST_DOMAIN,
    AdGuardRow,
    BadRow,
    LogPage,
    QueryEntry,
    make_entry,
)
from fairlane_dnslog.timestamps import BadTime, format_time_ns, parse_time_ns

ROW = {
    "time": "2026-11-18T09:00:00.123456789+01:00",
    "question": {"name": "ads.example", "type": "A", "class": "IN"},
    "client": "192.168.1.5",
    "client_info": {"name": "Mia tablet", "whois": {}, "disallowed": False},
    "status": "NOERROR",
    "reason": "FilteredBlackList",
    "rules": [{"filter_list_id": 1, "text": "||ads.example^"}],
    "service_name": "",
    "upstream": "",
    "elapsedMs": "0.123456",
    "cached": False,
    "answer": [{"type": "A", "value": "0.0.0.0", "ttl": 10}],  # noqa: S104 - an answer, no address to bind
}


def entry_of(**changes: object) -> QueryEntry:
    return make_entry(msgspec.convert(ROW | changes, AdGuardRow))


@pytest.mark.parametrize(
    ("text", "fraction"),
    [
        ("2026-11-18T08:00:00Z", 0),
        ("2026-11-18T09:00:00+01:00", 0),
        ("2026-11-18T02:30:00-05:30", 0),
        ("2026-11-18T08:00:00.1Z", 100_000_000),
        ("2026-11-18T08:00:00.123456789Z", 123_456_789),
        ("2026-11-18t08:00:00.000000001z", 1),
    ],
)
def test_every_form_of_a_time_is_read_to_the_nanosecond(text: str, fraction: int) -> None:
    assert parse_time_ns(text) == 1_794_988_800 * 10**9 + fraction


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-11-18",
        "2026-11-18T08:00:00",
        "2026-02-30T08:00:00Z",
        "2026-11-18T24:00:00Z",
        "2026-11-18T08:00:00.1234567890Z",
        "2026-11-18T08:00:00+24:00",
        "1969-12-31T23:59:59Z",
        "9999-12-31T23:59:59Z",
        "２０２６-11-18T08:00:00Z",
        "2026-11-18T08:00:00Z\n",
    ],
)
def test_other_texts_are_no_times(text: str) -> None:
    with pytest.raises(BadTime, match="RFC 3339"):
        parse_time_ns(text)


@given(
    st.integers(min_value=10**18, max_value=9 * 10**18),
    st.integers(min_value=-840, max_value=840),
)
def test_a_formatted_time_is_read_back(at_ns: int, offset_minutes: int) -> None:
    assert parse_time_ns(format_time_ns(at_ns, offset_minutes=offset_minutes)) == at_ns


def test_a_row_becomes_an_entry_with_its_raw_time() -> None:
    entry = entry_of()

    assert entry.time == ROW["time"]
    assert entry.at_ns % 10**9 == 123_456_789
    assert (entry.domain, entry.qtype, entry.client) == ("ads.example", "A", "192.168.1.5")
    assert (entry.client_name, entry.rule) == ("Mia tablet", "||ads.example^")
    assert (entry.blocked, entry.elapsed_us, entry.cached) == (True, 123, False)


def test_a_row_with_only_its_identity_is_enough() -> None:
    row = {"time": ROW["time"], "question": {"name": "a.example"}}
    row |= {"rules": None, "client_info": None, "elapsedMs": None, "status": None}

    entry = make_entry(msgspec.convert(row, AdGuardRow))

    assert (entry.domain, entry.client, entry.reason, entry.blocked) == ("a.example", "", "", False)


@pytest.mark.parametrize(
    "reason", ["NotFilteredNotFound", "NotFilteredWhiteList", "FilteredSafeSearch", "Rewrite"]
)
def test_an_answered_query_is_not_blocked(reason: str) -> None:
    assert not entry_of(reason=reason).blocked


def test_control_characters_become_their_notation_in_domain_names() -> None:
    entry = entry_of(question={"name": "a\x00b\x1b[31m\u2028.example", "type": "A\n"})

    assert entry.domain == "a\\000b\\027[31m\ufffd.example"
    assert entry.qtype == "A\\010"


@given(st.text(max_size=3000))
def test_no_text_is_unbounded_or_unprintable(text: str) -> None:
    entry = entry_of(
        question={"name": "x" + text, "type": text}, client=text, upstream=text, reason=text
    )

    assert len(entry.domain) <= LONGEST_DOMAIN
    for value in (entry.domain, entry.qtype, entry.client, entry.upstream, entry.reason):
        value.encode()
        assert not any(ord(character) < 32 for character in value)


def test_markup_and_punycode_are_stored_as_they_are() -> None:
    for name in ("<script>alert(1)</script>.example", "xn--bcher-kva.example", "a" * 253):
        assert entry_of(question={"name": name}).domain == name


@pytest.mark.parametrize("elapsed", ["", "fast", "nan", "inf", "-inf"])
def test_a_duration_is_a_number_or_missing(elapsed: str) -> None:
    if elapsed:
        with pytest.raises(BadRow, match="elapsedMs"):
            entry_of(elapsedMs=elapsed)
    else:
        assert entry_of(elapsedMs=elapsed).elapsed_us == 0


@pytest.mark.parametrize(
    ("elapsed", "stored"),
    [("-5", 0), (12.5, 12_500), ("1e300", 86_400 * 10**6), ("1e307", 86_400 * 10**6)],
)
def test_a_duration_has_bounds(elapsed: object, stored: int) -> None:
    assert entry_of(elapsedMs=elapsed).elapsed_us == stored


def test_a_row_without_a_domain_is_refused() -> None:
    with pytest.raises(BadRow, match=r"question\.name is missing"):
        entry_of(question={"type": "A"})


def test_a_query_of_the_root_has_a_name() -> None:
    assert entry_of(question={"name": "", "type": "NS"}).domain == "."
    assert entry_of(question={"name": ".", "type": "NS"}).domain == "."


def test_a_digest_depends_on_server_time_domain_type_and_client() -> None:
    digests = {
        entry_of().digest("home"),
        entry_of().digest("office"),
        entry_of(time="2026-11-18T09:00:00.123456788+01:00").digest("home"),
        entry_of(question={"name": "b.example", "type": "A"}).digest("home"),
        entry_of(question={"name": "ads.example", "type": "AAAA"}).digest("home"),
        entry_of(client="192.168.1.6").digest("home"),
    }

    assert len(digests) == 6
    assert {len(digest) for digest in digests} == {16}


def test_one_instant_in_two_notations_is_one_query() -> None:
    utc = entry_of(time="2026-11-18T08:00:00.123456789Z")

    assert utc.digest("home") == entry_of().digest("home")
    assert utc.time != entry_of().time


def test_wrong_types_name_their_place() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.data\[0\]\.time"):
        msgspec.json.decode(b'{"data":[{"time":5,"question":{}}],"oldest":""}', type=LogPage)
