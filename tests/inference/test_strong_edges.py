"""p-values of very strong edges against the hypergeometric distribution."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import isingmlc as im

N_ROWS, N_POSITIVE, N_ONES = 20_000, 2_000, 200


def fit_table(common, **options):
    """Fit two labels, the second unrelated, to a feature with a given two-by-two table."""
    y, x = np.zeros((2, N_ROWS), dtype=int)
    y[:N_POSITIVE] = 1
    x[:common] = 1
    x[N_POSITIVE : N_POSITIVE + N_ONES - common] = 1
    other = np.random.default_rng(0).integers(0, 2, N_ROWS)
    labels = pd.DataFrame({"y": y, "other": other})
    return im.IsingModel(labels, pd.DataFrame({"x": x})).fit(**options)


def log10_exact(common):
    """Return log10 of the two-sided p-value: Fisher's, whose other tail is negligible or none."""
    law = stats.hypergeom(N_ROWS, N_POSITIVE, N_ONES)
    upper = law.logsf(common - 1)
    lower = law.logcdf(2 * N_POSITIVE * N_ONES // N_ROWS - common)
    return np.logaddexp(upper, lower) / np.log(10)


@pytest.mark.parametrize("common", [35, 45, 60, 90, 150, 200])
def test_default_pvalues_of_strong_edges_agree_with_the_exact_test(common):
    edges = fit_table(common).score_test()
    found = edges.log10_pvalues.loc["x", "y"]
    assert found == pytest.approx(log10_exact(common), rel=0.05)
    row = edges.to_frame().iloc[0]
    assert row["pvalue_method"] == "saddlepoint"
    assert row["log10p"] == found


def test_reference_is_the_exact_test_of_scipy():
    common = 60
    counts = [[common, N_ONES - common], [N_POSITIVE - common, 0]]
    counts[1][1] = N_ROWS - sum(counts[0]) - counts[1][0]
    exact = stats.fisher_exact(counts, alternative="greater").pvalue
    assert log10_exact(common) == pytest.approx(np.log10(exact), abs=1e-6)


def test_what_is_printed_names_the_method():
    edges = fit_table(90).score_test()
    text = edges.summary().as_text()
    assert "4.52e-38" in text
    assert "saddlepoint" in text
    assert "e-61" not in text


def test_a_strong_edge_of_a_continuous_feature_agrees_with_simulation_by_tilting():
    """Importance sampling under the fitted null, tilted to the observed score."""
    rng = np.random.default_rng(3)
    n_rows = 4_000
    x = rng.lognormal(sigma=1.0, size=n_rows)
    y = (rng.random(n_rows) < 1 / (1 + np.exp(3.5 - 0.45 * x))).astype(int)
    labels = pd.DataFrame({"y": y, "other": rng.integers(0, 2, n_rows)})
    res = im.IsingModel(labels, pd.DataFrame({"x": x})).fit()
    found = res.score_test().log10_pvalues.loc["x", "y"]
    # Given the number of ones, y is a random subset: tilted, it favours rows by exp(t x).
    chance = np.full(n_rows, y.mean())
    centred = x - x.mean()
    score = centred @ y

    def tilt(t, a):
        return 1 / (1 + np.exp(-(np.log(chance / (1 - chance)) + a + t * centred)))

    t = a = 0.0
    for _ in range(60):
        p = tilt(t, a)
        w = p * (1 - p)
        hessian = np.array([[w @ centred**2, w @ centred], [w @ centred, w.sum()]])
        step = np.linalg.solve(hessian, [score - centred @ p, y.sum() - p.sum()])
        t, a = np.array([t, a]) + step * 0.5 / max(0.5, np.abs(step).max())
    p = tilt(t, a)
    draws = rng.random((4_000, n_rows)) < p
    log_weight = draws @ np.log(chance / p) + (~draws) @ np.log((1 - chance) / (1 - p))
    # The number of ones is held fixed: draws with that number, over its probability.
    same = draws.sum(axis=1) == y.sum()
    reached = same & (draws @ centred >= score)
    log_joint = np.logaddexp.reduce(log_weight[reached]) - np.log(len(draws))
    log_total = stats.binom.logpmf(y.sum(), n_rows, y.mean())
    expected = (log_joint - log_total) / np.log(10)
    assert expected < -15
    assert found == pytest.approx(expected, rel=0.05)


def exact_category(sizes, ones):
    """Return statistic and log10 p of a category by enumerating the multivariate hypergeometric."""
    rest, share = N_ROWS - sum(sizes), N_POSITIVE / N_ROWS

    def statistic(counts):
        whole = [*zip(sizes, counts, strict=True), (rest, N_POSITIVE - sum(counts))]
        return sum((k - m * share) ** 2 / (m * share * (1 - share)) for m, k in whole)

    grid = np.meshgrid(*[np.arange(size + 1) for size in sizes], indexing="ij")
    log_chance = stats.multivariate_hypergeom.logpmf(
        np.stack([*grid, N_POSITIVE - sum(grid)], axis=-1), m=[*sizes, rest], n=N_POSITIVE
    )
    reached = statistic(grid) >= statistic(ones) * (1 - 1e-9)
    return statistic(ones), np.logaddexp.reduce(log_chance[reached]) / np.log(10)


@pytest.mark.parametrize(
    ("sizes", "ones"),
    [
        ([100, 100], [25, 25]),
        ([100, 100], [45, 45]),
        ([100, 100], [10, 60]),
        ([100, 100], [75, 75]),
        ([70, 80, 90], [50, 10, 10]),
        ([70, 80, 90], [3, 70, 70]),
        ([100, 100], [28, 10]),
        ([70, 80, 90], [20, 20, 20]),
        ([80, 120], [30, 15]),
        ([30, 30, 30, 30], [15, 12, 3, 3]),
    ],
)
def test_strong_terms_are_within_five_percent_of_log_p_of_enumeration(sizes, ones):
    y, group = np.zeros(N_ROWS, dtype=int), np.full(N_ROWS, "0", dtype=object)
    y[:N_POSITIVE] = 1
    first, second = 0, N_POSITIVE
    for at, (size, common) in enumerate(zip(sizes, ones, strict=True), start=1):
        group[first : first + common] = str(at)
        group[second : second + size - common] = str(at)
        first, second = first + common, second + size - common
    other = np.random.default_rng(0).integers(0, 2, N_ROWS)
    frame = pd.DataFrame({"y": y, "other": other, "group": group})
    model = im.IsingModel.from_formula("y + other ~ C(group)", frame)
    row = model.fit().score_test(unit="term").to_frame().iloc[0]
    statistic, expected = exact_category(sizes, ones)
    assert row["statistic"] == pytest.approx(statistic, rel=0.01)
    assert row["pvalue_method"] == "saddlepoint"
    assert row["log10p"] == pytest.approx(expected, rel=0.05)
