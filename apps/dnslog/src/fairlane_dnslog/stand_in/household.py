"""A household of fourteen devices: their interests, their hours, and their upstream servers."""

from typing import Final, NamedTuple


class Device(NamedTuple):
    name: str
    ip: str
    weight: float  # its part of the queries, if all devices are awake
    hours: tuple[float, ...]  # 24 weights of activity
    interests: dict[str, float]  # groups of domains, with their weights
    registered: bool = True  # the administrator gave it its name


class Upstream(NamedTuple):
    address: str
    weight: float
    median_ms: float
    slow_share: float  # of answers that take seconds


UPSTREAMS: Final = (
    Upstream("https://dns10.quad9.net:443/dns-query", 5.0, 17.0, 0.002),
    Upstream("tls://resolver.copperline.net:853", 3.0, 9.0, 0.001),
    Upstream("quic://dns.northbeacon.org:853", 2.0, 26.0, 0.004),
    Upstream("192.168.178.1:53", 1.0, 48.0, 0.02),
)

# Twenty-four hours from midnight, from 0 (asleep) to 9.
_ALWAYS: Final = "999999999999999999999999"
_EVENING: Final = "210000123322334445678974"
_CHILD: Final = "000000230000226887762000"
_OFFICE: Final = "000000258999789998421111"
_PHONE: Final = "311112478666766678999985"


def _device(
    name: str, number: int, weight: float, hours: str, interests: str, *, registered: bool = True
) -> Device:
    pairs = (part.rsplit("=", 1) for part in interests.split(", "))
    return Device(
        name,
        f"192.168.178.{number}",
        weight,
        tuple(int(digit) + 0.15 for digit in hours),
        {group: float(share) for group, share in pairs},
        registered,
    )


DEVICES: Final = (
    _device(
        "Anna phone", 21, 9, _PHONE,
        "sites de=9, sites fr=4, instagram=5, whatsapp=6, spotify=3, ads=6, trackers=7, claude=1, "
        "amazon=2, system=1",
    ),
    _device(
        "Anna laptop", 22, 8, _OFFICE,
        "work=9, sites de=8, sites en=6, sites nl=2, ads=4, trackers=5, claude=3, system=2",
    ),
    _device(
        "Jun phone", 23, 9, _PHONE,
        "sites zh=9, sites ja=4, sites en=5, reddit=4, signal=4, ads=6, trackers=7, chatgpt=2, "
        "system=1",
    ),
    _device(
        "Jun laptop", 24, 7, _OFFICE,
        "work=8, sites en=9, sites zh=5, sites ko=3, chatgpt=3, perplexity=2, ads=4, trackers=5",
    ),
    _device(
        "Mia tablet", 31, 6, _CHILD,
        "sites de=5, sites en=4, youtube=8, roblox=5, chatgpt=4, gemini=2, ads=7, trackers=6",
    ),
    _device(
        "Leo tablet", 32, 6, _CHILD,
        "sites de=5, sites es=4, tiktok=7, minecraft=4, chatgpt=3, claude=1, ads=7, trackers=6",
    ),
    _device("Leo console", 33, 3, _CHILD, "minecraft=4, twitch=4, steam=3, discord=3, system=1"),
    _device("Living room TV", 41, 5, _EVENING, "netflix=7, youtube=6, ads=5, trackers=7, system=1"),
    _device("Kitchen speaker", 42, 2, _ALWAYS, "spotify=5, smart home=3, system=2"),
    _device("Door camera", 43, 2, _ALWAYS, "smart home=9, system=1"),
    _device("Vacuum", 44, 1, _ALWAYS, "smart home=6, trackers=2"),
    _device("NAS", 51, 2, _ALWAYS, "system=6, sites en=1, sites it=1, sites pt=1"),
    _device(
        "Grandfather PC", 61, 3, _OFFICE,
        "sites pl=8, sites ru=5, sites el=3, sites tr=3, sites sv=3, ads=8, trackers=7",
    ),
    _device(
        "guest-7f3a", 107, 2, _EVENING,
        "sites en=4, sites it=4, sites pt=4, sites es=4, sites tr=3, instagram=2, ads=3",
        registered=False,
    ),
)  # fmt: skip
