"""The platform of an input, and the link inside it.

An input is the path of a file, a link, or a text that an app copied, with one link in it:
"看看这个 https://v.douyin.com/abc/ 复制此链接". Some platforms share short links, which lead to
the page of the media by a redirect.
"""

import re
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from fairlane_extractor.media import InputKind

LOCAL: Final = "local"
WEB: Final = "web"  # a link to any other host

_HOSTS: Final = {
    "bilibili": ("bilibili.com", "bilibili.tv", "b23.tv", "bili2233.cn"),
    "dailymotion": ("dailymotion.com", "dai.ly"),
    "douyin": ("douyin.com", "iesdouyin.com"),
    "facebook": ("facebook.com", "fb.watch"),
    "instagram": ("instagram.com",),
    "iqiyi": ("iqiyi.com", "iq.com"),
    "kuaishou": ("kuaishou.com", "chenzhongtech.com", "gifshow.com"),
    "tencent": ("v.qq.com", "weixin.qq.com"),
    "tiktok": ("tiktok.com",),
    "twitch": ("twitch.tv",),
    "vimeo": ("vimeo.com",),
    "weibo": ("weibo.com", "weibo.cn", "t.cn"),
    "x": ("x.com", "twitter.com", "t.co"),
    "xiaohongshu": ("xiaohongshu.com", "xhslink.com"),
    "xigua": ("ixigua.com",),
    "youku": ("youku.com",),
    "youtube": ("youtube.com", "youtu.be", "youtube-nocookie.com"),
    "zhihu": ("zhihu.com",),
}
PLATFORMS: Final = tuple(_HOSTS)
_PLATFORM_OF_HOST: Final = {host: name for name, hosts in _HOSTS.items() for host in hosts}

SHORT_HOSTS: Final = frozenset({
    "b23.tv", "bili2233.cn", "t.cn", "t.co", "v.douyin.com", "v.kuaishou.com", "vm.tiktok.com",
    "vt.tiktok.com", "xhslink.com",
})  # fmt: skip

_PATH_STARTS: Final = ("/", "~/", "./", "../")
# In a copied text, Chinese characters may follow a link without a space.
_LINK: Final = re.compile(r"https?://[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+", re.IGNORECASE)
_WHOLE_LINK: Final = re.compile(r"https?://\S+", re.IGNORECASE)
_BARE_LINK: Final = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}/\S*", re.IGNORECASE)
_PLAIN_HOST: Final = re.compile(r"[a-z0-9._-]+")
_AFTER_LINK: Final = ".,;:!?'*"
_DOUYIN_SHARE: Final = re.compile(r"/(?:share/)?(?:video|note|slides)/(\d+)")


def classify(input: str) -> InputKind:
    """Return whether an input is a link (or has one) or the path of a file."""
    return "file" if link_in(input) is None else "link"


def platform_of(input: str) -> str:
    """Return the platform of an input: "bilibili", "douyin", …, "web" or "local"."""
    link = link_in(input)
    return LOCAL if link is None else platform_of_link(link)


def platform_of_link(link: str) -> str:
    """Return the platform of the host of a link, or of a domain above it."""
    labels = host_of(link).split(".")
    domains = (".".join(labels[start:]) for start in range(len(labels)))
    return next((_PLATFORM_OF_HOST[name] for name in domains if name in _PLATFORM_OF_HOST), WEB)


def link_in(input: str) -> str | None:
    """Return the link of an input, the first one of a known platform if it has several."""
    text = input.strip()
    if text.startswith(_PATH_STARTS):
        return None
    if _BARE_LINK.fullmatch(text) and platform_of_link(f"https://{text}") != WEB:
        return f"https://{text}"
    if _WHOLE_LINK.fullmatch(text):
        text = _with_plain_host(text)
        if platform_of_link(text) == WEB:
            return text if host_of(text) else None  # with all its characters, ASCII or not
    found = map(_without_punctuation, _LINK.findall(text))
    links = [_with_plain_host(link) for link in found if host_of(link)]
    known = (link for link in links if platform_of_link(link) != WEB)
    return next(known, links[0] if links else None)


def is_short(link: str) -> bool:
    """Return whether a link has to be resolved by following its redirects."""
    return host_of(link) in SHORT_HOSTS


def canonical_link(link: str) -> str:
    """Return a link in the form that yt-dlp knows: shared pages of Douyin have another one."""
    if platform_of_link(link) != "douyin":
        return link
    parts = urlsplit(link)
    found = _DOUYIN_SHARE.search(parts.path)
    number = found[1] if found else parse_qs(parts.query).get("modal_id", [""])[0]
    return f"https://www.douyin.com/video/{number}" if number.isdecimal() else link


def host_of(link: str) -> str:
    """Return the plain host of a link, or an empty text if the link has none."""
    try:
        host = urlsplit(link).hostname or ""
    except ValueError:
        return ""
    return _plain_host(host).removeprefix("www.").rstrip(".")


def _plain_host(host: str) -> str:
    """Return the name that yt-dlp connects to: decoded, in lower case, with the usual dots."""
    try:
        plain = unquote(host).encode("idna").decode().lower()
    except UnicodeError:
        return host
    return plain if _PLAIN_HOST.fullmatch(plain) else host


def _with_plain_host(link: str) -> str:
    """Return a link of a known platform with its plain host, by which yt-dlp knows the site."""
    if platform_of_link(link) == WEB:
        return link
    parts = urlsplit(link)
    host = parts.hostname or ""
    plain = _plain_host(host)
    if plain == host:
        return link
    user, at, place = parts.netloc.rpartition("@")
    _, colon, port = place.partition(":")
    return parts._replace(netloc=f"{user}{at}{plain}{colon}{port}").geturl()


def _without_punctuation(link: str) -> str:
    """Remove the end of a sentence, and a bracket that was opened before the link."""
    link = link.rstrip(_AFTER_LINK)
    while link.endswith(")") and link.count(")") > link.count("("):
        link = link[:-1].rstrip(_AFTER_LINK)
    return link
