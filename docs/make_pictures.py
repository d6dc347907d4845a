"""Makes the pictures of the README and the documentation, from photographs that come with scikit-image."""

from pathlib import Path

import numpy as np
import skimage.data

import jigsaw
from jigsaw.drawing import draw_bag
from jigsaw.images import write_image

HERE = Path(__file__).parent / "pictures"
GAP = 24


def main() -> None:
    """Draw a bag of pieces beside what the solver made of it."""
    bag, truth = jigsaw.cut([skimage.data.chelsea()], seed=1)
    solution = jigsaw.solve(jigsaw.compare(bag), seed=1)
    before, after = draw_bag(bag, columns=16), jigsaw.draw(solution, bag)
    # The solver cannot know which way is up; for the picture, the truth says.
    turned = np.bincount((solution.layout[:, 2] - truth.places[:, 3]) % 4).argmax()
    after = np.rot90(after, turned)
    canvas = np.full((max(len(before), len(after)), before.shape[1] + GAP + after.shape[1], 3), 255, np.uint8)
    canvas[: len(before), : before.shape[1]] = before
    canvas[: len(after), before.shape[1] + GAP :] = after
    write_image(HERE / "solved.jpg", canvas)


if __name__ == "__main__":
    main()
