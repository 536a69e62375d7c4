"""The compressor against plain loops that call the same encoder."""

from benchmarks.race import Race
from benchmarks.targets import Target

WEBP, JPEG = "200 small pictures to WebP", "200 small pictures to JPEG"
CANCEL = "cancel an encode"
OVERHEAD = 0.1
CANCEL_MS = 2_000.0


def _pictures(scenario: str, short: str, loop: str, over: str) -> Target:
    return Target(
        line=f"{scenario}: less than 10 % over {loop}",
        short=f"{short}: below 10 % over {loop}",
        value=lambda results: results.series("fairlane", scenario, over),
        form="{:.1%}",
        below=OVERHEAD,
        beside=(
            ("ms per picture: Fairlane", "fairlane", scenario, "queued_ms"),
            ("a loop in one process", "fairlane", scenario, "plain_ms"),
            ("a loop over the compressor's own child process", "fairlane", scenario, "beside_ms"),
        ),
    )


_TARGETS = (
    _pictures(WEBP, "WebP", "a plain loop", "over_plain"),
    _pictures(WEBP, "WebP", "a loop over the same child process", "over_beside"),
    _pictures(JPEG, "JPEG", "a plain loop", "over_plain"),
    _pictures(JPEG, "JPEG", "a loop over the same child process", "over_beside"),
    Target(
        line="an encode that is cancelled is gone, with all its processes and files, within 2 s",
        short="cancel: below 2 s",
        value=lambda results: results.series("fairlane", CANCEL, "worst_ms"),
        form="{:,.0f} ms",
        below=CANCEL_MS,
        beside=(("p50 ms", "fairlane", CANCEL, "p50_ms"),),
    ),
)

COURSE = Race(
    name="compressor",
    title="Pictures and videos compressed one at a time, on SQLite, synchronous=FULL",
    contestants=("fairlane",),
    peers=(),
    programs="benchmarks.contestants.compressor",
    rounds=3,
    jobs={WEBP: {"fairlane": 200}, JPEG: {"fairlane": 200}, CANCEL: {"fairlane": 10}},
    strains=(),
    rates=(),
    pick_ups=(),
    shown=(),
    targets=_TARGETS,
)
