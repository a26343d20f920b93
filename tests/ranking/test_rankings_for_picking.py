"""Rankings put features that matter first, also where labels nearly determine each other."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

import isingmlc as im
from isingmlc.commands.cli import main

PRODUCTS = ("products", "products-joint")
N_TRAINING = 800


def draw_copies(seed):
    """Draw 27 labels: five that a feature each causes, and copies of them with 1% of errors."""
    rng = np.random.default_rng(seed)
    causes = rng.standard_normal((1200, 5))
    labels = np.zeros((1200, 27), dtype=int)
    labels[:, :5] = causes + 0.3 * rng.standard_normal((1200, 5)) > 0.5
    for k in range(5, 27):
        labels[:, k] = labels[:, k % 5] ^ (rng.random(1200) < 0.01)
    return labels, add_noise(causes, rng)


def draw_classes(seed):
    """Draw 27 labels of which a row has one, but for errors, and ten features of the class."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 28)
    classes = rng.choice(27, 1200, p=share / share.sum())
    labels = np.eye(27, dtype=int)[classes] ^ (rng.random((1200, 27)) < 0.002)
    centres = 3 * rng.standard_normal((27, 10))
    return labels, add_noise(centres[classes] + rng.standard_normal((1200, 10)), rng)


def add_noise(causes, rng):
    """Put sixty rare binary features that do nothing beside those that matter."""
    noise = rng.random((len(causes), 60)) < rng.uniform(0.01, 0.2, 60)
    names = [f"cause{at}" for at in range(causes.shape[1])] + [f"noise{at}" for at in range(60)]
    return pd.DataFrame(np.column_stack([causes, noise]), columns=names)


def subset_accuracy(labels, features, names):
    """Predict the last rows from some features by a chain of scikit-learn's regressions."""
    some = features[list(names)].to_numpy()
    # A chain wants both outcomes of a label.
    labels = labels[:, np.ptp(labels[:N_TRAINING], axis=0) > 0]
    chain = ClassifierChain(LogisticRegression(max_iter=1000))
    chain.fit(some[:N_TRAINING], labels[:N_TRAINING])
    return (chain.predict(some[N_TRAINING:]) == labels[N_TRAINING:]).all(axis=1).mean()


@pytest.mark.parametrize("draw", [draw_copies, draw_classes])
@pytest.mark.parametrize("method", PRODUCTS)
def test_causes_of_nearly_determined_labels_come_first(draw, method):
    for seed in range(3):
        labels, features = draw(seed)
        causes = {name for name in features if name.startswith("cause")}
        ranking = im.rank_features(labels[:N_TRAINING], features[:N_TRAINING], method=method)
        assert ranking.roc(causes).auc > 0.98


@pytest.mark.parametrize("method", PRODUCTS)
def test_ten_features_predict_better_than_ten_drawn_at_random(method):
    labels, features = draw_copies(0)
    rng = np.random.default_rng(0)
    drawn = [subset_accuracy(labels, features, rng.permutation(list(features))[:10]) for _ in "123"]
    ranking = im.rank_features(labels[:N_TRAINING], features[:N_TRAINING], method=method)
    found = subset_accuracy(labels, features, ranking.top(10))
    # All causes and no other feature do hardly better.
    best = subset_accuracy(labels, features, list(features)[:5])
    assert found > max(drawn) + 0.1
    assert found > best - 0.05
    # The paper's ranking, by maximum likelihood, is available by its name.
    with pytest.warns(im.exceptions.SeparationWarning, match="27 of 27 labels"):
        paper = im.rank_features(
            labels[:N_TRAINING], features[:N_TRAINING], method=method, penalty=None
        )
    assert subset_accuracy(labels, features, paper.top(10)) < found - 0.1


@pytest.mark.parametrize("method", PRODUCTS)
def test_a_pair_that_a_feature_moves_is_found_as_before(method):
    noise = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 20))).add_prefix("noise")
    for seed in range(5):
        data = im.datasets.make_xor_example(n_samples=200, random_state=seed)
        ranking = im.rank_features(data.labels, noise.join(data.features), method=method)
        assert ranking.top(1) == ("x1",)


@pytest.mark.parametrize("method", PRODUCTS)
def test_units_and_order_of_features_do_not_matter(method):
    labels, features = draw_copies(1)
    ranking = im.rank_features(labels, features, method=method)
    other = im.rank_features(labels, 1000 * features.iloc[:, ::-1] - 3, method=method)
    np.testing.assert_allclose(other.importance[list(features)], ranking.importance, rtol=1e-6)


# Canonical correlations, beside fastcan


def test_gains_are_those_of_fastcan_also_where_features_tie():
    fastcan = pytest.importorskip("fastcan")
    rng = np.random.default_rng(0)
    labels = rng.random((300, 3)) < 0.4
    apart = rng.random((300, 8)) < 0.3 + 0.4 * labels[:, [0, 0, 1, 1, 2, 2, 0, 1]]
    # Every feature has its complement, which adds the same.
    features = np.column_stack([apart, ~apart]).astype(float)
    picker = fastcan.FastCan(n_features_to_select=8, verbose=0).fit(features, labels.astype(float))
    ranking = im.rank_features(labels, features, method="ssc", n_features=8)
    np.testing.assert_allclose(ranking.path["gain"], picker.scores_, rtol=1e-6)
    # Of columns that tie the first is taken.
    picked = [list(ranking.feature_names).index(name) for name in ranking.top(8)]
    assert sorted(picked) == list(range(8))
    assert sorted(at % 8 for at in picker.indices_) == list(range(8))


# Which null model a number is of


def test_every_output_names_its_null_model(tmp_path, capsys):
    data = im.datasets.load_example()
    path = tmp_path / "survey.csv"
    data.labels.join(data.features).to_csv(path, index=False)
    labels = ",".join(data.labels)
    likelihood = "Score statistics of a maximum-likelihood null model."
    fit = im.IsingModel(data).fit()
    total = f"{fit.score_test().statistics.loc['age'].sum():.4g}"
    assert likelihood in str(fit.score_test().summary())
    main(["demo", "--no-report"])
    printed = capsys.readouterr().out
    assert likelihood in printed
    assert total in printed
    main(["test", str(path), "--labels", labels])
    assert likelihood in capsys.readouterr().out
    main(["rank", str(path), "--labels", labels, "--penalty", "none"])
    printed = capsys.readouterr().out
    assert likelihood in printed
    assert total in printed
    main(["rank", str(path), "--labels", labels])
    printed = capsys.readouterr().out
    assert "Score statistics of a null model with a ridge penalty." in printed
    assert total not in printed
    main(["rank", str(path), "--labels", labels, "--method", "products"])
    assert "Regularised score statistics of a null model with a ridge" in capsys.readouterr().out
