"""Which features matter for which labels: score tests on Ising networks of binary labels."""

from isingmlc import exceptions

__version__ = "0.1.0.dev0"
__all__ = ["exceptions"]
