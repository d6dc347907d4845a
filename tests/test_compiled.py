"""The cache of compiled kernels, which jobs on several machines may fill at once."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.caching import IndexDataCacheFile

import jigsaw
from jigsaw.compiled import CacheFile
from jigsaw.crossover import cross
from jigsaw.placements import hashed

PACKAGE = Path(jigsaw.__file__).parent


def cache(kind, folder):
    return kind(str(folder), "kernel-1.py311", "stamp")


def save_at_once(kind, folder):
    """Let a job save a variant while another, which has begun to save one, is about to write its data."""
    first, second = cache(kind, folder), cache(kind, folder)
    write = first._save_data

    def meanwhile(name, data):
        second.save("of floats", "floats")
        write(name, data)

    second._load_index = dict  # it looked before the first had saved anything
    first._save_data = meanwhile
    first.save("of integers", "integers")
    return [cache(kind, folder).load(key) for key in ("of integers", "of floats")]


def test_variants_compiled_at_once_are_not_mixed_up(tmp_path):
    assert save_at_once(CacheFile, tmp_path) == ["integers", "floats"]


def test_the_cache_is_needed_as_long_as_numba_alone_would_mix_them_up(tmp_path):
    assert save_at_once(IndexDataCacheFile, tmp_path) == [None, "integers"]


def test_a_lost_variant_is_only_compiled_again(tmp_path):
    first, late = cache(CacheFile, tmp_path), cache(CacheFile, tmp_path)
    late._load_index = dict
    first.save("of integers", "integers")
    late.save("of floats", "floats")
    assert cache(CacheFile, tmp_path).load("of integers") is None
    first.save("of integers", "integers")
    assert [cache(CacheFile, tmp_path).load(key) for key in ("of integers", "of floats")] == [
        "integers",
        "floats",
    ]


def test_kernels_use_that_cache():
    assert isinstance(cross._cache._cache_file, CacheFile)


def test_an_index_never_names_a_file_that_is_not_there_yet(tmp_path):
    there = []
    file = cache(CacheFile, tmp_path)
    file._save_index = lambda index: there.extend((tmp_path / name).exists() for name in index.values())
    file.save("of integers", "integers")
    assert there == [True]


@pytest.mark.parametrize(
    ("edited", "loaded"),
    [("provenance", 1), ("placements", 0), ("groups", 0)],
)
def test_a_copy_of_the_package_has_its_kernels_until_the_source_of_one_is_edited(tmp_path, edited, loaded):
    hashed(1, 2, 3, 4, 8)
    shutil.copytree(PACKAGE, tmp_path / "jigsaw")
    source = tmp_path / f"jigsaw/{edited}.py"
    source.write_text(f"{source.read_text()}\n# edited\n")
    asking = (
        "from jigsaw.placements import hashed as h; h(1, 2, 3, 4, 8); print(sum(h.stats.cache_hits.values()))"
    )
    variables = {**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-c", asking]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True)
    assert int(done.stdout) == loaded
