"""Measures of predicted label sets: the paper's definitions, ties to each other, bad input."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from isingmlc.exceptions import DataError
from isingmlc.metrics import METRICS, evaluate, hamming_score, jaccard_score

TRUE = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0]])
GUESS = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 0], [1, 0, 1]])
LABELS = pd.DataFrame(TRUE, columns=["beach", "sunset", "urban"])
PREDICTED = pd.DataFrame(GUESS, columns=LABELS.columns)

pairs = st.tuples(st.integers(1, 12), st.integers(1, 5)).flatmap(
    lambda shape: st.tuples(*[hnp.arrays(np.bool_, shape)] * 2)
)
many = settings(deadline=None, max_examples=50)


def by_definition(truth, guess, empty):
    """Return the measures row by row, as the paper writes them."""
    rows = []
    for true, predicted in zip(truth, guess, strict=True):
        both = sum(bool(a) and bool(b) for a, b in zip(true, predicted, strict=True))
        either = sum(bool(a) or bool(b) for a, b in zip(true, predicted, strict=True))
        equal = [a == b for a, b in zip(true, predicted, strict=True)]
        overlap = both / either if either else empty
        rows.append((all(equal), sum(equal) / len(equal), overlap))
    return np.mean(rows, axis=0)


def test_measures_of_a_small_example_are_those_counted_by_hand():
    scores = evaluate(TRUE, GUESS)
    assert scores.index.tolist() == ["subset", "hamming", "jaccard"]
    # Rows: one of two labels found; both sets empty; exact; three labels wrong.
    np.testing.assert_allclose(scores, [2 / 4, 8 / 12, (1 / 2 + 0 + 1 + 0) / 4])


def test_two_empty_sets_overlap_by_what_the_argument_says():
    assert jaccard_score(TRUE, GUESS) == pytest.approx(1.5 / 4)
    assert jaccard_score(TRUE, GUESS, zero_division=1) == pytest.approx(2.5 / 4)
    assert evaluate(TRUE, GUESS, zero_division=1.0)["jaccard"] == pytest.approx(2.5 / 4)
    none = np.zeros((3, 2))
    assert evaluate(none, none).tolist() == [1, 1, 0]
    assert evaluate(none, none, zero_division=1).tolist() == [1, 1, 1]


@many
@given(pairs, st.sampled_from([0.0, 1.0]))
def test_measures_are_the_paper_s_definitions(pair, empty):
    expected = by_definition(*pair, empty)
    np.testing.assert_allclose(
        evaluate(*pair, zero_division=empty), expected, rtol=1e-12, atol=1e-15
    )


@many
@given(pairs, st.randoms(use_true_random=False))
def test_a_weight_counts_a_row_that_often(pair, random):
    times = [random.randint(0, 3) for _ in pair[0]]
    times[0] += 1
    weighted = evaluate(*pair, sample_weight=times)
    repeated = evaluate(*(np.repeat(part, times, axis=0) for part in pair))
    # Measures are sums of shares of one: nothing may be off by its last digit.
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", METRICS)
def test_the_registry_holds_the_measures_that_evaluate_gives(name):
    assert METRICS[name](TRUE, GUESS) == pytest.approx(evaluate(TRUE, GUESS)[name])
    weights = [1, 2, 3, 4]
    weighted = METRICS[name](TRUE, GUESS, sample_weight=weights)
    assert weighted == pytest.approx(evaluate(TRUE, GUESS, sample_weight=weights)[name])


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        np.ndarray.tolist,
        lambda cells: cells.astype(bool),
        lambda cells: cells.astype(float),
        lambda cells: cells.astype(object),
        sparse.csr_array,
        sparse.csc_matrix,
        sparse.lil_array,
        pd.DataFrame,
        lambda cells: pd.DataFrame(cells).astype("boolean"),
        lambda cells: pd.DataFrame(cells).astype("Int8"),
        lambda cells: pd.DataFrame(cells).astype(pd.SparseDtype(int, 0)),
        lambda cells: [pd.Series(column) for column in cells.T],
    ],
)
def test_all_kinds_of_tables_give_the_same(convert):
    expected = evaluate(TRUE, GUESS)
    pd.testing.assert_series_equal(evaluate(convert(TRUE), convert(GUESS)), expected)
    pd.testing.assert_series_equal(evaluate(TRUE, convert(GUESS)), expected)


def test_columns_of_frames_are_matched_by_name():
    shuffled = PREDICTED[["urban", "beach", "sunset"]]
    pd.testing.assert_series_equal(evaluate(LABELS, shuffled), evaluate(LABELS, PREDICTED))
    # By position the measures would be others.
    assert not evaluate(TRUE, shuffled.to_numpy()).equals(evaluate(LABELS, shuffled))
    assert shuffled.columns.tolist() == ["urban", "beach", "sunset"]


@pytest.mark.parametrize(
    ("predicted", "words"),
    [
        (PREDICTED.rename(columns={"urban": "city"}), ("lacks 'urban'", "has 'city' besides")),
        (PREDICTED.drop(columns="urban"), ("lacks 'urban'",)),
        (PREDICTED.assign(field=0), ("has 'field' besides",)),
        (GUESS[:, :2], ("3 column(s)", "has 2")),
        (GUESS[:3], ("y_true has 4 rows and y_pred has 3",)),
        (PREDICTED.set_axis(list("abcd")), ("y_true and y_pred", "indexes differ")),
        (
            PREDICTED * 0.4,
            ("y_pred", "'beach'", "holds 0.4 in row 0", "Turn probabilities into 0/1"),
        ),
        (PREDICTED * 2, ("y_pred", "holds 2 ")),
        (PREDICTED.astype(float).replace(0, np.nan), ("y_pred", "holds nan", "missing values")),
        (PREDICTED.astype("Int8").replace(0, pd.NA), ("y_pred", "holds nan")),
        (PREDICTED.astype(object).replace(0, pd.NA), ("y_pred", "holds nan")),
        (PREDICTED.astype(object).replace(0, None).to_numpy(), ("y_pred", "holds nan")),
        (PREDICTED.astype(str), ("y_pred", "holds '1'")),
        (GUESS * 1j, ("y_pred", "column 0")),
        (np.ma.masked_equal(GUESS, 1), ("y_pred", "holds nan")),
        (sparse.csr_array(3 * GUESS), ("y_pred", "holds 3")),
        (GUESS[:, 0], ("y_pred must be two-dimensional",)),
        ([[1, 0, 0], [0, 1]], ("y_pred must be rectangular",)),
        (None, ("y_pred must be a table", "NoneType")),
        (np.empty((0, 3)), ("y_pred must have at least one row",)),
        (PREDICTED.set_axis(["a", "a", "b"], axis=1), ("y_pred", "'a' more than once")),
    ],
)
def test_predictions_that_do_not_fit_are_refused_with_what_is_wrong(predicted, words):
    with pytest.raises(DataError) as caught:
        evaluate(LABELS, predicted)
    for word in words:
        assert word in str(caught.value)


def test_labels_that_are_not_binary_are_refused_by_name():
    with pytest.raises(DataError, match="y_true must be coded 0/1, but column 'sunset' holds -1"):
        hamming_score(2 * LABELS - 1, PREDICTED)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, 2, 3], "sample_weight has 3"),
        (np.ones((4, 1)), r"one number per row, but its shape is \(4, 1\)"),
        ([1, -1, 1, 1], "not negative"),
        ([1, np.nan, 1, 1], "finite"),
        ([1, np.inf, 1, 1], "finite"),
        ([0, 0, 0, 0], "not all zero"),
        (list("abcd"), "finite"),
        (pd.Series(1.0, list("abcd")), "y_true and sample_weight are pandas objects"),
        (1.0, "one number per row"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(weights, words):
    with pytest.raises(DataError, match=words):
        evaluate(LABELS, PREDICTED, sample_weight=weights)


@pytest.mark.parametrize("overlap", [0.5, 2, -1, np.nan, "1", None])
def test_two_empty_sets_overlap_fully_or_not_at_all(overlap):
    for measure in (evaluate, jaccard_score):
        with pytest.raises(DataError, match="zero_division must be"):
            measure(TRUE, GUESS, zero_division=overlap)
