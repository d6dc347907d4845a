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
OTHERS = [{"OPENBLAS_CORETYPE": "Prescott"}, {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"}]
on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="these are processors of another kind")


def compared(measure, **environment):
    done = subprocess.run(
        [sys.executable, "-c", COMPARE, measure],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@on_x86
@pytest.mark.parametrize("measure", ["ssd", "mgc", "prediction", "fused"])
def test_other_processors_compare_edges_to_the_same_bit(measure):
    here = compared(measure)
    assert here
    assert [compared(measure, **other) for other in OTHERS] == [here] * len(OTHERS)


@on_x86
def test_kernels_are_compiled_for_one_kind_of_processor():
    assert numba.core.config.CPU_NAME == jigsaw.compiled._TARGET
