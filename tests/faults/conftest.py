"""What all fault injections share: a count of what was done, told at the end."""

from __future__ import annotations

from collections import Counter

import pytest

COUNTED = (
    "kills survived",
    "files damaged and refused",
    "files damaged without harm",
    "inputs fuzzed",
    "results lost",
    "hangs",
)
_total: Counter[str] = Counter()


@pytest.fixture
def tally():
    """The count of what was done to the program, over all tests."""
    return _total


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("tally")
    for name in COUNTED:
        terminalreporter.write_line(f"{name}: {_total[name]}")
