"""The queries of a household, as a function of the seed and of time.

Queries are computed when time has passed, not at their instant: a thread that sleeps before each
of two hundred queries a second would use more of the processor than the queries.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from fairlane_dnslog.stand_in.domains import Domains
from fairlane_dnslog.stand_in.household import DEVICES, UPSTREAMS, Device
from fairlane_dnslog.timestamps import SECOND_NS

HOUR_NS: Final = 3600 * SECOND_NS
MOST_CACHED: Final = 20_000
_TYPES: Final = ("A", "AAAA", "HTTPS", "TXT", "SRV")
_TYPE_WEIGHTS: Final = (58.0, 84.0, 98.0, 99.0, 100.0)  # cumulative


class PlannedQuery(NamedTuple):
    at_ns: int
    device: Device
    domain: str
    qtype: str


class Resolution(NamedTuple):
    upstream: str
    elapsed_us: int
    cached: bool
    status: str


class Traffic:
    def __init__(
        self, domains: Domains, *, seed: int, rate: float, start_ns: int, offset_minutes: int = 0
    ) -> None:
        self._chance = random.Random(f"traffic {seed} {start_ns}")
        self._groups = domains.groups
        self._offset_ns = offset_minutes * 60 * SECOND_NS
        self._by_hour = [
            list(accumulate(device.weight * device.hours[hour] for device in DEVICES))
            for hour in range(24)
        ]
        self._interests = {
            device.name: (list(device.interests), list(accumulate(device.interests.values())))
            for device in DEVICES
        }
        self._upstreams = list(accumulate(upstream.weight for upstream in UPSTREAMS))
        self._cache: dict[tuple[str, str], int] = {}  # the instant at which an answer expires
        self._rate = rate
        self._next_ns = start_ns

    def set_rate(self, rate: float, now_ns: int) -> None:
        self._rate = rate
        self._next_ns = max(self._next_ns, now_ns)

    def until(self, now_ns: int) -> Iterator[PlannedQuery]:
        """Yield the queries from the last call to now, at the rate, in the order of time."""
        if self._rate <= 0:
            self._next_ns = max(self._next_ns, now_ns)
            return
        while self._next_ns <= now_ns:
            yield self._plan(self._next_ns)
            self._next_ns += 1 + int(self._chance.expovariate(self._rate) * SECOND_NS)

    def history(self, *, start_ns: int, end_ns: int, per_day: int) -> Iterator[PlannedQuery]:
        """Yield the queries of past days, more in the evening than at night."""
        activity = [weights[-1] for weights in self._by_hour]
        for hour_ns in range(start_ns, end_ns, HOUR_NS):
            share = activity[self._hour(hour_ns)] / sum(activity)
            length = min(HOUR_NS, end_ns - hour_ns)
            count = round(per_day * share * length / HOUR_NS * self._chance.uniform(0.8, 1.2))
            # A set, because two queries of one instant could be the same query.
            for at_ns in sorted({hour_ns + self._chance.randrange(length) for _ in range(count)}):
                yield self._plan(at_ns)

    def resolve(self, query: PlannedQuery) -> Resolution:
        """Return how long a query takes that is not blocked, and by which upstream."""
        key = (query.domain, query.qtype)
        if self._cache.get(key, 0) > query.at_ns:
            return Resolution("", self._chance.randrange(30, 400), True, "NOERROR")
        if len(self._cache) >= MOST_CACHED:
            self._cache.clear()
        self._cache[key] = query.at_ns + self._chance.randrange(30, 600) * SECOND_NS
        [upstream] = self._chance.choices(UPSTREAMS, cum_weights=self._upstreams)
        elapsed_ms = upstream.median_ms * self._chance.lognormvariate(0, 0.5)
        if self._chance.random() < upstream.slow_share:
            elapsed_ms = self._chance.uniform(2_000, 9_000)
        status = "NXDOMAIN" if self._chance.random() < 0.01 else "NOERROR"
        return Resolution(upstream.address, round(elapsed_ms * 1000), False, status)

    def _plan(self, at_ns: int) -> PlannedQuery:
        weights = self._by_hour[self._hour(at_ns)]
        [device] = self._chance.choices(DEVICES, cum_weights=weights)
        names, shares = self._interests[device.name]
        [group] = self._chance.choices(names, cum_weights=shares)
        [qtype] = self._chance.choices(_TYPES, cum_weights=_TYPE_WEIGHTS)
        return PlannedQuery(at_ns, device, self._pick(self._groups[group]), qtype)

    def _pick(self, domains: Sequence[str]) -> str:
        """Return a domain; the first of a group are visited far more often than the last."""
        return domains[int(len(domains) * self._chance.random() ** 3)]

    def _hour(self, at_ns: int) -> int:
        return (at_ns + self._offset_ns) // HOUR_NS % 24
