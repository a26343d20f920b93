"""Subsets of features chosen on validation rows or by p-values."""
