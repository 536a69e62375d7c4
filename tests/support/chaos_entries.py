"""Journal entries, as bodies and submitters would have written them."""

from typing import Any

from chaos.journal import NANO, Entry


def entry(what: str, seconds: float, **facts: Any) -> Entry:
    return Entry(what, int(seconds * NANO), 1, program=facts.pop("program", 1), **facts)


def span(job: str, begin: float, end: float | None, **facts: Any) -> list[Entry]:
    facts = {"job": job, "attempt": 1, "queue": "lanes", "wall": begin, **facts}
    ended = [] if end is None else [entry("end", end, text="done", **facts)]
    return [entry("begin", begin, **facts), *ended]


def accepted(job: str, at: float, **facts: Any) -> list[Entry]:
    facts = {"queue": "lanes", **facts}
    return [entry("asked", at, job=job, **facts), entry("acked", at + 0.1, job=job)]
