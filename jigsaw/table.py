"""A table of values: what it holds, and how it is written as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tabulate import tabulate


@dataclass(frozen=True)
class Column:
    """A column's title and how its values are printed."""

    title: str
    show: Callable[[Any], str] = str


@dataclass(frozen=True)
class Table:
    """Rows of plain values; None is an empty cell."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()

    def csv(self) -> str:
        """Return the values as they are, for programs."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([column.title for column in self.columns])
        writer.writerows([["" if value is None else value for value in row] for row in self.rows])
        return text.getvalue()

    def markdown(self) -> str:
        """Return the table for reading."""
        notes = "".join(f"\n{note}\n" for note in self.notes)
        return f"# {self.title}\n\n{self._formatted('github', escape=_markdown)}\n{notes}"

    def latex(self) -> str:
        """Return the table for a paper."""
        notes = "".join(f"% {note}\n" for note in (self.title, *self.notes))
        return notes + self._formatted("latex_booktabs", escape=str) + "\n"

    def numeric(self, column: int) -> bool:
        """Return whether a column holds nothing but numbers."""
        return all(row[column] is None or isinstance(row[column], (int, float)) for row in self.rows)

    def _formatted(self, style: str, escape: Callable[[str], str]) -> str:
        shown = [
            [
                escape("" if value is None else column.show(value))
                for column, value in zip(self.columns, row, strict=True)
            ]
            for row in self.rows
        ]
        return tabulate(
            shown,
            headers=[escape(column.title) for column in self.columns],
            tablefmt=style,
            disable_numparse=True,
            colalign=["right" if self.numeric(i) else "left" for i in range(len(self.columns))],
        )


def as_percent(share: float) -> str:
    """Show a share in per cent."""
    return f"{100.0 if share >= 1 else min(100 * share, 99.99):.2f}"  # 100.00 means all of them


def as_yes(value: Any) -> str:
    """Show a truth value; text stays as it is."""
    return value if isinstance(value, str) else "yes" if value else "no"


def as_count(value: float) -> str:
    """Show a number of things, or a mean of such numbers."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"


def as_seconds(value: float) -> str:
    """Show a duration."""
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _markdown(text: str) -> str:
    return text.replace("|", "\\|")
