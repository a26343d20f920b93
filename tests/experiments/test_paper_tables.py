"""The printed values of the paper: read right, consistent with each other, and reproduced."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from isingmlc.exceptions import DataError
from isingmlc.experiments.friedman import friedman
from isingmlc.experiments.paper import (
    FRIEDMAN_PVALUES,
    MEASURES,
    load_paper_datasets,
    load_paper_posthoc,
    load_paper_ranks,
    load_paper_table,
)
from isingmlc.experiments.sources import load_split
from isingmlc.inference.pvalues import adjust
from isingmlc.metrics import METRICS

METHODS = ["score", "products", "l1", "lp-chi2", "lp-ig", "br-chi2", "br-ig"]
DATASETS = [
    *("scene", "yeast", "genbase", "bibtex", "enron", "mediamill", "medical", "nus-wide"),
    *("eurlex-dc", "CAL500", "twitter", "ArtData3", "ArtData4"),
]


@pytest.mark.parametrize("measure", MEASURES)
def test_a_table_has_every_method_and_data_set(measure):
    table = load_paper_table(measure)
    assert table.columns.tolist() == METHODS
    assert table.index.tolist() == DATASETS
    assert ((table >= 0) & (table < 1)).all(axis=None)
    assert load_paper_ranks(measure).index.tolist() == METHODS


def test_measures_are_called_as_everywhere():
    assert set(MEASURES) == set(METRICS) == set(FRIEDMAN_PVALUES)


@pytest.mark.parametrize(
    ("measure", "totals"),
    # Sums of columns of the printed tables.
    [
        ("hamming", [10.710, 10.755, 10.658, 10.569, 10.632, 10.576, 10.691]),
        ("subset", [3.764, 3.928, 3.912, 3.304, 3.732, 3.667, 3.827]),
        ("jaccard", [5.354, 5.531, 5.422, 4.953, 5.326, 5.197, 5.488]),
    ],
)
def test_values_are_those_printed(measure, totals):
    np.testing.assert_allclose(load_paper_table(measure).sum(), totals, atol=1e-9)


# In bold in the paper: best before rounding, so also best, or tied, after it.
@pytest.mark.parametrize(
    ("measure", "best"),
    [
        ("hamming", {"scene": "products", "yeast": "score", "CAL500": "br-chi2"}),
        ("subset", {"bibtex": "score", "medical": "l1", "twitter": "products"}),
        ("jaccard", {"enron": "lp-ig", "eurlex-dc": "br-ig", "nus-wide": "products"}),
    ],
)
def test_winners_are_those_in_bold(measure, best):
    table = load_paper_table(measure)
    for dataset, method in best.items():
        assert table.loc[dataset, method] == table.loc[dataset].max()


def test_jaccard_falls_below_subset_accuracy_where_label_sets_are_empty():
    jaccard, subset = load_paper_table("jaccard"), load_paper_table("subset")
    assert (jaccard.loc["bibtex"] < subset.loc["bibtex"]).all()


# What the printed tables imply


@pytest.mark.parametrize("measure", MEASURES)
def test_printed_ranks_are_possible_given_the_rounding_of_the_tables(measure):
    table, printed = load_paper_table(measure), load_paper_ranks(measure)
    # What is equal to three decimals may have had any order; ranks have two decimals.
    lowest = table.rank(axis=1, method="min").mean()
    highest = table.rank(axis=1, method="max").mean()
    assert (printed >= lowest - 0.01).all()
    assert (printed <= highest + 0.01).all()
    assert printed.sum() == pytest.approx(7 * 8 / 2, abs=7 * 0.01)


@pytest.mark.parametrize("measure", MEASURES)
def test_average_ranks_come_out_as_printed_up_to_ties_made_by_rounding(measure):
    ranks = friedman(load_paper_table(measure)).ranks
    assert (ranks - load_paper_ranks(measure)).abs().max() < 0.55
    # What is found; 0.55 allows for more ties than there are.
    assert (ranks - load_paper_ranks(measure)).abs().max() < 0.24


@pytest.mark.parametrize(
    ("measure", "pvalue", "digits"), [("hamming", 0.001, 3), ("subset", 0.0002, 4)]
)
def test_friedman_s_test_is_significant_as_printed(measure, pvalue, digits):
    # Ties made by rounding to three decimals change the p-values by up to a quarter.
    found = friedman(load_paper_table(measure)).pvalue
    assert round(found, digits) == pvalue
    assert found == pytest.approx(FRIEDMAN_PVALUES[measure], rel=0.25)


def test_friedman_s_test_is_not_significant_for_jaccard_as_printed():
    found = friedman(load_paper_table("jaccard")).pvalue
    assert found == pytest.approx(0.088, abs=0.0005)
    assert found == pytest.approx(FRIEDMAN_PVALUES["jaccard"], rel=0.1)


def exact_rank_sums(measure):
    """Recover sums of ranks, whole or half numbers, from averages to two decimals."""
    return (2 * 13 * load_paper_ranks(measure).to_numpy()).round() / 2


@pytest.mark.parametrize("measure", MEASURES)
def test_printed_ranks_come_from_sums_that_add_up(measure):
    sums = exact_rank_sums(measure)
    assert sums.sum() == 13 * 7 * 8 / 2
    # Most averages are cut off after the second decimal, not rounded.
    np.testing.assert_allclose(sums / 13, load_paper_ranks(measure), rtol=0, atol=0.01)


@pytest.mark.parametrize(
    ("measure", "spread", "digits"), [("hamming", 362.0, 3), ("subset", 318.5, 4)]
)
def test_printed_p_values_of_pairs_exchange_methods_and_data_sets(measure, spread, digits):
    """Tables 5 and 6 are what Conover's formula gives with n and K exchanged in its variance.

    The sum of squares of all ranks about their mean is 364 without ties and is not printed; ties
    of two before rounding take off 0.5 each. For one value all 21 p-values come out as printed.
    """
    n, k = 13, 7
    sums = exact_rank_sums(measure)
    upper = np.triu_indices(k, 1)
    printed = load_paper_posthoc(measure).to_numpy()[upper]
    chi2 = (k - 1) * ((sums - n * (k + 1) / 2) ** 2).sum() / spread
    assert round(stats.chi2.sf(chi2, k - 1), 4) == FRIEDMAN_PVALUES[measure]
    df = (n - 1) * (k - 1)
    difference = np.abs(sums[:, None] - sums)[upper]

    def holm(variance):
        return adjust(2 * stats.t.sf(difference / np.sqrt(variance / df), df), "holm")

    exchanged = holm(2 * k * (1 - chi2 / (k * (n - 1))) * spread)
    np.testing.assert_allclose(exchanged, printed, rtol=0, atol=0.5 * 10.0**-digits)
    right = holm(2 * n * (1 - chi2 / (n * (k - 1))) * spread)
    assert np.abs(right - printed).max() > 0.3


@pytest.mark.parametrize("measure", ["hamming", "subset"])
def test_conover_s_test_orders_pairs_much_as_printed(measure):
    printed = load_paper_posthoc(measure).to_numpy()
    found = friedman(load_paper_table(measure)).posthoc.to_numpy()
    upper = np.triu_indices(7, 1)
    assert stats.spearmanr(found[upper], printed[upper]).statistic > 0.85
    # Its p-values are larger: what is significant here is so in the paper.
    assert (printed[upper][found[upper] <= 0.05] <= 0.05).all()


# What the printed tables say about the data they come from


def on_lattice(values, n):
    """Say whether all values are whole numbers over n, rounded to three decimals."""
    values = np.ravel(values)
    return bool((np.abs(np.round(values * n) / n - values) <= 0.0005 + 1e-9).all())


@pytest.mark.parametrize(
    ("name", "n_test"), [("genbase", 199), ("medical", 645), ("enron", 579), ("twitter", 76)]
)
def test_subset_accuracies_are_counts_over_the_test_rows_of_the_files(name, n_test):
    assert on_lattice(load_paper_table("subset").loc[name], n_test)


def test_printed_values_of_eurlex_need_at_least_20_labels():
    # A row that is wrong has a wrong label at least: 1 - subset <= K (1 - hamming).
    wrong_rows = 1 - load_paper_table("subset") - 0.0005
    wrong_labels = 1 - load_paper_table("hamming") + 0.0005
    needed = np.ceil((wrong_rows / wrong_labels).max(axis=1))
    assert needed["eurlex-dc"] == 20
    assert needed.max() == 20


def test_artificial_data_have_not_the_rows_and_labels_that_are_described():
    names = ["ArtData3", "ArtData4"]
    subset, hamming = (load_paper_table(measure).loc[names] for measure in ("subset", "hamming"))
    # Half of 100 rows are 50 test rows; 1 row of them is 0.02.
    possible = [n for n in range(10, 150) if on_lattice(subset, n)]
    assert possible == [99, 100, 101]
    labels = {k for n in possible for k in range(1, 20) if on_lattice(hamming, n * k)}
    assert min(labels) == 8


def test_bibtex_as_printed_has_about_20_labels(data_dir):
    # Without true positives only rows without labels are right.
    assert load_paper_table("jaccard").loc["bibtex", "l1"] == 0
    printed = load_paper_table("subset").loc["bibtex", "l1"]
    empty = {}
    for n_labels in (19, 20, 21, 50):
        labels = load_split("bibtex", data_dir, 0, n_labels).test.labels
        empty[n_labels] = (labels.sum(axis=1) == 0).mean()
    assert printed == pytest.approx(empty[20], abs=0.003)
    assert printed == pytest.approx(empty[19], abs=0.001)
    assert printed > empty[21] + 0.01
    assert printed > empty[50] + 0.18


@pytest.mark.parametrize(("name", "n_labels"), [("enron", 50), ("bibtex", 50), ("medical", 45)])
def test_printed_hamming_measures_are_those_of_fewer_labels(data_dir, name, n_labels):
    """With so many labels as Table 1 has, predicting none is about as good as most methods."""
    printed = load_paper_table("hamming").loc[name]
    nothing = {
        number: 1 - load_split(name, data_dir, 0, number).test.labels.to_numpy().mean()
        for number in (20, n_labels)
    }
    assert (printed >= nothing[20] - 0.004).all()
    assert printed.median() < nothing[n_labels] + 0.003


# The other tables


def test_p_values_of_pairs_are_those_printed():
    hamming, subset = load_paper_posthoc("hamming"), load_paper_posthoc("subset")
    for printed in (hamming, subset):
        assert printed.index.tolist() == printed.columns.tolist() == METHODS
        assert np.array_equal(printed, printed.T)
        assert (np.diag(printed) == 1).all()
    assert hamming.loc["br-ig", "br-chi2"] == hamming.loc["br-chi2", "br-ig"] == 0.636
    assert subset.loc["l1", "score"] == 0.6638
    lower = np.tril_indices(7, -1)
    assert hamming.to_numpy()[lower].sum() == pytest.approx(10.196)
    assert subset.to_numpy()[lower].sum() == pytest.approx(6.7086)


def test_sizes_of_data_sets_are_those_printed():
    sizes = load_paper_datasets()
    assert set(sizes.index) == {*DATASETS} - {"enron", "ArtData3", "ArtData4"}
    assert sizes.loc["eurlex-dc", ["n", "p", "K"]].tolist() == [10000, 5000, 50]
    assert sizes[["n", "p", "K"]].sum().tolist() == [44513, 10611, 349]


@pytest.mark.parametrize("load", [load_paper_table, load_paper_ranks, load_paper_posthoc])
@pytest.mark.parametrize("measure", ["Hamming", "f1", None, 3])
def test_a_measure_that_is_not_printed_is_refused(load, measure):
    with pytest.raises(DataError, match="measure must be one of 'subset', 'hamming'"):
        load(measure)


def test_there_are_no_p_values_of_pairs_for_jaccard():
    with pytest.raises(DataError, match="measure must be one of 'subset', 'hamming', but is"):
        load_paper_posthoc("jaccard")


def test_what_is_loaded_is_the_user_s_own():
    table = load_paper_table("subset")
    table.iloc[:] = 0
    pd.testing.assert_frame_equal(load_paper_table("subset"), load_paper_table("subset"))
    assert load_paper_table("subset").to_numpy().max() == 0.980
