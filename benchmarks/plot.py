"""The plot of a run: a dot for each round, and the median with its number.

It runs in the environment of the peers, which has matplotlib: `python -m benchmarks.plot
figures.json picture.svg`.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl  # type: ignore[import-not-found]
from matplotlib import pyplot
from matplotlib.lines import Line2D  # type: ignore[import-not-found]
from matplotlib.ticker import FuncFormatter, NullFormatter  # type: ignore[import-not-found]

from benchmarks.figures import Results, Series, measured, middle, read
from benchmarks.race import TITLES, Race
from benchmarks.races import RACES

INK, QUIET, FAINT = "#1f2933", "#7b8794", "#e4e7eb"
COLOURS = {
    "fairlane": "#0f766e",
    "huey": "#d97706",
    "pgqueuer": "#d97706",
    "procrastinate": "#2563eb",
    "dbos": "#7c3aed",
    "raw": "#7b8794",
}
BELOW = (
    "huey",
    "pgqueuer",
)  # numbers below the dots, so that neighbours stay readable
GOOD, BAD = "#0f766e", "#b91c1c"
STYLE = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": QUIET,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "x",
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlesize": 11,
    "axes.titlepad": 12,
    "grid.color": FAINT,
    "xtick.color": QUIET,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.major.size": 0,
    "svg.hashsalt": "fairlane",  # the same figures give the same file
}


def draw(results: Results, path: Path) -> None:
    mpl.use("svg" if path.suffix == ".svg" else "agg")
    mpl.rcParams.update(STYLE)
    race = RACES[results.course]
    heights = (1.1 * len(race.rates), 4.4, 0.6 * len(race.targets))
    size = (11, 0.66 * sum(heights))
    figure = pyplot.figure(figsize=size, layout="constrained", facecolor="white")
    upper, between, lower = figure.subfigures(3, 1, height_ratios=heights, hspace=0.03)
    left, right = between.subfigures(1, 2, width_ratios=(1.15, 1), wspace=0.02)
    upper.suptitle(
        race.title,
        x=0.01,
        ha="left",
        fontsize=15,
        fontweight="bold",
    )
    jobs(upper.subplots(), results, race)
    legend(upper, results, race)
    pick_ups(left.subplots(), results, race)
    strains(right.subplots(), results, race)
    targets(lower.subplots(), results, race)
    lower.supxlabel(note(results), x=0.01, ha="left", fontsize=8.5, color=QUIET)
    metadata = {"Date": None} if path.suffix == ".svg" else {}
    figure.savefig(path, metadata=metadata, dpi=110, bbox_inches="tight", pad_inches=0.25)


def note(results: Results) -> str:
    machine = results.machine
    return (
        f"{results.at[:10]} · {results.rounds} rounds, each small dot one of them, numbers are "
        f"medians · {machine.get('cores')} cores {machine.get('processor')}, "
        f"{machine.get('file system')}, Python {machine.get('Python')}"
    )


def legend(figure: Any, results: Results, race: Race) -> None:
    names = ("fairlane", *race.peers)
    handles = [
        Line2D([], [], color=COLOURS[name], marker="o", linestyle="", markersize=8)
        for name in names
    ]
    figure.legend(
        handles,
        [f"{TITLES[name]} {results.settings.get(name, {}).get('version', '')}" for name in names],
        loc="upper right",
        ncols=len(names),
        frameon=False,
        handletextpad=0.1,
        fontsize=10.5,
    )


def jobs(axes: Any, results: Results, race: Race) -> None:
    axes.set_title("Jobs per second (more is better)")
    axes.set_xscale("log")
    for row, scenario in enumerate(race.rates):
        for contestant in (*reversed(race.peers), "fairlane"):
            dots(axes, results.series(contestant, scenario), row, contestant)
    rows(axes, [*race.rates])


def pick_ups(axes: Any, results: Results, race: Race) -> None:
    axes.set_title("Milliseconds until a job begins (less is better)")
    axes.set_xscale("log")
    for row, (scenario, name) in enumerate(race.pick_ups):
        for contestant in (*reversed(race.peers), "fairlane"):
            dots(axes, results.series(contestant, scenario, f"{name}_ms"), row, contestant)
    labels = [f"{scenario.removeprefix('pick-up, ')}, {name}" for scenario, name in race.pick_ups]
    rows(axes, labels)


def strains(axes: Any, results: Results, race: Race) -> None:
    axes.set_title("Fairlane: jobs per second under strain")
    for row, (_, scenario, figure) in enumerate(race.shown):
        dots(axes, results.series("fairlane", scenario, figure), row, "fairlane")
    axes.set_xlim(left=0)
    rows(axes, [label for label, _, _ in race.shown])


def targets(axes: Any, results: Results, race: Race) -> None:
    axes.set_title("How far beyond each target (1 is the target)")
    axes.set_xscale("log")
    for row, target in enumerate(race.targets):
        value = middle(target.value(results))
        if value:
            times = value / target.at_least if target.at_least else (target.below or 0) / value
            colour = GOOD if target.is_reached(results) else BAD
            axes.barh(row, times - 1, left=1, height=0.5, color=colour, alpha=0.85)
            side = 4 if times >= 1 else -4
            axes.annotate(
                target.form.format(value),
                (times, row),
                xytext=(side, 0),
                textcoords="offset points",
                va="center",
                ha="left" if times >= 1 else "right",
                color=colour,
                fontsize=8.5,
            )
    axes.axvline(1, color=INK, linewidth=1)
    low, high = axes.get_xlim()
    axes.set_xlim(low / 1.25, high * 1.25)
    low, high = axes.get_xlim()
    rows(axes, [target.short for target in race.targets], times=True)
    axes.set_xticks([tick for tick in (0.5, 1, 2, 5, 10) if low <= tick <= high])


def dots(axes: Any, series: Series, row: int, contestant: str) -> None:
    colour = COLOURS[contestant]
    values = measured(series)
    if not values:
        return
    axes.plot([values[0], values[-1]], [row, row], color=colour, linewidth=2, alpha=0.35)
    axes.plot(values, [row] * len(values), "o", color=colour, markersize=4, alpha=0.35, mew=0)
    found = middle(series) or 0
    axes.plot([found], [row], "o", color=colour, markersize=7, mew=0)
    axes.annotate(
        short(found),
        (found, row),
        xytext=(0, -14 if contestant in BELOW else 7),
        textcoords="offset points",
        ha="center",
        color=colour,
        fontsize=8.5,
    )


def rows(axes: Any, labels: list[str], *, times: bool = False) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.75)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g} ×" if times else short(x)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def short(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    draw(read(Path(sys.argv[1])), Path(sys.argv[2]))
