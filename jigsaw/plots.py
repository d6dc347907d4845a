"""Plots of tables and of records of scores."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from jigsaw.files import replacing
from jigsaw.names import natural
from jigsaw.records import Record, distinct, grouped, in_order

if TYPE_CHECKING:
    from jigsaw.table import Table

Fit = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, str]]

_INK = "#3d444d"  # text, axes and what is published
_COLOURS = ("#e07a3f", "#3a86c0", "#5b9a5a", "#9a78b5", "#b8921b", "#c25b7a", "#5f9ea0", "#8a7f6a", "#6b7fd7")
_DASHES = ((0, (6, 2)), (0, (2, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (1, 1)), (0, (9, 3)), (0, (3, 3)))
_STYLE: dict[Any, Any] = {
    "axes.edgecolor": _INK,
    "axes.grid": True,
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": _INK,
    "axes.titlesize": 10,
    "axes.axisbelow": True,
    "font.size": 9,
    "grid.alpha": 0.2,
    "grid.color": _INK,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "jigsaw",  # the same plot, the same file
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


def save_plots(
    records: Sequence[Record],
    solvers: Sequence[Record],
    folder: str | os.PathLike[str],
    ending: str = "svg",
) -> None:
    """Write plots of accuracy, fitness, scaling and stages of records of scores.

    As SVG, their ink is that of the text around them, where they are part of a page.
    """
    figures = {
        "accuracy": accuracy_plot(records, solvers),
        "fitness": fitness_plot(records),
        "scaling": scaling_plot(records),
        "stages": stages_plot(records),
    }
    for name, figure in figures.items():
        _save(figure, Path(folder) / f"{name}.{ending}")


def _save(figure: Figure, out: str | os.PathLike[str]) -> None:
    with replacing(out) as path, mpl.rc_context(_STYLE):
        if path.suffix == ".svg":
            text = io.StringIO()
            figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
            path.write_text(text.getvalue().replace(_INK, "currentColor"), encoding="utf-8")
        else:
            figure.savefig(path, dpi=150)


def _colours(records: Sequence[Record]) -> dict[str, str]:
    """Return a colour for each preset."""
    presets = distinct(records, "preset")
    return {preset: _COLOURS[i % len(_COLOURS)] for i, preset in enumerate(presets)}


def _legend(figure: Figure, handles: Sequence[Line2D]) -> None:
    columns = min(len(handles), 4)
    figure.legend(
        handles=list(handles), loc="outside upper left", ncols=columns, fontsize=9, handlelength=2.2
    )


@mpl.rc_context(_STYLE)
def accuracy_plot(records: Sequence[Record], solvers: Sequence[Record]) -> Figure:
    """Draw the neighbour accuracy of every image of every set, its ceiling, and the published means."""
    sets = grouped(records, "set")
    colours = _colours(records)
    dashes = {solver["name"]: _DASHES[i % len(_DASHES)] for i, solver in enumerate(solvers)}
    columns = min(3, len(sets))
    rows = -(-len(sets) // columns)
    figure = Figure(figsize=(3.7 * columns + 0.4, 2.6 * rows + 0.5), layout="constrained")
    used = set()
    for i, ((name,), group) in enumerate(sets, 1):
        axes = figure.add_subplot(rows, columns, i)
        images = sorted(distinct(group, "puzzle"), key=natural)
        at = {image: place for place, image in enumerate(images)}
        ceilings = {at[record["puzzle"]]: 100 * record["ceiling"] for record in group}
        axes.scatter(list(ceilings), list(ceilings.values()), 70, _INK, marker="_", linewidths=1.2)
        for preset, colour in colours.items():
            mine = [(at[r["puzzle"]], 100 * r["neighbor"]) for r in group if r["preset"] == preset]
            axes.scatter([x for x, _ in mine], [y for _, y in mine], 20, colour, alpha=0.85, linewidths=0)
        for solver in solvers:
            published = solver["results"].get(name, {}).get("neighbor")
            if published is not None:
                axes.axhline(
                    published, color=_INK, linestyle=dashes[solver["name"]], linewidth=0.9, alpha=0.8
                )
                used.add(solver["name"])
        lowest = min([100 * r["neighbor"] for r in group] + list(ceilings.values()))
        axes.set_ylim(lowest - 0.08 * (100 - lowest) - 0.5, 100 + 0.06 * (100 - lowest) + 0.4)
        axes.set_title(name, loc="left")
        axes.set_xticks(range(len(images)), images if len(images) <= _NAMED else [""] * len(images))
        axes.tick_params("x", rotation=90 if len(images) > 3 else 0, labelsize=7, length=0)
        axes.grid(visible=False, axis="x")
        axes.set_xlim(-0.7, len(images) - 0.3)
    figure.supylabel("neighbor, %", fontsize=9)
    _legend(
        figure,
        [
            *(_dot(colour, preset) for preset, colour in colours.items()),
            Line2D([], [], color=_INK, marker="_", markersize=9, linestyle="", label="ceiling"),
            *(
                Line2D([], [], color=_INK, linestyle=dash, linewidth=0.9, label=f"mean of {name}")
                for name, dash in dashes.items()
                if name in used
            ),
        ],
    )
    return figure


_NAMED = 24  # more images than that are not named


def _dot(colour: str, label: str) -> Line2D:
    return Line2D([], [], color=colour, marker="o", markersize=5, linestyle="", label=label)


@mpl.rc_context(_STYLE)
def fitness_plot(records: Sequence[Record]) -> Figure:
    """Draw the best fitness over the generations, as a multiple of the true image's, a line a run."""
    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    axes = figure.add_subplot()
    colours = _colours(records)
    known = [record for record in records if record.get("true_fitness") and record.get("history")]
    for record in known:
        colour = colours[record["preset"]]
        last = len(record["history"]) - 1
        generations = np.unique(np.geomspace(1, last, 30).astype(int))
        relative = np.array(record["history"])[generations] / record["true_fitness"]
        axes.plot(generations, relative, color=colour, linewidth=1, alpha=max(0.15, min(0.7, 6 / len(known))))
        axes.plot(last, record["fitness"] / record["true_fitness"], "o", color=colour, ms=3, alpha=0.6)
    axes.axhline(1, color=_INK, linestyle=_DASHES[0], linewidth=1.2)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.set_xlabel("generation")
    axes.set_ylabel("fitness, as a multiple of the true image's")
    _legend(
        figure,
        [
            *(_dot(colour, f"{preset}: a line a run, a dot its end") for preset, colour in colours.items()),
            Line2D([], [], color=_INK, linestyle=_DASHES[0], linewidth=1.2, label="the true image"),
        ],
    )
    return figure


@mpl.rc_context(_STYLE)
def scaling_plot(records: Sequence[Record]) -> Figure:
    """Draw seconds and peak memory of every run against its number of pieces, with what fits them."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    costs = {
        "seconds": [record["seconds"] for record in records],
        "peak memory, MB": [
            max((stage["peak_mb"] for stage in record.get("stages", {}).values()), default=np.nan)
            for record in records
        ],
    }
    pieces = np.array([record["pieces"] for record in records], float)
    presets = np.array([record["preset"] for record in records])
    for i, (title, values), fit in zip((1, 2), costs.items(), (_power, _linear), strict=True):
        axes = figure.add_subplot(1, 2, i)
        for preset, colour in _colours(records).items():
            mine = (presets == preset) & (np.array(values) > 0)
            _fitted(axes, pieces[mine], np.array(values)[mine], preset, colour, fit)
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            axis.set_major_formatter("{x:,g}")
            axis.set_minor_formatter(_between_powers(*ends))
        axes.set_xlabel("pieces")
        axes.set_title(title, loc="left")
        axes.legend(fontsize=8, loc="upper left")
    return figure


def _between_powers(low: float, high: float) -> Callable[[float, float], str]:
    """Return labels for ticks between powers of ten: for the twos and fives, or for all on a short axis."""

    def label(value: float, _: float) -> str:
        return f"{value:,.6g}" if high < 4 * low or f"{value:e}"[0] in "25" else ""

    return label


def _fitted(axes: Axes, pieces: np.ndarray, values: np.ndarray, name: str, colour: str, fit: Fit) -> None:
    """Draw points and, if there are two sizes, the curve that fits them best, and what it says."""
    axes.plot(pieces, values, "o", color=colour, ms=3.5, alpha=0.6, mew=0)
    label = name
    if len(np.unique(pieces)) > 1:
        sizes = np.geomspace(pieces.min(), pieces.max(), 50)
        curve, told = fit(pieces, values, sizes)
        axes.plot(sizes, curve, color=colour, linewidth=1.2)
        label = f"{name}: {told}"
    axes.plot([], [], "o-", color=colour, ms=3.5, linewidth=1.2, label=label)


def _power(pieces: np.ndarray, values: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, str]:
    """Fit a power of the pieces; return it at some sizes, and the exponent in words."""
    exponent, constant = np.polyfit(np.log(pieces), np.log(values), 1)
    return np.exp(constant) * sizes**exponent, f"pieces to the power of {exponent:z.2f}"


def _linear(pieces: np.ndarray, values: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, str]:
    """Fit a constant and so much a piece, by relative errors; return it at some sizes, and both in words."""
    slope, constant = np.polyfit(pieces, values, 1, w=1 / values)
    return constant + slope * sizes, f"{constant:z.0f} + {1000 * slope:z.0f} per 1,000 pieces"


@mpl.rc_context(_STYLE)
def stages_plot(records: Sequence[Record]) -> Figure:
    """Draw the mean seconds of each stage, a bar a stage, a group a set, side by side for the presets."""
    sets, presets = distinct(records, "set"), distinct(records, "preset")
    stages = in_order(stage for record in records for stage in record.get("stages", {}))
    height = 0.8 / max(len(stages), 1)
    figure = Figure(figsize=(9, 1.2 + 0.13 * len(sets) * (len(stages) + 1)), layout="constrained")
    panels = figure.subplots(1, len(presets), sharey=True, sharex=True, squeeze=False)[0]
    for axes, preset in zip(panels, presets, strict=True):
        for i, stage in enumerate(stages):
            means = []
            for name in sets:
                mine = [r for r in records if (r["set"], r["preset"]) == (name, preset)]
                seconds = [r["stages"][stage]["seconds"] for r in mine if stage in r.get("stages", {})]
                means.append(np.mean(seconds) if seconds else np.nan)
            place = np.arange(len(sets)) + (i - (len(stages) - 1) / 2) * height
            bars = axes.barh(place, means, height * 0.9, color=_COLOURS[i % len(_COLOURS)], label=stage)
            labels = [
                "" if np.isnan(mean) else f"{mean:.2g} s" if mean < 10 else f"{mean:.0f} s" for mean in means
            ]
            axes.bar_label(bars, labels, fontsize=6.5, padding=2)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.set_title(preset, loc="left")
        axes.set_xlabel("seconds a puzzle")
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.14)
    panels[0].set_yticks(np.arange(len(sets)), sets)
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(stages), fontsize=9)
    return figure


@mpl.rc_context(_STYLE)
def ablation_plot(table: Table, out: str | os.PathLike[str]) -> None:
    """Draw the neighbour accuracy of every variant, a group of bars for each, a colour a set."""
    variants = [row[0] for row in table.rows]
    titles = [column.title for column in table.columns]
    sets = [title.removesuffix(": neighbor") for title in titles if title.endswith(": neighbor")]
    figure = Figure(figsize=(1.5 + 1.3 * len(variants), 4.5), layout="constrained")
    axes = figure.add_subplot()
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
    axes.grid(visible=False, axis="x")
    _save(figure, out)
