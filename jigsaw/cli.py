"""The command `jigsaw`: each step of the data flow as a sub-command."""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jigsaw.errors import JigsawError

# Sub-commands import what they need when they run, so that --help is quick.
if TYPE_CHECKING:
    from jigsaw.live import Page
    from jigsaw.presets import Settings

log = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a sub-command; return the exit code."""
    options = parser().parse_args(arguments)
    before = signal.signal(signal.SIGTERM, _interrupt)
    level = logging.WARNING if options.quiet else logging.DEBUG if options.verbose else logging.INFO
    try:
        from jigsaw.logs import set_up

        set_up(level, options.log)
        options.command(options)
    except JigsawError as error:
        logging.getLogger("jigsaw").error("%s", error)
        return 1
    except KeyboardInterrupt as interrupt:
        logging.shutdown()
        sys.stdout.flush()
        number = interrupt.args[0] if interrupt.args else signal.SIGINT
        os._exit(128 + number)  # an orderly exit would wait for locks that an interrupt may have left
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader had enough
        return 1
    except MemoryError:
        logging.getLogger("jigsaw").error("out of memory: use fewer workers or a smaller population")
        return 1
    finally:
        logging.shutdown()
        signal.signal(signal.SIGTERM, before)
    return 0


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt(number)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--log", metavar="FILE", help="write log messages to this file too")
    loudness = common.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="say only what went wrong")
    loudness.add_argument("-v", "--verbose", action="store_true", help="say more")
    telling = argparse.ArgumentParser(add_help=False)
    telling.add_argument("--json", action="store_true", help="print the result as JSON, for programs")

    top = argparse.ArgumentParser(
        prog="jigsaw",
        description="Puts shuffled, turned square pieces of photographs together again.",
    )
    top.add_argument("--version", action=_Version, nargs=0, help="print the version")
    steps = top.add_subparsers(required=True, metavar="COMMAND")

    def step(name: str, command: Any, text: str, tells: bool = False) -> argparse.ArgumentParser:
        parents = [common, telling] if tells else [common]
        added = steps.add_parser(
            name, help=text, description=text[0].upper() + text[1:] + ".", parents=parents
        )
        added.set_defaults(command=command)
        return added

    add = step("cut", _cut, "cut images into shuffled, turned pieces", tells=True)
    add.add_argument("images", nargs="+", metavar="IMAGE")
    add.add_argument("--pieces", required=True, metavar="P.h5", help="the pieces, for the solver")
    add.add_argument("--truth", required=True, metavar="T.h5", help="where they belong, for evaluation")
    _cutting_options(add)
    add.add_argument("--seed", type=int, default=0, help="decides order and turns (default: %(default)s)")

    add = step("gather", _gather, "make a bag from a folder of square piece images", tells=True)
    add.add_argument("folder", metavar="DIR")
    add.add_argument("--pieces", required=True, metavar="P.h5")

    add = step("compare", _compare, "compare all edges with all others", tells=True)
    add.add_argument("pieces", metavar="P.h5")
    add.add_argument("--out", required=True, metavar="E.h5")
    add.add_argument("--measure", default="ssd", help="the dissimilarity (default: %(default)s)")
    add.add_argument("--neighbors", type=int, help="nearest edges to keep for each edge")
    add.add_argument("--keep-orientation", action="store_true", help="the pieces are known to be upright")
    add.add_argument("--workers", type=int, default=1, help="threads (default: %(default)s)")

    add = step("quality", _quality, "judge the measure of compared edges, given the truth", tells=True)
    add.add_argument("edges", metavar="E.h5")
    add.add_argument("--truth", required=True, metavar="T.h5")
    add.add_argument("--out", required=True, metavar="quality.json")
    add.add_argument("--set", default="", help="name of the image set, for tables")
    add.add_argument("--puzzle", default="", help="name of the puzzle, for tables")

    add = step("solve", _solve, "assemble the pieces", tells=True)
    add.add_argument("edges", metavar="E.h5")
    add.add_argument("--out", required=True, metavar="S.h5")
    add.add_argument("--pieces", metavar="P.h5", help="the pieces, for --live; the solver does not see them")
    _solver_options(add)
    add.add_argument(
        "--keep", type=int, default=0, metavar="N", help="keep the N best assemblies: this is an island"
    )
    add.add_argument(
        "--islands", nargs="*", default=[], metavar="S.h5", help="islands from whose assemblies to start"
    )

    add = step("unmix", _unmix, "tell the images of an assembly apart", tells=True)
    add.add_argument("solution", metavar="S.h5")
    add.add_argument("--edges", required=True, metavar="E.h5", help="compared by any measure, best by fused")
    add.add_argument("--out", required=True, metavar="U.h5", help="the solution with its images told apart")

    add = step("evaluate", _evaluate, "score a solution against the truth", tells=True)
    add.add_argument("solution", metavar="S.h5")
    add.add_argument("--truth", required=True, metavar="T.h5")
    add.add_argument("--pieces", required=True, metavar="P.h5")
    add.add_argument("--edges", metavar="E.h5", help="tell the fitness of the true images too")
    add.add_argument("--out", required=True, metavar="scores.json")
    add.add_argument("--set", default="", help="name of the image set, for tables")
    add.add_argument("--puzzle", default="", help="name of the puzzle, for tables")
    add.add_argument("--draw", default="", help="name of the draw a mixed bag is one of, for tables")
    add.add_argument("--run", type=int, default=0, help="number of the run, for tables")

    add = step("draw", _draw, "draw a solution: the assembled picture, its errors, the course of the run")
    add.add_argument("solution", metavar="S.h5")
    add.add_argument("--pieces", required=True, metavar="P.h5")
    what = add.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", metavar="FILE", help="one picture, an image file by its ending")
    what.add_argument(
        "--images", metavar="DIR", help="each image found by itself: image-1.png, the largest, and so on"
    )
    what.add_argument("--animate", metavar="FILE", help="a film of the whole run, .webp or .gif")
    what.add_argument("--all", metavar="DIR", help="all pictures and the film, as the report shows them")
    add.add_argument(
        "--show",
        choices=("assembled", "origins", "errors", "original", "bag", "generations"),
        help="which picture; origins and errors, coloured pieces and marks, and the original need the truth"
        " (default: assembled, or origins if the truth is given)",
    )
    add.add_argument("--truth", metavar="T.h5", help="where the pieces belong; turns a film upright")
    add.add_argument(
        "--longest",
        type=int,
        default=4096,
        metavar="PIXELS",
        help="scale the picture down if a side is longer (default: %(default)s)",
    )

    add = step("table", _table, "make a table of scores")
    _record_options(add)
    add.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help=".csv, .md, .tex, or .png where there is a plot; .json merges records",
    )
    add.add_argument(
        "--kind",
        default="puzzles",
        help="puzzles, mixed_bags, drawn_bags, accuracy, comparison, performance, imperfect, ablation"
        " or measures",
    )

    add = step("plot", _plot, "plot accuracy, fitness, scaling and stages of scores")
    _record_options(add)
    add.add_argument("--out", required=True, metavar="DIR", help="folder for accuracy.svg and so on")

    add = step("report", _report, "make a page of scores, plots and pictures")
    _record_options(add)
    add.add_argument("--out", required=True, metavar="FILE.html")
    add.add_argument(
        "--pictures",
        required=True,
        metavar="DIR",
        help="the pictures of each run, made by `draw --all`, in SET/PUZZLE/PRESET/RUN",
    )
    add.add_argument("--plots", nargs="*", default=[], metavar="FILE.svg", help="made by `plot`")

    add = step("run", _run, "do all of it for one puzzle", tells=True)
    add.add_argument("images", nargs="+", metavar="IMAGE")
    add.add_argument("--out", required=True, metavar="DIR", help="folder for every file of the data flow")
    _cutting_options(add)
    _solver_options(add)

    add = step("fetch", _fetch, "download an image set that the configuration declares")
    add.add_argument("set", metavar="SET")
    add.add_argument("--config", default="config.yaml", metavar="FILE", help="default: %(default)s")

    add = step("estimate", _estimate, "say what the configured experiment will cost, or one puzzle")
    add.add_argument("--config", default="config.yaml", metavar="FILE", help="default: %(default)s")
    add.add_argument("--pieces", type=int, metavar="N", help="one puzzle of so many pieces, by preset")

    add = step("reference", _reference, "keep results, list those lacking, or make some of them again")
    add.add_argument("action", choices=("keep", "lacking", "check"))
    add.add_argument("--folder", default="results/reference", metavar="DIR", help="default: %(default)s")
    add.add_argument("--config", default="config.yaml", metavar="FILE", help="default: %(default)s")
    add.add_argument("--readme", default="README.md", metavar="FILE", help="to keep: whose headline to renew")
    add.add_argument("--sample", type=int, default=3, metavar="N", help="to check: puzzles of each preset")
    add.add_argument("--cores", type=int, default=2, metavar="N", help="to check (default: %(default)s)")

    add = step("compile", _compile, "compile the kernels into their cache, before many jobs start at once")
    add.add_argument(
        "stage", nargs="?", choices=("compare", "solve", "search"), help="whose kernels (default: all)"
    )
    add.add_argument("measures", nargs="*", metavar="MEASURE", help="for these measures (default: all)")
    return top


def _record_options(add: argparse.ArgumentParser) -> None:
    add.add_argument("scores", nargs="+", metavar="scores.json")
    add.add_argument(
        "--presets", nargs="*", metavar="PRESET", help="only these, in this order (default: all)"
    )
    add.add_argument("--published", metavar="FILE", help="published results to show beside ours")
    add.add_argument("--beside", nargs="*", metavar="SOLVER", help="which published solvers (default: all)")


def _cutting_options(add: argparse.ArgumentParser) -> None:
    add.add_argument("--piece-size", type=int, default=28, metavar="PIXELS", help="default: %(default)s")
    add.add_argument("--keep-orientation", action="store_true", help="shuffle, but do not turn the pieces")
    add.add_argument(
        "--missing", type=float, default=0.0, metavar="SHARE", help="lose this share of the pieces"
    )
    add.add_argument(
        "--crop",
        nargs="+",
        metavar="WxH+X+Y",
        help="cut only this part of each image, in pieces; one for every image, - for all of it",
    )


_SETTINGS: dict[str, tuple[Any, str]] = {
    "measure": (str, "dissimilarity by which edges are compared"),
    "population": (int, "chromosomes in a generation"),
    "generations": (int, "generations after the random one"),
    "elite": (int, "best chromosomes copied to the next generation"),
    "mutation": (float, "probability to leave out a relation common to both parents"),
    "members": (int, "assemblies the search after the generations works on; 0 for no search"),
    "rounds": (int, "rounds of crossover between them; up to three times as many while that is worth it"),
    "passes": (int, "passes of each over its bad edges"),
    "budget": (float, "seconds of processor time a piece and worker after which the search ends in any case"),
}


def _solver_options(add: argparse.ArgumentParser) -> None:
    add.add_argument("--preset", default="paper", help="solver settings by name (default: %(default)s)")
    add.add_argument("--name", help="what to call these settings in tables (default: the preset's name)")
    for name, (kind, text) in _SETTINGS.items():
        add.add_argument(f"--{name}", type=kind, help=text)
    add.add_argument(
        "--size", type=_size, metavar="WxH", help="width and height of the picture in pieces, if known"
    )
    add.add_argument("--one-image", action="store_true", help="all pieces are known to be of one image")
    add.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    add.add_argument("--workers", type=int, default=1, help="processes; does not change the result")
    add.add_argument(
        "--checkpoint", type=float, default=60.0, metavar="SECONDS",
        help="save the state so often, for the same command to go on from it (default: %(default)g)",
    )  # fmt: skip
    add.add_argument("--live", action="store_true", help="serve a page, to this machine alone, that shows it")


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    try:
        return int(width), int(height)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not WxH, as in 24x18") from None


class _Version(argparse.Action):
    def __call__(self, *_: Any) -> None:
        from jigsaw.provenance import VERSION

        print(f"jigsaw {VERSION}")
        raise SystemExit(0)


@contextlib.contextmanager
def naming(*files: str) -> Iterator[None]:
    """Put the names of the files before the message of what does not go together in them."""
    try:
        yield
    except JigsawError as error:
        raise JigsawError(f"{', '.join(files)}: {error}") from error


def _tell(options: argparse.Namespace, result: dict[str, Any], table: str = "") -> None:
    """Print the result of a command: as JSON if that is wanted, else as its table, if it has one."""
    if options.json:
        print(json.dumps(result))
    elif table and not options.quiet:
        print(table)


@contextlib.contextmanager
def _page(options: argparse.Namespace, settings: Settings) -> Iterator[Page | None]:
    """Serve the live page while the block lasts, if it is wanted; on a terminal, until an interrupt."""
    if not options.live:
        yield None
        return
    if options.quiet:
        raise JigsawError("--live has to say where its page is: leave out --quiet")
    from jigsaw.live import Page

    with Page(settings) as page:
        log.info("to see it, open %s", page.address)
        yield page
        if sys.stderr.isatty():
            with contextlib.suppress(KeyboardInterrupt):
                log.info("%s is there until you press Ctrl-C", page.address)
                threading.Event().wait()


def _settings(options: argparse.Namespace) -> Settings:
    from jigsaw.presets import settings_of

    return settings_of(options.preset).changed(**{name: getattr(options, name) for name in _SETTINGS})


def _crops(options: argparse.Namespace) -> list[str | None] | None:
    return options.crop and [None if crop == "-" else crop for crop in options.crop]


def _cut(options: argparse.Namespace) -> None:
    from jigsaw.pieces import cut, save_cut
    from jigsaw.summary import of_bag

    bag, truth = cut(
        options.images, options.piece_size, options.seed, options.keep_orientation, options.missing,
        _crops(options),
    )  # fmt: skip
    save_cut(bag, truth, options.pieces, options.truth)
    log.info("%s: %d pieces", options.pieces, len(bag))
    shapes = zip(truth.names, truth.shapes.tolist(), strict=True)
    images = [{"image": name, "rows": rows, "columns": columns} for name, (rows, columns) in shapes]
    _tell(options, {**of_bag(bag, options.pieces), "truth": options.truth, "images": images})


def _gather(options: argparse.Namespace) -> None:
    from jigsaw.pieces import gather
    from jigsaw.summary import of_bag

    bag = gather(options.folder)
    bag.save(options.pieces)
    log.info("%s: %d pieces", options.pieces, len(bag))
    _tell(options, of_bag(bag, options.pieces))


def _compare(options: argparse.Namespace) -> None:
    from jigsaw.dissimilarity import NEIGHBORS, compare
    from jigsaw.pieces import Bag
    from jigsaw.summary import of_edges

    neighbors = NEIGHBORS if options.neighbors is None else options.neighbors
    bag = Bag.load(options.pieces)
    edges = compare(bag, options.measure, neighbors, options.workers, options.keep_orientation)
    edges.save(options.out)
    _tell(options, of_edges(edges, options.out))


def _quality(options: argparse.Namespace) -> None:
    from jigsaw.edges import Edges
    from jigsaw.files import write_json
    from jigsaw.pieces import Truth
    from jigsaw.quality import quality

    edges, truth = Edges.load(options.edges), Truth.load(options.truth)
    with naming(options.edges, options.truth):
        report = {"set": options.set, "puzzle": options.puzzle, **quality(edges, truth)}
    write_json(options.out, report)
    _tell(options, report)


def _solve(options: argparse.Namespace) -> None:
    from jigsaw.checkpoints import Checkpoints
    from jigsaw.edges import Edges
    from jigsaw.logs import progress
    from jigsaw.pieces import Bag
    from jigsaw.solution import Solution
    from jigsaw.solver import solve
    from jigsaw.summary import of_solution, solution_table

    if options.live != (options.pieces is not None):
        raise JigsawError("--live shows the pieces that --pieces names: give both or neither")
    settings = _settings(options)
    checkpoints = Checkpoints(options.out, options.checkpoint)
    edges = Edges.load(options.edges)
    islands = [Solution.load(path) for path in options.islands]
    with _page(options, settings) as page:
        if page is not None:
            bag = Bag.load(options.pieces)
            if bag.digest != edges.pieces_digest:
                raise JigsawError(f"{options.edges}, {options.pieces}: the edges are not those of the pieces")
            page.pieces(bag)
        with naming(options.edges, *options.islands), progress(settings, options.quiet, page) as shown:
            solution = solve(
                edges, options.name or options.preset, settings, options.seed, options.workers, options.size,
                options.one_image, shown.generation, shown.step, checkpoints, islands, options.keep,
            )  # fmt: skip
        solution.save(options.out)
        checkpoints.remove()
        if page is not None:
            page.done(solution)
        told = of_solution(solution, options.out)
        _tell(options, told, solution_table(told))


def _unmix(options: argparse.Namespace) -> None:
    from jigsaw.edges import Edges
    from jigsaw.solution import Solution
    from jigsaw.summary import of_solution
    from jigsaw.unmixing import unmix

    solution, edges = Solution.load(options.solution), Edges.load(options.edges)
    with naming(options.solution, options.edges):
        unmixed = unmix(solution, edges)
    unmixed.save(options.out)
    _tell(options, of_solution(unmixed, options.out))


def _evaluate(options: argparse.Namespace) -> None:
    from jigsaw.edges import Edges
    from jigsaw.evaluation import evaluate
    from jigsaw.files import write_json
    from jigsaw.pieces import Bag, Truth
    from jigsaw.solution import Solution

    solution, truth, bag = (
        Solution.load(options.solution),
        Truth.load(options.truth),
        Bag.load(options.pieces),
    )
    edges = Edges.load(options.edges) if options.edges else None
    with naming(options.solution, options.truth, options.pieces, *filter(None, [options.edges])):
        scores = evaluate(solution, truth, bag, edges)
    names = {name: getattr(options, name) for name in ("set", "puzzle", "draw", "run")}
    record = {**names, **scores}
    write_json(options.out, record)
    _tell(options, record)


def _draw(options: argparse.Namespace) -> None:
    from jigsaw.animation import animate
    from jigsaw.drawing import draw_images, save_images
    from jigsaw.images import write_image
    from jigsaw.pictures import draw_all, draw_one
    from jigsaw.pieces import Bag, Truth
    from jigsaw.solution import Solution

    solution, bag = Solution.load(options.solution), Bag.load(options.pieces)
    truth = Truth.load(options.truth) if options.truth else None
    with naming(options.solution, options.pieces, *filter(None, [options.truth])):
        if options.all:
            draw_all(solution, bag, truth, options.all)
        elif options.animate:
            animate(solution, bag, options.animate, truth)
        elif options.images:
            save_images(options.images, draw_images(solution, bag, truth))
        else:
            picture = draw_one(solution, bag, truth, options.show, options.longest)
    if options.out:
        write_image(options.out, picture)


def _table(options: argparse.Namespace) -> None:
    from jigsaw.tables import make_table

    make_table(options.scores, options.out, options.kind, options.published, options.beside, options.presets)


def _plot(options: argparse.Namespace) -> None:
    from jigsaw.plots import save_plots
    from jigsaw.records import chosen, read_published, read_records

    records = chosen(read_records(options.scores), options.presets)
    save_plots(records, read_published(options.published, options.beside), options.out)


def _report(options: argparse.Namespace) -> None:
    from jigsaw.report import make_report

    make_report(
        options.scores, options.out, options.pictures, options.plots, options.published, options.beside,
        options.presets,
    )  # fmt: skip


def _run(options: argparse.Namespace) -> None:
    from jigsaw.logs import progress
    from jigsaw.puzzle import run
    from jigsaw.solution import Solution
    from jigsaw.summary import score_table

    settings = _settings(options)
    with _page(options, settings) as page:
        with progress(settings, options.quiet, page) as shown:
            scores = run(
                options.images, options.out, options.name or options.preset, settings, options.piece_size,
                options.keep_orientation, options.missing, options.seed, options.workers, options.size,
                options.one_image, shown.generation, shown.step, _crops(options), options.checkpoint,
                None if page is None else page.pieces,
            )  # fmt: skip
        if page is not None:
            page.done(Solution.load(Path(options.out, "solution.h5")))
        _tell(options, scores, score_table(scores))


def _fetch(options: argparse.Namespace) -> None:
    from jigsaw.experiment import Experiment

    Experiment.load(options.config).fetch(options.set)


def _estimate(options: argparse.Namespace) -> None:
    from jigsaw.estimate import by_set, of_puzzle
    from jigsaw.experiment import Experiment
    from jigsaw.presets import PRESETS

    if options.pieces is not None and options.pieces < 2:
        raise JigsawError(f"a puzzle of {options.pieces} pieces is none: there must be at least 2")
    table = of_puzzle(options.pieces, PRESETS) if options.pieces else by_set(Experiment.load(options.config))
    print(table.markdown(), end="")


def _reference(options: argparse.Namespace) -> None:
    from jigsaw.reference import check, keep, lacking

    config, folder = Path(options.config), Path(options.folder)
    if options.action == "keep":
        print(keep(config, folder, Path(options.readme)))
    elif options.action == "lacking":
        print(*lacking(config, folder), sep="\n")
    else:
        print(check(folder, options.sample, options.cores).markdown(), end="")


def _compile(options: argparse.Namespace) -> None:
    import numpy as np

    from jigsaw import allpairs, genetic, search
    from jigsaw.compiled import remove_old
    from jigsaw.measures import MEASURES, measure_called

    remove_old()
    for measure in map(measure_called, options.measures or MEASURES):
        features = measure.features(np.zeros((2, 2, 2, 3), np.uint8))
        if options.stage in (None, "compare"):
            allpairs.warm_up(measure)
        if options.stage in (None, "solve"):
            genetic.warm_up(features)
        if options.stage in (None, "search"):
            search.warm_up(features)
