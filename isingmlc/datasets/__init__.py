"""Data to try things on: bundled, simulated, and read from files."""

from isingmlc.datasets._base import Dataset

__all__ = ["Dataset"]
