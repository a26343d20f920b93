"""Draws from Ising distributions, and what can be said about such distributions exactly.

Labels are coded 0/1 throughout. :func:`to_spin` and :func:`from_spin` translate parameters to and
from the −1/1 coding of physics.
"""

from isingmlc.simulate.distribution import IsingDistribution, distribution_of
from isingmlc.simulate.parameters import from_spin, to_spin

__all__ = ["IsingDistribution", "distribution_of", "from_spin", "to_spin"]
