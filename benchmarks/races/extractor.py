"""The extractor on generated clips: how much of the text it finds, and how long that takes."""

from benchmarks.race import Race
from benchmarks.targets import Target

SPEECH, FRAMES, TRACKS, MERGED = "speech", "text on frames", "subtitle tracks", "said and shown"


def _share(scenario: str, figure: str, short: str, at_least: float) -> Target:
    return Target(
        line=f"{scenario}: {short}",
        short=f"{scenario}: {short}",
        value=lambda results: results.series("fairlane", scenario, figure),
        form="{:.1%}",
        at_least=at_least,
        beside=(("seconds per minute of media", "fairlane", scenario, "seconds_per_minute"),),
    )


_TARGETS = (
    Target(
        line="speech of five voices: at most 15 % wrong words",
        short="speech: at most 15 % wrong",
        value=lambda results: results.series("fairlane", SPEECH, "word_error_rate"),
        form="{:.1%}",
        below=0.15,
        beside=(
            ("the worst voice (a share)", "fairlane", SPEECH, "worst_voice"),
            ("seconds per minute of media", "fairlane", SPEECH, "seconds_per_minute"),
        ),
    ),
    _share(FRAMES, "english", "at least 95 % of the English characters", 0.95),
    _share(FRAMES, "chinese", "at least 95 % of the Chinese characters", 0.95),
    _share(TRACKS, "characters", "every character", 1.0),
    _share(MERGED, "characters", "at least 95 % of the characters, each once", 0.95),
)

COURSE = Race(
    name="extractor",
    title="Clips of known text, extracted one at a time by fairlane-extractor on SQLite",
    contestants=("fairlane",),
    peers=(),
    programs="benchmarks.contestants.extractor",
    rounds=3,
    jobs={name: {"fairlane": 1} for name in (SPEECH, FRAMES, TRACKS, MERGED)},
    strains=(),
    rates=(),
    pick_ups=(),
    shown=(),
    targets=_TARGETS,
)
