"""How often each part of the chaos on PostgreSQL happens, and how it is spread over rounds."""

from collections.abc import Mapping
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import asdict

# What is asked for on the command line, with what it counts.
PARTS: Final = {
    "kills": "kills of the leader, and as many of workers",
    "freezes": "SIGSTOP shorter than the lease, and as many longer",
    "restarts": "immediate restarts of the server",
    "terminations": "ended connections",
    "cuts": "cuts of the network",
}


class FaultCounts(Struct, frozen=True, kw_only=True):
    kills: int = 0
    freezes: int = 0
    restarts: int = 0
    terminations: int = 0
    cuts: int = 0

    @classmethod
    def of(cls, chosen: Mapping[str, int | None], *, each: int | None) -> Self:
        """Return only what was chosen, else everything, and `each` so often if that is given."""
        named = {part: many for part, many in chosen.items() if many is not None}
        if named:
            return cls(**named)
        return cls(**(dict.fromkeys(PARTS, each) if each is not None else asdict(DEFAULT_COUNTS)))

    @property
    def total(self) -> int:
        """Return how many blows there are: some parts have two sides."""
        return 2 * (self.kills + self.freezes) + self.restarts + self.terminations + self.cuts

    def arguments(self) -> list[str]:
        """Return what asks for the same on the command line."""
        return [word for part, many in asdict(self).items() for word in (f"--{part}", str(many))]

    def rounds(self) -> list["FaultCounts"]:
        """Spread everything over rounds, in each about as much of a part as usual."""
        number = max(
            -(-many * DEFAULT_ROUNDS // getattr(DEFAULT_COUNTS, part))
            for part, many in asdict(self).items()
        )
        return [
            FaultCounts(**{
                part: many * (place + 1) // number - many * place // number
                for part, many in asdict(self).items()
            })
            for place in range(number)
        ]  # fmt: skip


DEFAULT_COUNTS: Final = FaultCounts(kills=100, freezes=20, restarts=20, terminations=50, cuts=10)
DEFAULT_ROUNDS: Final = 10
