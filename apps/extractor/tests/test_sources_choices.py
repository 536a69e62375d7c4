"""Which addresses are private, which formats are downloaded, and which subtitles."""

from ipaddress import ip_address
from typing import Any

import pytest

from fairlane_extractor.sources.address_guard import AllowedAddresses, is_private
from fairlane_extractor.sources.format_choice import choose_formats
from fairlane_extractor.sources.subtitle_choice import choose_subtitles


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("127.0.0.1", True), ("10.1.2.3", True), ("192.168.0.1", True), ("169.254.169.254", True),
        ("100.64.0.1", True), ("0.0.0.0", True),  # noqa: S104 - it is refused
        ("224.0.0.1", True), ("::1", True),
        ("fe80::1", True), ("fd00::1", True), ("::ffff:127.0.0.1", True), ("2002:7f00:1::", True),
        ("64:ff9b::10.0.0.1", True), ("fec0::1", True),
        ("93.184.215.14", False), ("2606:2800:21f::1", False), ("64:ff9b::5db8:d70e", False),
    ],
)  # fmt: skip
def test_addresses_outside_the_public_internet_are_private(text: str, private: bool) -> None:
    assert is_private(ip_address(text)) is private


def test_hosts_ports_and_networks_can_be_allowed() -> None:
    allowed = AllowedAddresses(["127.0.0.1:8080", "10.1.0.0/16", "[::1]:80", "localhost:9000"])
    permitted = [
        ("127.0.0.1", 8080), ("10.1.255.1", 1), ("::1", 80), ("127.0.0.1", 9000),
    ]  # fmt: skip
    refused = [("127.0.0.1", 8081), ("127.0.0.2", 8080), ("10.2.0.1", 1), ("::1", 81)]
    assert all(allowed.permits(ip_address(host), port) for host, port in permitted)
    assert not any(allowed.permits(ip_address(host), port) for host, port in refused)
    assert AllowedAddresses(["127.0.0.1"]).permits(ip_address("127.0.0.1"), 5)


@pytest.mark.parametrize("entry", ["10.0.0.1/8", "a b", "http://x", "host:port", ""])
def test_an_entry_that_is_no_place_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="cannot be allowed"):
        AllowedAddresses([entry])


def make_format(id: str, height: int | None, picture: bool = True, sound: bool = True) -> Any:
    codecs = {"vcodec": "h264" if picture else "none", "acodec": "aac" if sound else "none"}
    return {"format_id": id, "height": height, "protocol": "https", "ext": "mp4", **codecs}


def chosen(*formats: dict[str, Any]) -> str | None:
    found = next(choose_formats({"formats": list(formats)}), None)
    return found["format_id"] if found else None


def test_one_file_with_sound_of_at_most_720_lines_is_preferred() -> None:
    small, good, large = (make_format(str(size), size) for size in (360, 720, 1080))
    silent = make_format("silent", 720, sound=False)
    sound = make_format("sound", None, picture=False)
    assert chosen(small, good, large) == "720"
    assert chosen(sound, silent, small, large) == "360"
    assert chosen(large) == "1080"
    assert chosen(sound, silent, large) == "silent+sound"
    assert chosen(sound, silent) == "silent+sound"
    assert chosen(sound) == "sound"
    assert chosen(silent) == "silent"
    upright = make_format("upright", 1280) | {"width": 720}
    assert chosen(small, upright, large) == "upright"
    unknown = {"format_id": "file", "protocol": "http", "ext": "mp4"}
    assert chosen(unknown) == "file"


def test_formats_that_other_programs_download_or_that_are_protected_are_left_out() -> None:
    stream = make_format("rtmp", 720) | {"protocol": "rtmp"}
    protected = make_format("drm", 720) | {"has_drm": True}
    assert chosen(stream, protected, make_format("360", 360)) == "360"
    assert chosen(stream, protected) is None


def test_subtitles_that_people_wrote_come_first_and_those_of_machines_only_alone() -> None:
    def track(format: str) -> list[dict[str, str]]:
        return [
            {"ext": "json3", "url": "https://x/j"}, {"ext": format, "url": f"https://x/{format}"},
        ]  # fmt: skip

    automatic = {"de": track("vtt"), "en": track("vtt"), "en-orig": track("vtt")}
    info: dict[str, Any] = {
        "language": "zh-Hans",
        "subtitles": {"en": track("srt"), "zh-CN": track("vtt"), "danmaku": track("vtt"),
                      "fr": [{"ext": "xml", "url": "https://x/f"}]},
        "automatic_captions": automatic,
    }  # fmt: skip
    tracks = [track for track, _ in choose_subtitles(info)]
    assert [(one.language, one.format, one.is_automatic) for one in tracks] == [
        ("zh-CN", "vtt", False),
        ("en", "srt", False),
    ]
    alone = [track for track, _ in choose_subtitles({"automatic_captions": automatic})]
    assert [(one.language, one.is_automatic) for one in alone] == [("en", True)]
    many = {"subtitles": {f"x{number}": track("vtt") for number in range(100)}}
    assert len(choose_subtitles(many)) == 8
    assert choose_subtitles({}) == []
