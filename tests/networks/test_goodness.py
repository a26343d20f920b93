"""The goodness of fit of a joint model against simulation with known truth."""

import numpy as np
import pytest

import isingmlc as im

N_LABELS, N_ROWS = 6, 250


def sparse_network():
    """Build a network under which most label vectors are expected in fewer than five rows."""
    rng = np.random.default_rng(4)
    weights = np.triu(rng.normal(scale=0.7, size=(N_LABELS, N_LABELS)), 1)
    return im.simulate.IsingDistribution(rng.uniform(-2.0, -1.0, N_LABELS), weights + weights.T)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.SeparationWarning")
def test_levels_on_sparse_tables():
    network, rng = sparse_network(), np.random.default_rng(0)
    pvalues = []
    for _ in range(300):
        labels = network.sample(N_ROWS, random_state=rng)
        fit = im.IsingModel(labels).fit(method="joint").goodness_of_fit(39, rng)
        pvalues.append([fit.deviance_pvalue, fit.pearson_pvalue])
    share = (np.array(pvalues) <= 0.05).mean(axis=0)
    # Three Monte-Carlo standard errors of 5% in 300 samples.
    assert (np.abs(share - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 300)).all(), share


def test_an_association_of_three_labels_is_found():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, (N_ROWS, N_LABELS))
    labels[:, 2] = labels[:, 0] ^ labels[:, 1] ^ (rng.random(N_ROWS) < 0.2)
    fit = im.IsingModel(labels).fit(method="joint").goodness_of_fit(99, random_state=0)
    assert fit.deviance_pvalue == fit.pearson_pvalue == 0.01


def test_what_is_printed_names_the_samples():
    labels = sparse_network().sample(N_ROWS, random_state=0)
    res = im.IsingModel(labels).fit(method="joint")
    first = res.goodness_of_fit(19, random_state=1)
    assert str(first).endswith("p-values from 19 samples of the fit.")
    assert first == res.goodness_of_fit(19, random_state=1)
    none = res.goodness_of_fit(0)
    assert np.isnan(none.deviance_pvalue)
    assert "p =" not in str(none)
    (note,) = [note for note in res.summary().notes if "table of all" in note]
    assert "p =" not in note
