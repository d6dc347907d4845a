"""Speed and memory, each figure measured in one run with what it is compared with.

    make bench            # all sizes
    make bench QUICK=1    # up to 5,015 pieces, under three minutes

Uses the real images where JIGSAW_DATA has them, generated ones elsewhere, and says which.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import psutil
from tabulate import tabulate
from threadpoolctl import threadpool_limits

import jigsaw
from jigsaw import allpairs
from jigsaw.files import write_json, write_text
from jigsaw.images import list_images, read_image, write_image
from jigsaw.measures import measure_called
from jigsaw.provenance import provenance
from jigsaw.synthetic import picture

mpl.use("Agg")
import matplotlib.pyplot as plt

# pieces: (set, rows, columns)
SIZES = {
    432: ("cho432", 18, 24),
    805: ("pomeranz805", 23, 35),
    5015: ("sholomon5015", 59, 85),
    10375: ("sholomon10375", 83, 125),
    22755: ("sholomon22755", 123, 185),
}
TIMES = {432: 3, 805: 3, 5015: 2, 10375: 2, 22755: 1}  # that a genetic algorithm is timed
WORKERS = 2
RESULTS = Path("results")


def main() -> None:
    """Run all benchmarks and write results/benchmark.{json,md,png}."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    quick = options.parse_args().quick
    sizes = [n for n in SIZES if not quick or n <= 5015]
    with tempfile.TemporaryDirectory() as scratch:
        images = {n: images_of(n, Path(scratch), quick) for n in sizes}
        bags = {n: [jigsaw.cut([read_image(path)])[0] for path in paths] for n, paths in images.items()}
        for stage, measures in (("compare", ["ssd", "mgc"]), ("solve", ["ssd"])):
            subprocess.run([sys.executable, "-m", "jigsaw", "compile", stage, *measures], check=True)
        report: dict[str, Any] = {
            "images": {
                n: f"{paths[0].parent.name}/{', '.join(p.stem for p in paths)}" for n, paths in images.items()
            },
            "start_up": start_up(),
            "all_pairs": [
                all_pairs(bags[n][0], name, 3 if quick else 5)
                for n in sizes
                if n >= 5015
                for name in ("ssd", "mgc")
            ],
            "genetic": [genetic(bags[n], 1 if quick else TIMES[n]) for n in sizes],
            "stages": [row for n in sizes for row in stages(n, images[n][0], Path(scratch))],
            "limit": None if quick else limit(Path(scratch)),
            "cores": os.cpu_count(),
            "provenance": provenance(),
        }
    report["exponents"] = exponents(report["genetic"])
    write_json(RESULTS / "benchmark.json", report)
    write_text(RESULTS / "benchmark.md", markdown(report))
    plot(report, RESULTS / "benchmark.png")
    print(markdown(report))


def images_of(pieces: int, scratch: Path, quick: bool) -> list[Path]:
    """Return images of so many pieces, spread over the set, as how hard they are differs widely."""
    name, rows, columns = SIZES[pieces]
    folder = Path(os.environ.get("JIGSAW_DATA", "data")) / name
    if folder.is_dir():
        images = list_images(folder)[:: 4 if pieces < 1000 else 8]
        return images[:1] if quick and pieces > 1000 else images
    path = scratch / "generated" / f"{pieces}.png"
    write_image(path, picture(rows, columns))
    return [path]


def start_up() -> dict[str, float]:
    """Return the seconds of `jigsaw --help`, and of solving a puzzle that is no work."""
    with tempfile.TemporaryDirectory() as scratch:
        bag, _ = jigsaw.cut([picture(2, 2, 8)], piece_size=8)
        jigsaw.compare(bag).save(f"{scratch}/edges.h5")
        tiny = ["solve", f"{scratch}/edges.h5", "--out", f"{scratch}/solution.h5", "--quiet",
                "--population", "3", "--elite", "1", "--generations", "1"]  # fmt: skip
        return {
            "help": min(watched(["--help"])["seconds"] for _ in range(3)),
            "solve": min(watched(tiny)["seconds"] for _ in range(3)),
        }


def all_pairs(bag: jigsaw.Bag, name: str, times: int) -> dict[str, Any]:
    """Time the comparison of all pairs, and the bare product of the same matrices with as many threads."""
    measure = measure_called(name)
    features = measure.features(bag.pixels)
    left, right = measure.operands(features)
    out = np.empty((1024, len(right)), np.float32)
    ours, bare = [], []
    for _ in range(times):
        start = time.perf_counter()
        allpairs.nearest(measure, features, 16, WORKERS)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        with threadpool_limits(WORKERS, "blas"):
            for first in range(0, len(left), len(out)):
                rows = left[first : first + len(out)]
                np.dot(rows, right.T, out=out[: len(rows)])
        bare.append(time.perf_counter() - start)
    return {
        "pieces": len(bag),
        "measure": name,
        "seconds": min(ours),
        "bare_product_seconds": min(bare),
        "ratio": min(ours) / min(bare),
    }


def genetic(bags: list[jigsaw.Bag], times: int) -> dict[str, Any]:
    """Time every generation of the paper's setting: with one worker on all bags, with two on the first."""
    compared = [jigsaw.compare(bag, workers=WORKERS) for bag in bags]
    seconds = np.array([_generations(edges, 1, times) for edges in compared])
    together = _generations(compared[0], WORKERS, times)
    paper = jigsaw.PRESETS["paper"]
    return {
        "pieces": len(bags[0]),
        "seconds_1": float(seconds[0].sum()),
        f"seconds_{WORKERS}": float(together.sum()),
        "speed_up": float(seconds[0].sum() / together.sum()),
        "mean_seconds_1": float(seconds.sum(axis=1).mean()),
        "children_per_second_1": {
            label: (paper.population - paper.elite) / float(seconds[:, generation].mean())
            for label, generation in (("first", 1), ("tenth", 10), ("last", -1))
        },
    }


def _generations(edges: jigsaw.Edges, workers: int, times: int) -> np.ndarray:
    """Return the seconds of each generation of the paper's setting, the least of several times."""
    runs = []
    for _ in range(times):
        clock = [time.perf_counter()]
        jigsaw.solve(edges, workers=workers, on_generation=partial(_note_time, clock))
        runs.append(np.diff(clock))
    return np.min(runs, axis=0)


def _note_time(clock: list[float], *_: Any) -> None:
    clock.append(time.perf_counter())


def exponents(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return by which power of the number of pieces the cost of a child grows, one worker."""
    pieces = np.log([row["pieces"] for row in rows])
    result = {}
    for label in ("first", "tenth", "last"):
        cost = -np.log([row["children_per_second_1"][label] for row in rows])
        result[label] = float(np.polyfit(pieces, cost, 1)[0])
    return result


def stages(pieces: int, path: Path, scratch: Path) -> list[dict[str, Any]]:
    """Run every stage as a command of its own, start-up included."""
    pieces_file, truth, edges, solution = (
        str(scratch / f"{pieces}-{name}.h5") for name in ("pieces", "truth", "edges", "solution")
    )
    workers = str(WORKERS if pieces >= 2000 else 1)
    scores, drawing = str(scratch / f"{pieces}.json"), str(scratch / f"{pieces}-assembled.png")
    commands = {
        "cut": ["cut", str(path), "--pieces", pieces_file, "--truth", truth],
        "compare": ["compare", pieces_file, "--out", edges, "--workers", workers],
        "solve": ["solve", edges, "--out", solution, "--workers", workers],
        "evaluate": ["evaluate", solution, "--truth", truth, "--pieces", pieces_file, "--out", scores],
        "draw": ["draw", solution, "--pieces", pieces_file, "--out", drawing],
    }
    rows = [
        {"pieces": pieces, "stage": name, **watched([*words, "--quiet"])} for name, words in commands.items()
    ]
    total = {
        "pieces": pieces,
        "stage": "total",
        "seconds": sum(row["seconds"] for row in rows),
        "peak_mb": max(row["peak_mb"] for row in rows),
        "neighbor": json.loads(Path(scores).read_text())["neighbor"],
        "checkpoints": jigsaw.Solution.load(solution).notes["checkpoints"],
    }
    return [*rows, total]


def limit(scratch: Path) -> list[dict[str, Any]]:
    """Compare a generated puzzle of 50,000 pieces and solve it for five generations."""
    path, edges = scratch / "50000.h5", str(scratch / "50000-edges.h5")
    jigsaw.cut([picture(200, 250)])[0].save(path)
    workers = ["--workers", str(WORKERS), "--quiet"]
    commands = {
        "compare": ["compare", str(path), "--out", edges, *workers],
        "solve, 5 generations": [
            "solve",
            edges,
            "--out",
            f"{edges}.solution",
            "--generations",
            "5",
            *workers,
        ],
    }
    return [{"pieces": 50_000, "stage": name, **watched(words)} for name, words in commands.items()]


def watched(arguments: list[str]) -> dict[str, float]:
    """Run `jigsaw` and return its seconds, also of all cores, and the peak memory (PSS) of all of it."""
    start, cpu = time.perf_counter(), _cpu_seconds()
    process = psutil.Popen([sys.executable, "-m", "jigsaw", *arguments], stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        try:
            tree = [process, *process.children(recursive=True)]
            peak = max(peak, sum(member.memory_full_info().pss for member in tree))
        except (psutil.Error, FileNotFoundError, ProcessLookupError):
            pass  # one of them ended meanwhile
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"jigsaw {' '.join(arguments)} failed")
    return {
        "seconds": time.perf_counter() - start,
        "core_seconds": _cpu_seconds() - cpu,
        "peak_mb": peak / 2**20,
    }


def _cpu_seconds() -> float:
    """Return the seconds that processes started by this one have used, on all cores."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def markdown(report: dict[str, Any]) -> str:
    """Return the report for reading."""
    made = report["provenance"]
    parts = [
        "# Benchmark",
        f"jigsaw {made['version']} {made['commit']}, Python {made['python']}, "
        f"numpy {made['libraries']['numpy']}, numba {made['libraries']['numba']}, {report['cores']} cores. "
        "Images: " + ", ".join(f"{n}: {origin}" for n, origin in report["images"].items()) + ".",
        f"`jigsaw --help`: {report['start_up']['help']:.2f} s. A job's fixed overhead (imports, loading, "
        f"kernels): {report['start_up']['solve']:.2f} s.",
        f"## All pairs, {WORKERS} threads\n\nAgainst the bare float32 product of the same matrices.",
        tabulate(
            [
                [row["pieces"], row["measure"], row["seconds"], row["bare_product_seconds"], row["ratio"]]
                for row in report["all_pairs"]
            ],
            ["pieces", "measure", "seconds", "bare product s", "ratio"],
            "github",
            floatfmt=".2f",
        ),
        "## Genetic algorithm\n\nThe paper's 300 × 100. Children a second: one worker, mean over all images. "
        "Each generation at its quickest, where it was timed several times.",
        tabulate(
            [
                [
                    row["pieces"],
                    *(round(row["children_per_second_1"][label]) for label in ("first", "tenth", "last")),
                    row["mean_seconds_1"],
                    row["seconds_1"],
                    row[f"seconds_{WORKERS}"],
                    row["speed_up"],
                ]
                for row in report["genetic"]
            ],
            [
                "pieces",
                "first generation",
                "tenth",
                "last",
                "mean s, 1 worker",
                "first image s, 1 worker",
                f"s, {WORKERS} workers",
                "speed-up",
            ],
            "github",
            floatfmt=".2f",
        ),
        "The cost of a child grows with the number of pieces to the power "
        + ", ".join(f"{value:.2f} ({label})" for label, value in report["exponents"].items())
        + ".",
        "## Stages\n\nEach a command of its own, start-up included; memory is the peak PSS of all processes.",
        tabulate(
            [
                [row["pieces"], row["stage"], row["seconds"], row["peak_mb"]]
                for row in [*report["stages"], *(report["limit"] or [])]
            ],
            ["pieces", "stage", "seconds", "peak MB"],
            "github",
            floatfmt=".1f",
        ),
        "Checkpoints, saved while solving: " + ", ".join(map(checkpointing, totals(report))) + ".",
    ]
    return "\n\n".join(parts) + "\n"


def totals(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of all stages together."""
    return [row for row in report["stages"] if row["stage"] == "total"]


def checkpointing(row: dict[str, Any]) -> str:
    """Say what saving the state of a run cost."""
    saved, seconds = row["checkpoints"]["saved"], row["checkpoints"]["seconds"]
    share = 100 * seconds / row["seconds"]
    return f"{row['pieces']} pieces: {saved} in {seconds:.2f} s, {share:.1f} % of the time"


def plot(report: dict[str, Any], path: Path) -> None:
    """Draw seconds against pieces, by stage, and children a second."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for stage in ("compare", "solve", "total"):
        rows = [row for row in report["stages"] if row["stage"] == stage]
        left.loglog([r["pieces"] for r in rows], [r["seconds"] for r in rows], "o-", label=stage)
    left.set(xlabel="pieces", ylabel="seconds", title=f"One puzzle, {WORKERS} cores")
    for label in ("first", "tenth", "last"):
        slope = report["exponents"][label]
        right.loglog(
            [row["pieces"] for row in report["genetic"]],
            [1000 / row["children_per_second_1"][label] for row in report["genetic"]],
            "o-",
            label=f"{label} generation, exponent {slope:.2f}",
        )
    right.set(xlabel="pieces", ylabel="milliseconds", title="Cost of a child, one worker")
    for axes in (left, right):
        ticks = [row["pieces"] for row in report["genetic"]]
        axes.set_xticks(ticks, [f"{n:,}" for n in ticks], rotation=30)
        axes.minorticks_off()
        axes.grid(True, alpha=0.3)
        axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
