"""The report of a race: verdicts first, then every figure, then the settings.

The same tables go to the terminal and into `results/README.md`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Results, Series, measured, middle, ratio
from benchmarks.race import TITLES, Race
from benchmarks.races import RACES
from benchmarks.races.postgres import MINUTE
from benchmarks.raw_limits import RAW, TRIAL, TRIAL_HUEY


@dataclass
class Sheet:
    """A table for the terminal and for Markdown."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]]
    are_words: bool = False  # align words left; numbers are aligned right

    def rich(self) -> Table:
        table = Table(title=self.title, title_justify="left", title_style="bold")
        for index, column in enumerate(self.columns):
            left = self.are_words or index == 0
            table.add_column(column, justify="left" if left else "right", overflow="fold")
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        rule = "---" if self.are_words else "---:"
        lines = [
            f"## {self.title}",
            "",
            f"| {' | '.join(self.columns)} |",
            f"|{'|'.join(['---', *[rule] * (len(self.columns) - 1)])}|",
            *(f"| {' | '.join(row)} |" for row in self.rows),
        ]
        return "\n".join(lines)


def sheets(results: Results) -> list[Sheet]:
    return [
        sheet
        for sheet in (
            verdicts(results),
            rates(results),
            pick_ups(results),
            backlogs(results),
            strains(results),
            limits(results),
            trial(results),
            settings(results),
        )
        if sheet.rows
    ]


def _race_of(results: Results) -> Race:
    return RACES[results.course]


NAMES = {
    "sqlite": "SQLite",
    "postgres": "PostgreSQL",
    "followers": "SQLite, with followers",
    "compressor": "pictures and videos",
    "extractor": "clips of known text",
}
WORDS = {True: "reached", False: "not reached", None: "not measured"}


def verdicts(results: Results) -> Sheet:
    rows = [
        (
            WORDS[target.is_reached(results)],
            target.line,
            target.shown(results),
            target.explained(results),
        )
        for target in _race_of(results).targets
    ]
    columns = ("", "target", "measured", "medians behind it")
    return Sheet("Verdict", columns, [*rows], are_words=True)


def rates(results: Results) -> Sheet:
    race = _race_of(results)
    rows = []
    for scenario in race.rates:
        ours = results.series("fairlane", scenario)
        cells = [scenario]
        for contestant in ("fairlane", *race.peers):
            theirs = results.series(contestant, scenario)
            times = middle(ratio(ours, theirs)) if contestant != "fairlane" else None
            cells.append(spread(theirs) + (f", {times:.1f} ×" if times is not None else ""))
        if any(cell != "–" for cell in cells[1:]):
            rows.append(cells)
    over = (f"{TITLES[one]}, and Fairlane over it" for one in race.peers)
    return Sheet("Jobs per second", ("noop jobs", "Fairlane", *over), [*rows])


def pick_ups(results: Results) -> Sheet:
    race = _race_of(results)
    rows = []
    for scenario, name in race.pick_ups:
        found = [results.series(one, scenario, f"{name}_ms") for one in ("fairlane", *race.peers)]
        if any(map(measured, found)):
            rows.append((f"{scenario}, {name}", *(spread(one, digits=2) for one in found)))
    titles = (TITLES[one] for one in ("fairlane", *race.peers))
    columns = ("submit to an idle queue, function begins", *titles)
    return Sheet("Milliseconds until a job begins", columns, [*rows])


def strains(results: Results) -> Sheet:
    """Return the figures of Fairlane with backlogs, and with an open transaction."""
    rows = []
    for scenario, figures in results.figures.get("fairlane", {}).items():
        if scenario.endswith(" queued") and not scenario.startswith("backlog"):
            rate, pick_up = figures.get("per_second", []), figures.get("p50_ms", [])
            rows.append((scenario, spread(rate), spread(pick_up, digits=2)))
        elif scenario.startswith(MINUTE):
            for name, series in figures.items():
                label = f"{scenario}: {name.replace('_', ' ')}"
                is_time = name.startswith("pick_up")
                shown = ("–", spread(series, digits=2)) if is_time else (spread(series), "–")
                rows.append((label, *shown))
    columns = ("Fairlane", "jobs per second", "pick-up, p50 ms")
    return Sheet("Fairlane under strain", columns, [*rows])


def backlogs(results: Results) -> Sheet:
    rows = [
        (
            scenario.removeprefix("backlog, "),
            spread(figures.get("per_second", [])),
            spread(figures.get("start_seconds", []), digits=2),
            spread(figures.get("start_megabytes", [])),
        )
        for scenario, figures in results.figures.get("fairlane", {}).items()
        if scenario.startswith("backlog")
    ]
    columns = ("over 1,000 lanes", "jobs per second", "start, seconds", "start, peak MB")
    return Sheet("Fairlane with a backlog", columns, [*rows])


def limits(results: Results) -> Sheet:
    drained, bulk = (
        results.series("fairlane", "drain"),
        results.series("fairlane", "submit in bulk"),
    )
    compared = {
        "commits": ("one by one", results.series("fairlane", "submit one by one")),
        "tiny rows": ("bulk jobs", bulk),
        "same rows": ("bulk jobs", bulk),
        "tasks": ("drain", drained),
    }
    rows = []
    for scenario, text in RAW.items():
        raw = results.series("raw", scenario)
        if not measured(raw):
            continue
        label, ours = compared.get(scenario, ("", []))
        part = middle(ratio(ours, raw)) if ours else None
        rows.append((text, spread(raw), f"{label} {part:.1%}" if part is not None else "–"))
    return Sheet("Limits of the moment", ("per second", "raw", "Fairlane's part of it"), [*rows])


def trial(results: Results) -> Sheet:
    """Compare with the prototype of the design, each in units of Huey's drain on the same
    machine."""
    huey = results.series("huey", "drain")
    rows = []
    for scenario, (low, high) in TRIAL.items():
        times = middle(ratio(results.series("fairlane", scenario), huey))
        if times is not None:
            share = times / ((low + high) / 2 / TRIAL_HUEY)
            reached = f"{low / TRIAL_HUEY:.1f}–{high / TRIAL_HUEY:.1f} ×"
            rows.append((scenario, reached, f"{times:.1f} ×", f"{share:.0%}"))
    columns = ("in units of Huey's drain", "trial", "Fairlane", "Fairlane's part of it")
    return Sheet("Beside a trial of the design in 150 lines", columns, [*rows])


def settings(results: Results) -> Sheet:
    contestants = list(results.settings)
    names = list(dict.fromkeys(name for one in results.settings.values() for name in one))
    levels = {"synchronous": {"0": "OFF", "1": "NORMAL", "2": "FULL", "3": "EXTRA"}}
    rows = [
        (
            name,
            *(
                levels.get(name, {}).get(value := results.settings[one].get(name, "–"), value)
                for one in contestants
            ),
        )
        for name in names
    ]
    columns = ("", *(TITLES[one] for one in contestants))
    return Sheet("Settings", columns, [*rows], are_words=True)


def spread(series: Series, *, digits: int = 0) -> str:
    """Return the median and, in brackets, the lowest and highest round."""
    values = measured(series)
    if not values:
        return "–"
    low, high = (f"{value:,.{digits}f}" for value in (values[0], values[-1]))
    around = f" ({low}–{high})" if len(values) > 1 else ""
    return f"{middle(series):,.{digits}f}{around}"


def show(results: Results, console: Console, *, part: bool) -> None:
    """Print all tables except the settings, which were printed first."""
    for sheet in sheets(results):
        if sheet.title not in ("Verdict", "Settings"):
            console.print(sheet.rich())
    lines = Table.grid(padding=(0, 2))
    styles = {True: "green", False: "red", None: "yellow"}
    for target in _race_of(results).targets:
        reached = target.is_reached(results)
        if reached is not None or not part:
            lines.add_row(WORDS[reached], target.line, style=styles[reached])
            lines.add_row("", f"{target.shown(results)}; {target.explained(results)}".rstrip("; "))
    console.print(lines, highlight=False)
    for failure in results.failures:
        console.print(f"failed: {failure}", style="red", markup=False)


def write(results: Results, path: Path, *, plot: str | None, data: str, readme: str) -> None:
    """Write the report, with the plot next to it if there is one."""
    where = ", ".join(f"{name} {value}" for name, value in results.machine.items())
    failed = [f"- failed: {failure}" for failure in results.failures]
    text = "\n\n".join(
        [
            f"# The race on {NAMES[results.course]}",
            f"Made by `make bench` on {results.at}: medians of {results.rounds} interleaved "
            f"rounds, in brackets the lowest and the highest. Ratios are taken round by round. "
            f"Figures: [{data}]({data}). How it is measured: [benchmarks]({readme}).",
            *([f"![What each contestant reached, round by round]({plot})"] if plot else []),
            *(sheet.markdown() for sheet in sheets(results)),
            *(["\n".join(failed)] if failed else []),
            f"## Machine\n\n{where}",
        ]
    )
    path.write_text(text + "\n")
