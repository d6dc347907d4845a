"""Measures of how badly two edges fit, by name."""

from __future__ import annotations

MEASURES = ("ssd",)
