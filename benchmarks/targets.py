"""A target of a race: a bound, and the figures that decide it."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.figures import Results, Series, measured, middle


@dataclass(frozen=True, kw_only=True)
class Target:
    """A bound for a value; the medians of `beside` are reported with it."""

    line: str
    short: str
    value: Callable[[Results], Series]
    form: str
    at_least: float | None = None
    below: float | None = None
    beside: tuple[tuple[str, str, str, str], ...] = ()  # label, contestant, scenario, figure

    def is_reached(self, results: Results) -> bool | None:
        """Compare the median with the bound; None without a measurement."""
        found = middle(self.value(results))
        if found is None:
            return None
        return found >= self.at_least if self.at_least is not None else found < (self.below or 0)

    def shown(self, results: Results) -> str:
        values = measured(self.value(results))
        if not values:
            return "not measured"
        low, high = self.form.format(values[0]), self.form.format(values[-1])
        around = f" ({low} to {high})" if len(values) > 1 else ""
        return f"{self.form.format(middle(self.value(results)))}{around}"

    def explained(self, results: Results) -> str:
        parts = []
        for label, contestant, scenario, figure in self.beside:
            found = middle(results.series(contestant, scenario, figure))
            if found is not None:
                parts.append(f"{label} {found:,.2f}" if found < 100 else f"{label} {found:,.0f}")
        return ", ".join(parts)
