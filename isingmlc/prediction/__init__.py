"""Labelsets predicted by an Ising model with features: probabilities, decoding, splits of rows."""
