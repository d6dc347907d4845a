"""Makes the pictures of the README and the documentation, from photographs that come with scikit-image.

All is done by the project's own code; only where it says so does the truth turn a picture upright.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import skimage.data
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from playwright.sync_api import sync_playwright
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from skimage.color import gray2rgb

import jigsaw
from jigsaw.chromosome import costs_of
from jigsaw.crossover import cross, make_workspace
from jigsaw.drawing import draw, draw_bag, draw_errors, draw_images, draw_layout
from jigsaw.evaluation import true_layout
from jigsaw.geometry import DX, DY, motions, moved_onto, normalised, relations_of, rotate_array, turn_pixels
from jigsaw.groups import enter, join, workspace
from jigsaw.images import write_image
from jigsaw.live import Page
from jigsaw.logs import Progress
from jigsaw.pieces import Bag, Truth
from jigsaw.randomness import start

HERE = Path(__file__).parent / "pictures"
GAP = 24
BLUE, ORANGE, RED = "#2f6690", "#e07a3f", "#c1272d"
RIGHT, BOTTOM, LEFT = 1, 2, 3
Cells = Sequence[tuple[int, int]]
PART = 4  # pieces that a part must have to be coloured
LARGE = 56  # pixels of a piece where pieces are looked at closely


def main() -> None:
    """Make all of them."""
    mpl.use("Agg")
    mpl.rcParams.update({"font.family": "sans-serif", "font.size": 10, "savefig.dpi": 110})
    solved()
    generations_and_crossover()
    mixed()
    search()
    mistakes()
    live()
    close, place = jigsaw.cut([skimage.data.chelsea()], LARGE, seed=1)
    relations(close, place)
    merging(close, place)
    collision(close, place)


def solved() -> None:
    """Draw a bag of pieces beside what the solver made of it."""
    bag, truth = jigsaw.cut([skimage.data.chelsea()], seed=1)
    solution = jigsaw.solve(jigsaw.compare(bag), seed=1)
    after = draw_layout(_upright(solution.layout, truth), bag.pixels)
    write_image(HERE / "solved.jpg", _beside(draw_bag(bag, columns=16), after))


def mixed() -> None:
    """Draw a bag of two photographs beside the two that the solver made of it."""
    photographs = [skimage.data.chelsea(), skimage.data.coffee()]
    bag, truth = jigsaw.cut(photographs, crops=[None, "12x10+4+2"])
    solution = jigsaw.solve(jigsaw.compare(bag, "fused"), "best")
    pictures = []
    for picture, image in zip(draw_images(solution, bag), _by_size(solution.image), strict=True):
        turns = motions(solution.layout, true_layout(truth))[solution.image == image, 0]
        pictures.append(np.rot90(picture, -np.bincount(turns).argmax()))
    write_image(HERE / "mixed.jpg", _beside(draw_bag(bag, columns=20), *pictures))


def _by_size(image: np.ndarray) -> np.ndarray:
    return np.argsort(-np.bincount(image), kind="stable")


def search() -> None:
    """Draw the best assembly of the last generation beside what the search made of it."""
    bag, truth = jigsaw.cut([skimage.data.rocket()], seed=1)
    solution = jigsaw.solve(jigsaw.compare(bag, "fused"), "best")
    layouts = (solution.snapshots[-1], solution.layout)
    before, after = (draw_layout(_upright(layout, truth), bag.pixels) for layout in layouts)
    write_image(HERE / "search.jpg", _beside(before, after))


def mistakes() -> None:
    """Draw an assembly that is not perfect, and beside it what is wrong."""
    bag, truth = jigsaw.cut([gray2rgb(skimage.data.camera())])
    solution = jigsaw.solve(jigsaw.compare(bag, "fused"), "best")
    upright = replace(solution, layout=_upright(solution.layout, truth))
    write_image(HERE / "mistakes.jpg", _beside(draw(upright, bag), draw_errors(upright, bag, truth)))


def generations_and_crossover() -> None:
    """Draw the strip of the paper's figures, and two parents and their child."""
    bag, truth = jigsaw.cut([skimage.data.coffee()], seed=1)
    edges = jigsaw.compare(bag)
    best = {}

    def keep(number: int, fitness: np.ndarray, layout: np.ndarray) -> None:
        best[number] = fitness[0], layout.copy()

    solution = jigsaw.solve(edges, seed=1, on_generation=keep)
    figure, axes = plt.subplots(2, 3, figsize=(9, 6.4), layout="constrained")
    for one, number, layout in zip(axes.flat, solution.shown, solution.snapshots, strict=True):
        one.imshow(draw_layout(_upright(layout, truth), bag.pixels))
        one.set_title(f"generation {number}")
        one.axis("off")
    _same_scale(axes.ravel())
    _save(figure, "generations.jpg")

    (fitness, one), (_, two) = best[1], best[2]
    child = _child(edges, fitness, one, two)
    labels = _common_parts(one, two)
    figure, axes = plt.subplots(1, 3, figsize=(10, 4.2), layout="constrained")
    for place, layout, title in zip(axes, (one, two, child), ("parent", "parent", "child"), strict=True):
        place.imshow(_tinted(_upright(layout, truth), bag.pixels, labels))
        place.set_title(title)
        place.axis("off")
    _same_scale(axes)
    _save(figure, "crossover.jpg")


def _child(edges: jigsaw.Edges, fitness: float, one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Return the layout of a child of two parents."""
    costs, work = costs_of(edges), make_workspace(edges.pieces)
    start(work.random, 1, 0, 0)
    relations, layout = np.empty(4 * edges.pieces, np.int32), np.empty((edges.pieces, 3), np.int32)
    parents = [relations_of(parent).reshape(-1) for parent in (one, two)]
    cross(work, costs, 0.001, parents[0], one, fitness, parents[1], relations, layout)
    return layout


def _common_parts(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Return the number of the part that each piece is of in both parents, 0 if that is a small one."""
    first, second = (relations_of(layout).reshape(-1) for layout in (one, two))
    e = np.flatnonzero((first == second) & (first >= 0))
    graph = coo_array((np.ones(len(e)), (e // 4, first[e] // 4)), shape=(len(one), len(one)))
    _, part = connected_components(graph, directed=False)
    sizes = np.bincount(part)
    order = np.argsort(np.argsort(-sizes, kind="stable"))
    return np.where(sizes[part] >= PART, order[part] + 1, 0)


def _tinted(layout: np.ndarray, pixels: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Draw a layout with the labelled pieces in colours."""
    labelled = np.broadcast_to((labels > 0)[:, None, None, None], pixels.shape)
    mask = draw_layout(layout, labelled.astype(np.uint8))
    return np.where(mask > 0, draw_layout(layout, pixels, labels), draw_layout(layout, pixels))


def live() -> None:
    """Take a picture of the live page in the middle of a run, by a browser."""
    settings = jigsaw.PRESETS["paper"]
    bag, _ = jigsaw.cut([skimage.data.coffee()], seed=1)
    with sync_playwright() as playwright, Page(settings) as page:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        tab = browser.new_page(viewport={"width": 1200, "height": 700})
        tab.goto(page.address)
        shown = Progress(settings, False, page)

        def look(number: int, fitness: np.ndarray, layout: np.ndarray) -> None:
            shown.generation(number, fitness, layout)
            if number == 12:
                tab.get_by_text("generation 12 of").wait_for()
                tab.screenshot(path=HERE / "live.png", animations="disabled")

        page.pieces(bag)
        jigsaw.solve(jigsaw.compare(bag), settings=settings, on_generation=look)
        browser.close()


def relations(bag: Bag, truth: Truth) -> None:
    """Draw two pieces and their edges, apart and joined, and the table that says so."""
    e, f = _edge(truth, 2, 2, RIGHT), _edge(truth, 2, 3, LEFT)
    p, q = e // 4, f // 4
    facing = (e % 4 + 2) % 4
    beside = [DX[e % 4], DY[e % 4], (facing - f % 4) % 4]
    figure, (apart, joined, table) = plt.subplots(
        1, 3, figsize=(10, 3), layout="constrained", width_ratios=(2.3, 2.3, 1.6)
    )
    for axes, layout, title in (
        (apart, [[0, 0, 0], [1.4, 0, 0]], "two pieces and their edges"),
        (joined, [[0, 0, 0], beside], f"the relation of edges {e} and {f}"),
    ):
        _lay(axes, bag, [p, q], np.array(layout), title, marked=(e, f))
        _number(axes, [p, q], np.array(layout))
    _same_scale([apart, joined])
    touches = {e: f, f: e}
    rows = [[str(piece), *(str(touches.get(4 * piece + side, -1)) for side in range(4))] for piece in (p, q)]
    table.axis("off")
    table.set_title("their rows of the chromosome", y=0.75)
    table.table(rows, colLabels=["piece", "0", "1", "2", "3"], loc="center", cellLoc="center").scale(1, 1.7)
    _save(figure, "relations.png")


def merging(bag: Bag, truth: Truth) -> None:
    """Draw how the smaller of two groups is turned and shifted to join the larger."""
    kept = [(1, 2), (1, 3), (2, 2), (2, 3), (3, 2), (3, 3)]
    moved = [(1, 4), (2, 4), (2, 5)]
    e, f = _edge(truth, 2, 3, RIGHT), _edge(truth, 2, 4, LEFT)
    assert _joins(truth, kept, moved, e, f)
    large, small = _true(truth, kept), _true(truth, moved)
    figure, axes = plt.subplots(1, 3, figsize=(10, 2.6), layout="constrained")
    pieces = [_piece(truth, *cell) for cell in kept + moved]
    for place, title, turns, shift in (
        (axes[0], "two groups", 3, (4, 6)),
        (axes[1], "the smaller one is turned", 0, (1.5, -0.5)),
        (axes[2], "and shifted: one group", 0, (0, 0)),
    ):
        _lay(place, bag, pieces, np.vstack([large, _moved(small, turns, shift)]), title, marked=(e, f))
    _same_scale(axes)
    _save(figure, "merging.png")


def collision(bag: Bag, truth: Truth) -> None:
    """Draw two groups that cannot be joined along two edges, as two pieces would lie at one place."""
    kept, moved = [(1, 2), (2, 2), (2, 3)], [(2, 5), (3, 5)]
    e, f = _edge(truth, 1, 2, RIGHT), _edge(truth, 2, 5, LEFT)
    assert not _joins(truth, kept, moved, e, f)
    large, small = _true(truth, kept), _true(truth, moved)
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
    titles = ("two groups", "a collision: the relation is dropped")
    pieces = [_piece(truth, *cell) for cell in kept + moved]
    for place, title, shift in zip(axes, titles, ((0, -0.5), (-2, -1)), strict=True):
        _lay(place, bag, pieces, np.vstack([large, _moved(small, 0, shift)]), title, marked=(e, f))
    _same_scale(axes)
    x, y = large[-1, :2]
    axes[1].add_patch(Rectangle((x, y), 1, 1, facecolor=RED, alpha=0.45, edgecolor=RED, linewidth=3))
    axes[1].plot([x, x + 1], [y, y + 1], [x, x + 1], [y + 1, y], color=RED, linewidth=3)
    _save(figure, "collision.png")


def _joins(truth: Truth, kept: Cells, moved: Cells, e: int, f: int) -> bool:
    """Return whether two groups can be joined along two edges, as the crossover joins them."""
    records, table = workspace(len(truth.places))
    for p in range(len(records)):
        records[p]["group"] = records[p]["ring"] = p
        records[p]["size"] = 1
        enter(records, table, p)
    for cells in (kept, moved):
        for row, column in cells:
            for direction, cell in ((RIGHT, (row, column + 1)), (BOTTOM, (row + 1, column))):
                if cell in cells:
                    touching = _edge(truth, *cell, (direction + 2) % 4)
                    join(records, table, _edge(truth, row, column, direction), touching)
    return bool(join(records, table, e, f))


def _piece(truth: Truth, row: int, column: int) -> int:
    return int(np.flatnonzero((truth.places[:, 1:3] == (row, column)).all(axis=1))[0])


def _edge(truth: Truth, row: int, column: int, direction: int) -> int:
    """Return the edge of a piece that faces so in the true picture."""
    piece = _piece(truth, row, column)
    return 4 * piece + int(direction - truth.places[piece, 3]) % 4


def _true(truth: Truth, cells: Cells) -> np.ndarray:
    """Return the layout of some pieces as they lie in the true picture."""
    return truth.places[[_piece(truth, *cell) for cell in cells]][:, [2, 1, 3]].astype(float)


def _moved(layout: np.ndarray, turns: int, shift: tuple[float, float]) -> np.ndarray:
    return np.column_stack([rotate_array(layout[:, :2], turns) + shift, (layout[:, 2] + turns) % 4])


def _lay(
    axes: Axes, bag: Bag, pieces: Sequence[int], layout: np.ndarray, title: str, marked: Sequence[int]
) -> None:
    """Draw pieces at their places, and lines along marked edges."""
    for piece, (x, y, turn) in zip(pieces, layout, strict=True):
        upright = turn_pixels(bag.pixels[[piece]], np.array([int(turn)]))[0]
        axes.imshow(upright, extent=(x, x + 1, y + 1, y))
        axes.add_patch(Rectangle((x, y), 1, 1, fill=False, edgecolor="white", linewidth=1.5))
    for edge, colour in zip(marked, (BLUE, ORANGE), strict=True):
        x, y, turn = layout[list(pieces).index(edge // 4)]
        direction = int(edge + turn) % 4
        centre = np.array([x + 0.5 + 0.47 * DX[direction], y + 0.5 + 0.47 * DY[direction]])
        along = 0.5 * np.array([DY[direction], DX[direction]])
        axes.plot(*np.transpose([centre - along, centre + along]), color=colour, linewidth=5)
    low, high = layout[:, :2].min(axis=0) - 0.1, layout[:, :2].max(axis=0) + 1.1
    axes.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]), aspect="equal", title=title)
    axes.axis("off")


def _same_scale(several: Sequence[Axes] | np.ndarray) -> None:
    """Show as much in each of several axes, around the middle of what is there."""
    limits = np.array([[axes.get_xlim(), axes.get_ylim()] for axes in several])
    reach = (limits[:, :, 1] - limits[:, :, 0]) / 2
    most = reach[np.abs(reach).argmax(axis=0), [0, 1]]
    for axes, middle in zip(several, limits.mean(axis=2), strict=True):
        (left, bottom), (right, top) = middle - most, middle + most
        axes.set(xlim=(left, right), ylim=(bottom, top))


def _number(axes: Axes, pieces: Sequence[int], layout: np.ndarray) -> None:
    """Write the number of each edge beside it."""
    for piece, (x, y, turn) in zip(pieces, layout, strict=True):
        for side in range(4):
            direction = int(side + turn) % 4
            at = (x + 0.5 + 0.36 * DX[direction], y + 0.5 + 0.36 * DY[direction])
            axes.text(
                *at, str(4 * piece + side), color="white", ha="center", va="center",
                bbox={"facecolor": "black", "alpha": 0.55, "pad": 1.5, "edgecolor": "none"},
            )  # fmt: skip


def _upright(layout: np.ndarray, truth: Truth) -> np.ndarray:
    """Turn a layout as the true picture lies: the solver cannot know which way is up."""
    return normalised(moved_onto(layout, true_layout(truth)))


def _beside(*pictures: np.ndarray) -> np.ndarray:
    """Return pictures side by side."""
    height, width = max(map(len, pictures)), sum(picture.shape[1] + GAP for picture in pictures) - GAP
    canvas = np.full((height, width, 3), 255, np.uint8)
    left = 0
    for picture in pictures:
        canvas[: len(picture), left : left + picture.shape[1]] = picture
        left += picture.shape[1] + GAP
    return canvas


def _save(figure: Figure, name: str) -> None:
    figure.savefig(HERE / name)
    plt.close(figure)


if __name__ == "__main__":
    main()
