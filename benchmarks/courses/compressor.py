"""The compressor against plain loops that call the same encoder."""

from benchmarks.course import Course
from benchmarks.targets import Target

PICTURES = "200 small pictures"
CANCEL = "cancel an encode"
OVERHEAD = 0.1
CANCEL_MS = 2_000.0

_TARGETS = (
    Target(
        line="200 small pictures: less than 10 % over the faster of two plain loops",
        short="pictures: below 10 % over a loop",
        value=lambda results: results.series("fairlane", PICTURES, "over"),
        form="{:.1%}",
        below=OVERHEAD,
        beside=(
            ("ms per picture: Fairlane", "fairlane", PICTURES, "queued_ms"),
            ("a loop in one process", "fairlane", PICTURES, "plain_ms"),
            ("a loop over the same child process", "fairlane", PICTURES, "beside_ms"),
            ("more than the faster", "fairlane", PICTURES, "over_ms"),
        ),
    ),
    Target(
        line="an encode that is cancelled is gone, with all its processes and files, within 2 s",
        short="cancel: below 2 s",
        value=lambda results: results.series("fairlane", CANCEL, "worst_ms"),
        form="{:,.0f} ms",
        below=CANCEL_MS,
        beside=(("p50 ms", "fairlane", CANCEL, "p50_ms"),),
    ),
)

COURSE = Course(
    name="compressor",
    title="Pictures and videos compressed one at a time, on SQLite, synchronous=FULL",
    contestants=("fairlane",),
    peers=(),
    programs="benchmarks.contestants.compressor",
    rounds=3,
    jobs={PICTURES: {"fairlane": 200}, CANCEL: {"fairlane": 10}},
    strains=(),
    rates=(),
    pick_ups=(),
    shown=(),
    targets=_TARGETS,
)
