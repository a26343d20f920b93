"""Fits of the label models: Newton's method, separation, l1 paths."""
