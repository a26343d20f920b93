"""The fits that a criterion chooses, found without most of the path."""

import numpy as np
import pytest

import isingmlc as im
from isingmlc.fitting.l1_choice import choose_fits
from isingmlc.fitting.l1_design import Design, side_by_side
from isingmlc.fitting.l1_free import FreeColumns
from isingmlc.fitting.l1_path import l1_paths

PRICES = (2.0, 5.5, 8.0, 12.0)


def random_labels(seed):
    """Draw labels that one or two things in common tie together, as patterns with counts."""
    rng = np.random.default_rng(seed)
    n, n_labels = int(rng.integers(60, 400)), int(rng.integers(4, 10))
    common = rng.normal(size=(n, 2)) @ rng.normal(size=(2, n_labels))
    labels = common + rng.normal(0, 1, n_labels) + rng.logistic(size=(n, n_labels)) > 0
    if seed % 3 == 0:
        labels[:, -1] = ~labels[:, 0]
    patterns, counts = np.unique(labels, axis=0, return_counts=True)
    positives = counts @ patterns
    varies = np.minimum(positives, n - positives) >= 2
    return patterns[:, varies], counts.astype(float)


def compare(design, outcomes, usable, whole, **options):
    """Compare choices with those from whole paths, by four criteria."""
    paths = l1_paths(design, outcomes, usable, whole=whole, **options)
    for price in PRICES:
        found = choose_fits(design, outcomes, usable, price=price, whole=whole, **options)
        for best, path in zip(found, paths, strict=True):
            at = int((price * path.n_nonzero - 2 * path.llf).argmin())
            assert best.lam[0] == pytest.approx(path.lam[at], rel=1e-12)
            assert best.n_nonzero[0] == path.n_nonzero[at]
            assert best.llf[0] == pytest.approx(path.llf[at], rel=1e-9)
            assert best.converged
            np.testing.assert_allclose(
                best.coef.toarray()[0], path.coef.toarray()[at], atol=1e-7, equal_nan=True
            )
            np.testing.assert_allclose(best.intercept[0], path.intercept[at], atol=1e-7)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_choices_are_those_of_whole_paths(seed, whole):
    patterns, counts = random_labels(seed)
    design = Design.of(patterns, counts)
    usable = ~np.eye(patterns.shape[1], dtype=bool)
    compare(design, np.ascontiguousarray(patterns.T), usable, whole)


@pytest.mark.parametrize("n_lambda", [1, 2, 3, 7, 100])
def test_paths_of_any_length(n_lambda):
    patterns, counts = random_labels(1)
    design = Design.of(patterns, counts)
    usable = ~np.eye(patterns.shape[1], dtype=bool)
    compare(design, np.ascontiguousarray(patterns.T), usable, False, n_lambda=n_lambda)


def test_choices_with_free_columns():
    patterns, counts = random_labels(2)
    context = np.random.default_rng(0).normal(size=(len(patterns), 2))
    columns = side_by_side(patterns, context)
    design = Design.of(columns, counts)
    n_labels = patterns.shape[1]
    usable = np.zeros((n_labels, columns.shape[1]), dtype=bool)
    usable[:, :n_labels] = ~np.eye(n_labels, dtype=bool)
    free = FreeColumns.of(patterns, counts, context, columns.shape[1])
    compare(design, np.ascontiguousarray(patterns.T), usable, True, free=free)


def test_an_outcome_that_nothing_explains():
    patterns = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=bool)
    design = Design.of(patterns, np.ones(4))
    (best,) = choose_fits(design, patterns.T[:1], np.array([[False, True]]), price=1.0)
    assert best.n_nonzero[0] == 0
    assert best.intercept[0] == pytest.approx(0)


def test_sums_over_pairs_are_those_of_columns():
    """The same design as numbers has no sums over pairs; solutions must agree."""
    patterns, counts = random_labels(4)
    usable = ~np.eye(patterns.shape[1], dtype=bool)
    outcomes = np.ascontiguousarray(patterns.T)
    marks, numbers = (Design.of(each, counts) for each in (patterns, patterns.astype(float)))
    assert marks.pairs is not None
    assert numbers.pairs is None
    for one, other in zip(
        l1_paths(marks, outcomes, usable), l1_paths(numbers, outcomes, usable), strict=True
    ):
        np.testing.assert_allclose(one.coef.toarray(), other.coef.toarray(), atol=1e-8)
        assert one.converged


def test_whole_paths_go_on_where_glmnet_ends_them():
    labels = im.datasets.load_example().labels
    ended = im.IsingModel(labels).fit_regularized(criterion="aic")
    whole = im.IsingModel(labels).fit_regularized(criterion="aic", whole_paths=True)
    assert (whole.diagnostics["n_lambda"] >= ended.diagnostics["n_lambda"]).all()
    assert (whole.diagnostics["n_lambda"] > ended.diagnostics["n_lambda"]).any()
    for one, other in zip(ended.paths, whole.paths, strict=True):
        np.testing.assert_allclose(one.llf, other.llf[: len(one.llf)])
    assert whole.with_criterion("bic").settings.whole_paths
    with pytest.raises(im.exceptions.DataError, match="whole_paths"):
        im.IsingModel(labels).fit_regularized(whole_paths="yes")
