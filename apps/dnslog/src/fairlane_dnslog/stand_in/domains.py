"""The domains that a household visits: some thirty thousand invented sites, their parts, and the
advertisers and trackers that the block list of the stand-in names.

The sites depend on the seed alone, so two processes with one seed have the same household.
"""

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from fairlane_dnslog.stand_in.services import SERVICES
from fairlane_dnslog.stand_in.words import LANGUAGES, Language

SITES_PER_LANGUAGE: Final = 650
_PARTS: Final = ("", "www.", "api.", "img.", "cdn.", "static.", "m.", "login.")
_AD_WORDS: Final = (
    "ads",
    "adserv",
    "banner",
    "bid",
    "click",
    "pixel",
    "pop",
    "promo",
    "spot",
    "sponsor",
)
_TRACK_WORDS: Final = (
    "beacon",
    "collect",
    "count",
    "events",
    "log",
    "measure",
    "metrics",
    "stats",
    "tag",
    "telemetry",
)
_TRADE: Final = (
    "atlas",
    "blip",
    "comet",
    "delta",
    "echo",
    "flux",
    "grid",
    "halo",
    "ionic",
    "jolt",
    "kite",
    "loop",
    "mint",
    "nova",
)
_TRADE_ENDINGS: Final = ("com", "net", "io", "biz")
_SYSTEM: Final = (
    "time.kitchenclock.net",
    "ntp.pool-of-clocks.org",
    "updates.lanternos.com",
    "push.lanternos.com",
    "captive.lanternos.com",
    "mirror.quillpackages.org",
    "ocsp.northseal.com",
    "crl.northseal.com",
)
_SMART: Final = (
    "api.hearthhome.io",
    "mqtt.hearthhome.io",
    "weather.hearthhome.io",
    "cloud.brightbulb.net",
    "events.doorcam.tv",
    "firmware.doorcam.tv",
    "metrics.dustbot.com",
)
_WORK: Final = tuple(
    f"{part}.{site}"
    for site in ("brunnen-software.de", "copperfield-office.com", "paperboat.io")
    for part in ("mail", "vpn", "git", "wiki", "chat", "calendar", "sso", "files")
)


class Domains(NamedTuple):
    """Domains by the kind of their use; the first of a group are visited most."""

    groups: dict[str, Sequence[str]]
    blocked: Sequence[str]  # the registrable names on the block list


@lru_cache(maxsize=4)
def make_domains(seed: int) -> Domains:
    chance = random.Random(f"domains {seed}")
    groups: dict[str, Sequence[str]] = {}
    for language in LANGUAGES:
        groups[f"sites {language.code}"] = _sites(language, chance)
    advertisers = _traders(_AD_WORDS, chance)
    trackers = _traders(_TRACK_WORDS, chance)
    groups["ads"] = [f"{part}{name}" for name in advertisers for part in ("", "eu.", "cdn.")]
    groups["trackers"] = [f"{part}{name}" for name in trackers for part in ("", "in.", "v2.")]
    groups["system"] = _SYSTEM
    groups["smart home"] = _SMART
    groups["work"] = _WORK
    for service in SERVICES:
        groups[service.id] = service.hosts
    return Domains(groups, (*advertisers, *trackers, "metrics.dustbot.com"))


def _sites(language: Language, chance: random.Random) -> list[str]:
    pairs = [(first, second) for first in language.words for second in language.words]
    chance.shuffle(pairs)
    hosts: list[str] = []
    for first, second in pairs[:SITES_PER_LANGUAGE]:
        name = first if first == second else first + chance.choice(("", "-")) + second
        site = f"{name.encode('idna').decode()}.{chance.choice(language.endings)}"
        parts = [*chance.sample(_PARTS[1:], 2), "", chance.choice(("shop.", "blog.", "forum."))]
        hosts.extend(part + site for part in parts)
    return hosts


def _traders(words: Sequence[str], chance: random.Random) -> list[str]:
    names = [f"{trade}{word}" for word in words for trade in _TRADE]
    chance.shuffle(names)
    return [f"{name}.{chance.choice(_TRADE_ENDINGS)}" for name in names]
