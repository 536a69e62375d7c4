"""The findings of one scenario, and their table."""

from collections import Counter

from rich.table import Table


class Result:
    def __init__(self, kind: str, again: list[str]) -> None:
        self.kind = kind
        self.again = again  # the arguments that repeat this run
        self.counts: Counter[str] = Counter()
        self.most: dict[str, float] = {}
        self.problems: list[str] = []
        self.remarks: list[str] = []
        self.skipped: str | None = None

    def count(self, what: str, times: int = 1) -> None:
        self.counts[what] += times

    def longest(self, what: str, seconds: float) -> None:
        self.most[what] = max(self.most.get(what, 0.0), seconds)

    def remark(self, text: str) -> None:
        """Add a note without a number, such as why a part was skipped."""
        self.remarks.append(text)

    def problem(self, text: str) -> None:
        self.problems.append(text)

    def found(self, what: str, problems: list[str]) -> None:
        """Count problems of one kind, also when there are none."""
        self.counts[what] += len(problems)
        self.problems += [f"{what}: {problem}" for problem in problems]

    def rows(self) -> list[tuple[str, str]]:
        return [
            *((what, f"{times:,}") for what, times in self.counts.items()),
            *((what, f"{seconds:.3f}") for what, seconds in self.most.items()),
            *((remark, "") for remark in self.remarks),
        ]


def table(results: list[Result]) -> Table:
    shown = Table(title="chaos", title_justify="left")
    shown.add_column("kind")
    shown.add_column("what")
    shown.add_column("", justify="right")
    for result in results:
        if result.skipped is not None:
            shown.add_row(result.kind, f"skipped: {result.skipped}", "")
        for number, (what, value) in enumerate(result.rows()):
            shown.add_row(result.kind if number == 0 else "", what, value)
        verdict = "[red]problems[/]" if result.problems else "[green]problems[/]"
        if result.skipped is None:
            shown.add_row("", verdict, f"{len(result.problems):,}", end_section=True)
    return shown
