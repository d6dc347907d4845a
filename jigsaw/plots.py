"""Plots of tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from jigsaw.files import replacing

if TYPE_CHECKING:
    from jigsaw.table import Table

mpl.use("Agg")
_COLOURS = ("#2f6690", "#e07a3f", "#5b8c5a", "#8d6a9f", "#b8860b")


def ablation_plot(table: Table, out: str | os.PathLike[str]) -> None:
    """Draw the neighbour accuracy of every variant, a group of bars for each, a colour a set."""
    variants = [row[0] for row in table.rows]
    titles = [column.title for column in table.columns]
    sets = [title.removesuffix(": neighbor") for title in titles if title.endswith(": neighbor")]
    figure, axes = plt.subplots(figsize=(1.5 + 1.3 * len(variants), 4.5), layout="constrained")
    width = 0.8 / max(len(sets), 1)
    lowest = 100.0
    for i, name in enumerate(sets):
        at = titles.index(f"{name}: neighbor")
        values = [np.nan if row[at] is None else 100 * row[at] for row in table.rows]
        lowest = min([lowest, *(value for value in values if not np.isnan(value))])
        place = np.arange(len(variants)) + (i - (len(sets) - 1) / 2) * width
        bars = axes.bar(place, values, width * 0.94, label=name, color=_COLOURS[i % len(_COLOURS)])
        axes.bar_label(bars, fmt="%.1f", fontsize=7, padding=1)
    axes.set_xticks(np.arange(len(variants)), variants)
    axes.set_ylabel("neighbor, %")
    axes.set_ylim(np.floor(lowest / 5) * 5 - 5, 101)
    axes.set_title(table.title)
    axes.legend(frameon=False, ncols=len(sets), loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    with replacing(out) as path:
        figure.savefig(path, dpi=150)
    plt.close(figure)
