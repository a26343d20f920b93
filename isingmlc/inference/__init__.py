"""Tests: score statistics, larger models, p-values."""
