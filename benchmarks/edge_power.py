"""How often effects are found on as many rows as a plan for a power of 80% asks for.

One label without others, and one feature: normal, binary or skewed. The plan knows how frequent
the label is and how the feature is distributed; studies of as many rows as it needs are drawn, and
their score tests counted that find the effect.

    python benchmarks/edge_power.py --studies 1000
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

import isingmlc as im

RATIOS = (1.5, 3.0, 1 / 1.5, 1 / 3)
# Rows that are drawn at once, and beyond which a study is left out.
_AT_ONCE, _MOST = 2_000_000, 30_000


def features(generator: np.random.Generator) -> dict[str, tuple[Callable[..., np.ndarray], dict]]:
    """Give how features are drawn, and what the plan is told of them."""
    return {
        "normal": (generator.normal, {}),
        "one in 10%": (
            lambda size: (generator.random(size) < 0.1).astype(float),
            {"feature_prevalence": 0.1},
        ),
        "exponential": (
            lambda size: generator.exponential(size=size) - 1,
            {"feature_skewness": 2.0},
        ),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=1000)
    given = parser.parse_args()
    generator = np.random.default_rng(0)
    lines = []
    for prevalence in (0.03, 0.2, 0.5):
        for kind, (draw, told) in features(generator).items():
            powers, most = [], draw(size=500_000)
            for ratio in RATIOS:
                effect = np.log(ratio)
                threshold = brentq(
                    lambda t, e=effect, x=most, p=prevalence: expit(t + e * x).mean() - p, -20, 20
                )
                for level in (0.05, 0.001):
                    plan = im.plan_sample_size(
                        prevalence=prevalence, odds_ratio=ratio, alpha=level, **told
                    )
                    n = int(plan.to_frame().loc[0, "needed"])
                    if n > _MOST:
                        continue
                    found, left = 0, given.studies
                    while left:
                        size = min(left, max(1, _AT_ONCE // n))
                        x = draw(size=(size, n))
                        y = generator.random((size, n)) < expit(threshold + effect * x)
                        rest, share = x - x.mean(axis=1, keepdims=True), y.mean(axis=1)
                        score = (rest * y).sum(axis=1)
                        variance = share * (1 - share) * (rest**2).sum(axis=1)
                        found += int((score**2 > norm.isf(level / 2) ** 2 * variance).sum())
                        left -= size
                    powers.append((found / given.studies, n * min(prevalence, 1 - prevalence)))
            least, largest = min(powers), max(powers)
            lines.append((prevalence, kind, len(powers), least[0], round(least[1]), largest[0]))
    columns = ["label", "feature", "plans", "lowest", "rows of the label there", "highest"]
    error = np.sqrt(0.16 / given.studies)
    print(f"power where 0.8 was planned, {given.studies} studies per plan, error ±{error:.3f}")
    print(pd.DataFrame(lines, columns=columns).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
