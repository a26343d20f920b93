"""Whether a feature changes the association of two labels: one test per pair, against the joint
likelihood."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

import isingmlc as im

NAMES = ["a", "b", "c"]
PAIRS = list(combinations(range(3), 2))
PATTERNS = np.array([[at >> bit & 1 for bit in range(3)] for at in range(8)], dtype=float)
TOGETHER = np.column_stack([PATTERNS[:, k] * PATTERNS[:, m] for k, m in PAIRS])


def energies(x, thresholds, effects, interactions, moved):
    """Log-weights of all patterns of labels for each row."""
    plain = PATTERNS @ thresholds + TOGETHER @ interactions
    return plain + np.outer(x, PATTERNS @ effects + TOGETHER @ moved)


def draw(rng, x, threshold, effects, moved=(0.0, 0.0, 0.0)):
    thresholds, interactions = np.full(3, threshold), np.full(3, 0.5)
    weights = energies(x, thresholds, np.array(effects), interactions, np.array(moved))
    share = np.exp(weights - logsumexp(weights, axis=1, keepdims=True)).cumsum(axis=1)
    rows = (share < rng.random(len(x))[:, None]).sum(axis=1)
    return pd.DataFrame(PATTERNS[rows].astype(int), columns=NAMES)


def likelihood_ratio(labels, x, pair):
    """Compare exact likelihoods with and without x·y_a·y_b; return also the coefficient."""
    codes = labels.to_numpy() @ [1, 2, 4]
    columns = np.hstack([PATTERNS, TOGETHER])

    def lose(params, extra):
        moved = np.zeros(3)
        moved[PAIRS.index(pair)] = params[9] if extra else 0.0
        weights = energies(x, params[:3], params[3:6], params[6:9], moved)
        weights -= logsumexp(weights, axis=1, keepdims=True)
        apart = -np.exp(weights)
        apart[np.arange(len(x)), codes] += 1
        every, times = apart @ columns, (x[:, None] * apart) @ columns
        gradient = [every[:, :3].sum(0), times[:, :3].sum(0), every[:, 3:].sum(0)]
        if extra:
            gradient.append(times[:, [3 + PAIRS.index(pair)]].sum(0))
        return -weights[np.arange(len(x)), codes].sum(), -np.concatenate(gradient)

    fits = [
        minimize(lose, np.zeros(9 + extra), (extra,), jac=True, options={"gtol": 1e-6})
        for extra in (0, 1)
    ]
    return 2 * (fits[0].fun - fits[1].fun), fits[1].x[9]


def make(rng, kind, n):
    x = {
        "normal": lambda: rng.normal(size=n),
        "binary": lambda: (rng.random(n) < 0.2).astype(float),
        "skewed": lambda: np.minimum(rng.exponential(size=n), 6.0),
    }[kind]()
    return (x - x.mean()) / x.std()


def test_a_pair_has_one_row():
    rng = np.random.default_rng(0)
    x = make(rng, "normal", 400)
    labels = draw(rng, x, -1.0, [0.3, 0.0, 0.0])
    features = pd.DataFrame({"x": x, "z": rng.normal(size=400)})
    for test in ("score_test", "wald_test"):
        frame = getattr(im.IsingModel(labels, features).fit(), test)(products="given").to_frame()
        pairs = frame.loc[frame["with"] != "", ["feature", "label", "with"]]
        wanted = [(name, *pair) for name in features for pair in combinations(NAMES, 2)]
        assert list(pairs.itertuples(index=False, name=None)) == wanted
    with pytest.raises(im.exceptions.ModelError, match=r"Use score_test\(products='given'\)"):
        im.IsingModel(labels, features).fit().lr_test(products="given")


@pytest.mark.parametrize("kind", ["normal", "binary", "skewed"])
@pytest.mark.parametrize("moved", [0.0, 0.25, -0.4])
def test_pairs_agree_with_the_joint_likelihood(kind, moved):
    rng = np.random.default_rng(3)
    x = make(rng, kind, 3000)
    labels = draw(rng, x, -1.0, [0.4, 0.2, 0.0], (moved, 0.0, 0.0))
    res = im.IsingModel(labels, pd.DataFrame({"x": x})).fit()
    score, wald = (
        getattr(res, test)(products="given").to_frame(conf_int=0.95).set_index(["label", "with"])
        for test in ("score_test", "wald_test")
    )
    # Where another pair depends on the feature, neither model of a pair is the true one.
    for pair in PAIRS if moved == 0 else PAIRS[:1]:
        names = NAMES[pair[0]], NAMES[pair[1]]
        ratio, coef = likelihood_ratio(labels, x, pair)
        root = np.sign(coef) * np.sqrt(ratio)
        for table in (score, wald):
            row = table.loc[names]
            found = row["sign"] * np.sqrt(row["statistic"])
            assert found == pytest.approx(root, abs=0.3 + 0.1 * abs(root))
        assert wald.loc[names, "coef"] == pytest.approx(coef, abs=0.5 * wald.loc[names, "bse"])


def test_the_order_of_labels_does_not_matter():
    rng = np.random.default_rng(5)
    x = make(rng, "skewed", 500)
    labels = draw(rng, x, -1.5, [0.4, 0.2, 0.0], (0.3, 0.0, 0.0))
    tables = []
    for names in (NAMES, NAMES[::-1]):
        res = im.IsingModel(labels[names], pd.DataFrame({"x": x})).fit()
        frame = res.score_test(products="given").to_frame(conf_int=0.95, refit=20)
        frame = frame[frame["with"] != ""]
        frame.index = [frozenset(pair) for pair in zip(frame["label"], frame["with"], strict=True)]
        tables.append(frame[["coef", "bse", "statistic", "pvalue", "pvalue_adj", "sign"]])
    pd.testing.assert_frame_equal(tables[0], tables[1].loc[tables[0].index], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
@pytest.mark.parametrize("kind", ["normal", "binary", "skewed"])
@pytest.mark.parametrize(
    ("threshold", "effects", "n"),
    [(-1.5, (0.4, 0.2, 0.0), 400), (-1.5, (1.0, -1.0, 0.0), 400), (-2.8, (0.4, 0.2, 0.0), 800)],
)
def test_level(kind, threshold, effects, n):
    """A level of 0.05 within 0.8 to 1.25 of it, but for the Monte-Carlo error of 400 draws."""
    rng = np.random.default_rng(11)
    pvalues = []
    for _ in range(400):
        x = make(rng, kind, n)
        labels = draw(rng, x, threshold, effects)
        res = im.IsingModel(labels, pd.DataFrame({"x": x})).fit()
        frame = res.score_test(products="given").to_frame().set_index(["label", "with"])
        pvalues.append(frame.loc[("a", "b"), "pvalue"])
    found = np.nanmean(np.array(pvalues) <= 0.05)
    error = 1.96 * np.sqrt(0.05 * 0.95 / 400)
    assert 0.04 - error <= found <= 0.0625 + error
