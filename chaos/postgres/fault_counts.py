"""The number of faults of each kind on PostgreSQL, and their distribution over rounds."""

from collections.abc import Mapping
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import asdict

# The options of the command line, with their meaning.
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
        """Return only the chosen kinds, else all kinds, `each` times if that is given."""
        named = {part: many for part, many in chosen.items() if many is not None}
        if named:
            return cls(**named)
        return cls(**(dict.fromkeys(PARTS, each) if each is not None else asdict(DEFAULT_COUNTS)))

    @property
    def total(self) -> int:
        """Return the number of faults: kills and freezes count twice."""
        return 2 * (self.kills + self.freezes) + self.restarts + self.terminations + self.cuts

    def arguments(self) -> list[str]:
        """Return the command-line arguments for the same counts."""
        return [word for part, many in asdict(self).items() for word in (f"--{part}", str(many))]

    def rounds(self) -> list["FaultCounts"]:
        """Spread the faults over rounds of about the default size."""
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
