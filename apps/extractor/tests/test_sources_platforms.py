"""Links, short links, and texts that an app copied."""

import pytest

from fairlane_extractor.sources.platforms import (
    canonical_link,
    classify,
    is_short,
    link_in,
    platform_of,
)


@pytest.mark.parametrize(
    ("input", "platform"),
    [
        ("https://www.bilibili.com/video/BV1xx411c7mD", "bilibili"),
        ("https://b23.tv/abc", "bilibili"),
        ("https://v.douyin.com/iRNBho5m/", "douyin"),
        ("https://www.iesdouyin.com/share/video/7/", "douyin"),
        ("https://vm.tiktok.com/ZM1/", "tiktok"),
        ("http://xhslink.com/a/b", "xiaohongshu"),
        ("https://t.cn/A6x", "weibo"),
        ("https://youtu.be/dQw4w9WgXcQ", "youtube"),
        ("HTTPS://WWW.YouTube.COM/watch?v=x", "youtube"),
        ("m.youtube.com/watch?v=x", "youtube"),
        ("https://example.org/a.mp4", "web"),
        ("https://notbilibili.com/a", "web"),
        ("https://bilibili.com.example.org/a", "web"),
        ("/videos/b23.tv/clip.mp4", "local"),
        ("clip.mp4", "local"),
    ],
)
def test_a_platform_is_known_by_the_host_of_the_link(input: str, platform: str) -> None:
    assert platform_of(input) == platform
    assert classify(input) == ("file" if platform == "local" else "link")


@pytest.mark.parametrize(
    ("input", "link"),
    [
        ("3.56 看看这个 https://v.douyin.com/abc/ 复制此链接，打开Dou音搜索", "https://v.douyin.com/abc/"),
        ("https://v.douyin.com/abc/复制此链接", "https://v.douyin.com/abc/"),
        ("【标题】（https://b23.tv/x1）", "https://b23.tv/x1"),
        ("see (https://youtu.be/a_b-c), it is good.", "https://youtu.be/a_b-c"),
        ("first http://example.org/x then https://b23.tv/y", "https://b23.tv/y"),
        ("two: http://example.org/x. And http://example.org/y", "http://example.org/x"),
        ("  https://example.org/视频.mp4\n", "https://example.org/视频.mp4"),
        ("https://example.org/a_(b).mp4", "https://example.org/a_(b).mp4"),
        ("b23.tv/x1", "https://b23.tv/x1"),
        ("http://127.0.0.1:8080/clip.mp4?a=1&b=2#c", "http://127.0.0.1:8080/clip.mp4?a=1&b=2#c"),
    ],
)  # fmt: skip
def test_the_link_of_a_copied_text_is_found(input: str, link: str) -> None:
    assert link_in(input) == link


@pytest.mark.parametrize(
    "input",
    ["/videos/a https://example.org/x.mp4", "./-rf.mp4", "~/it's \"a\"\nwalk.mp4", "-clip.mp4",
     "example.org/clip.mp4", "ftp://example.org/a.mp4", "javascript:alert(1)", "https://",
     "http://[::1", "", "file:///etc/passwd"],
)  # fmt: skip
def test_other_inputs_are_paths(input: str) -> None:
    assert (link_in(input), classify(input), platform_of(input)) == (None, "file", "local")


def test_shared_links_are_resolved_and_have_a_form_that_is_known() -> None:
    assert is_short("https://v.douyin.com/abc/")
    assert not is_short("https://www.douyin.com/video/7")
    for shared in (
        "https://www.iesdouyin.com/share/video/7123/?region=CN&mid=1",
        "https://www.douyin.com/discover?modal_id=7123",
        "https://www.douyin.com/note/7123",
        "https://www.douyin.com/video/7123",
    ):
        assert canonical_link(shared) == "https://www.douyin.com/video/7123"
    assert canonical_link("https://www.douyin.com/user/x") == "https://www.douyin.com/user/x"
    assert canonical_link("https://b23.tv/video/7") == "https://b23.tv/video/7"


@pytest.mark.parametrize(
    ("input", "platform", "link"),
    [
        ("https://www.ｂｉｌｉｂｉｌｉ.com/video/BV1?p=2", "bilibili", "https://www.bilibili.com/video/BV1?p=2"),
        ("https://www.bilibili。com/video/BV1", "bilibili", "https://www.bilibili.com/video/BV1"),
        ("https://www.b%69libili.com/video/BV1", "bilibili", "https://www.bilibili.com/video/BV1"),
        ("look: https://www.b%69libili.com/a !", "bilibili", "https://www.bilibili.com/a"),
        ("https://ⓓouyin.com:443/video/7", "douyin", "https://douyin.com:443/video/7"),
        ("https://me:b@%EF%BD%82%32%33.tv/x1", "bilibili", "https://me:b@b23.tv/x1"),
        ("https://b23.tv%2Fx.example.org/a", "web", "https://b23.tv%2Fx.example.org/a"),
        ("https://bücher.example/a", "web", "https://bücher.example/a"),
        ("http://[::1]:8080/a", "web", "http://[::1]:8080/a"),
    ],
)  # fmt: skip
def test_a_host_is_read_as_the_program_that_connects_reads_it(
    input: str, platform: str, link: str
) -> None:
    assert (platform_of(input), link_in(input)) == (platform, link)
    assert is_short(link) == ("b23.tv/" in link)
