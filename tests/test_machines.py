"""Results do not depend on the processor, as far as one can pretend to be another."""

import os
import platform
import subprocess
import sys

import numba.core.config
import pytest

import jigsaw.compiled

COMPARE = """
import hashlib, sys
import numpy as np
from skimage.data import coffee
from jigsaw.dissimilarity import compare
from jigsaw.pieces import cut

edges = compare(cut([coffee()[:280, :280]], seed=1)[0], sys.argv[1])
arrays = [*edges.features, edges.nearest, edges.values, np.array(edges.mean)]
print(hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest())
"""
LOOK_AGAIN = """
import hashlib
import numpy as np
from jigsaw.assembly import bonds_of
from jigsaw.dissimilarity import compare
from jigsaw.geometry import placed_relations
from jigsaw.pieces import cut
from jigsaw.second_look import look_again

grain = np.random.default_rng(0).integers(0, 9, (280, 364, 3))
blurred = sum(np.roll(grain, (i, j), axis=(0, 1)) for i in range(3) for j in range(3))
slope = 60 + np.arange(364)[:, None] // 8 + np.arange(280)[:, None, None] // 6
bag, truth = cut([(slope + blurred // 8).astype(np.uint8)], seed=1)
places = truth.places
layout = np.column_stack([places[:, 2], places[:, 1], places[:, 3]]).astype(np.int32)
again = look_again(bonds_of(compare(bag, "fused")), placed_relations(layout), 1)
print(hashlib.sha256(again.near.tobytes() + again.gains.tobytes()).hexdigest())
"""
OTHERS = [{"OPENBLAS_CORETYPE": "Prescott"}, {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"}]
on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="these are processors of another kind")


def said_by(script, *words, **environment):
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@on_x86
@pytest.mark.parametrize("measure", ["ssd", "mgc", "prediction", "fused"])
def test_other_processors_compare_edges_to_the_same_bit(measure):
    here = said_by(COMPARE, measure)
    assert here
    assert [said_by(COMPARE, measure, **other) for other in OTHERS] == [here] * len(OTHERS)


@on_x86
def test_other_processors_learn_the_same_from_an_assembly():
    here = said_by(LOOK_AGAIN)
    assert here
    assert [said_by(LOOK_AGAIN, **other) for other in OTHERS] == [here] * len(OTHERS)


@on_x86
def test_kernels_are_compiled_for_one_kind_of_processor():
    assert numba.core.config.CPU_NAME == jigsaw.compiled._TARGET
