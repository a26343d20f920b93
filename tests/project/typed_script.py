"""A user's script with types, which ``mypy --strict`` checks; nobody runs it."""

from pathlib import Path
from typing import assert_type

import numpy as np
import numpy.typing as npt

import isingmlc as im
from isingmlc.sklearn import IsingClassifier, IsingSelector

data = im.datasets.load_example()
assert_type(data, im.datasets.Dataset)
assert_type(im.describe(data.labels, data.features), im.TableOne)

model = im.IsingModel(data.labels, data.features)
assert_type(model, im.IsingModel)
frame = data.labels.join(data.features)
assert_type(im.IsingModel.from_formula("hypertension + diabetes ~ bmi", frame), im.IsingModel)

res = model.fit()
assert_type(res, im.IsingResults)
assert_type(res.summary(), im.IsingSummary)
assert_type(res.nobs, float)
assert_type(res.label_names, tuple[str, ...])
assert_type(res.contrast({"hypertension": 1.0}), im.NetworkContrast)
assert_type(res.at({"bmi": 30.0}), im.NetworkAt)
assert_type(res.bootstrap(50), im.NetworkBootstrap)
assert_type(res.drop_cases(), im.CaseDropping)
assert_type(res.goodness_of_fit(), im.GoodnessOfFit)
assert_type(res.check_calibration(), im.CalibrationResults)
assert_type(res.rank_features(), im.FeatureRanking)
assert_type(im.IsingResults.load("fit.npz"), im.IsingResults)

edges = res.score_test()
assert_type(edges, im.EdgeTests)
assert_type(edges.summary(), im.IsingSummary)
assert_type(edges.null, str)

edge = edges.loc["bmi", "hypertension"]
assert_type(edge, im.EdgeTest)
assert_type(edge.pvalue, float)
assert_type(edge.reason, str)
assert_type(im.Reason(edge.reason), im.Reason)

sparse = model.fit_regularized()
assert_type(sparse, im.RegularizedIsingResults)
assert_type(sparse.density, float)

ranking = im.rank_features(data.labels, data.features, method="forward")
assert_type(ranking, im.FeatureRanking)
assert_type(ranking.scores, im.FeatureScores)
assert_type(ranking.scores.steps, im.FeatureSteps | None)
assert_type(ranking.roc(["bmi"]), im.RankingRoc)
assert_type(ranking.roc(["bmi"]).auc, float)
assert_type(ranking.agreement(ranking), im.RankingAgreement)
assert_type(im.select_features(data.labels, data.features), im.SelectionResult)

assert_type(im.compare_networks(model, by="smoker"), im.NetworkComparison)
assert_type(im.compare_networks(model, by="smoker").pvalue, float)
assert_type(im.pool([res, res]), im.ResultTable)


def rows_needed(source: im.IsingResults) -> float | None:
    """Tell the two kinds of plan apart."""
    plan = im.plan_sample_size(source)
    assert_type(plan, im.EdgePlan | im.NetworkPlan)
    if isinstance(plan, im.EdgePlan):
        assert_type(plan.summary(), im.IsingSummary)
        return None
    return float(plan.needed().min().min())


def read(files: list[Path]) -> im.LabelsetStatistics:
    """Read files of rows without a sample of them."""
    found = im.scan(files, labels=["a", "b"])
    return found if isinstance(found, im.LabelsetStatistics) else found[0]


def score(truth: npt.NDArray[np.bool_], predicted: npt.NDArray[np.bool_]) -> float:
    """Compare two arrays of labels."""
    try:
        return im.metrics.jaccard_score(truth, predicted)
    except im.exceptions.DataError:
        return float("nan")


def draw() -> npt.NDArray[np.bool_]:
    """Predict labels of features that were chosen before."""
    selector = IsingSelector(n_features_to_select=3)
    assert_type(selector, IsingSelector)
    classifier = IsingClassifier()
    assert_type(classifier.fit(data.features, data.labels), IsingClassifier)
    assert_type(im.simulate.distribution_of(res), im.simulate.IsingDistribution)
    return np.asarray(classifier.predict(data.features), dtype=np.bool_)
