"""Random data of ugly kinds against the row-wise oracle, and against themselves written otherwise.

    python tests/fuzz.py --seconds 3600            # new cases; the first seed is printed
    python tests/fuzz.py --seed 1 --cases 80       # the same cases every time
    python tests/fuzz.py --seed 7                  # one case again

All data are within the numerical range that the package promises. What is degenerate to within
rounding has no right answer and is passed over.
"""

import argparse
import secrets
import sys
import time
import traceback
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import oracle
from scipy import sparse

import isingmlc as im

TESTED = ("ok", "separated-alternative")


def draw_labels(rng, n_rows, n_labels):
    kind = rng.choice(["even", "rare", "chain", "exclusive", "one-off", "few-sets", "factor"])
    if kind == "even":
        return rng.random((n_rows, n_labels)) < rng.uniform(0.2, 0.8)
    if kind == "rare":
        return rng.random((n_rows, n_labels)) < rng.uniform(0.02, 0.5, n_labels)
    if kind == "chain":
        return (rng.random((n_rows, 1)) < 0.5) ^ (rng.random((n_rows, n_labels)) < 0.1)
    if kind == "exclusive":
        return rng.integers(0, n_labels + 1, n_rows)[:, None] == np.arange(n_labels)
    if kind == "one-off":
        return (rng.random((n_rows, n_labels)) < 0.5) & (rng.random((n_rows, 1)) < 0.3)
    if kind == "few-sets":
        return (rng.random((5, n_labels)) < 0.5)[rng.integers(0, 5, n_rows)]
    return rng.normal(size=(n_rows, 1)) + rng.normal(size=(n_rows, n_labels)) > 0.3


def draw_column(rng, labels):
    """Return a feature or covariate of an ugly kind."""
    n_rows, n_labels = labels.shape
    some = labels[:, rng.integers(n_labels)].astype(float)
    normal, rare = rng.normal(size=n_rows), rng.random(n_rows) < 0.1
    makers = {
        "normal": lambda: normal,
        "integers": lambda: rng.integers(-2, 3, n_rows),
        "binary": lambda: rng.random(n_rows) < rng.uniform(0.05, 0.95),
        "sparse": lambda: rare,
        "one-row": lambda: np.arange(n_rows) == rng.integers(n_rows),
        "copy": lambda: some,
        "label-sum": lambda: labels @ rng.integers(-2, 3, n_labels),
        "noisy-copy": lambda: np.where(rare, 1 - some, some),
        "separates": lambda: (some - 0.5) * rng.uniform(0.1, 2.0, n_rows),
        "almost-separates": lambda: some + 0.7 * normal,
        "constant": lambda: np.full(n_rows, rng.choice([0.0, 1.0, -3e5])),
        "heavy": lambda: np.clip(rng.standard_cauchy(n_rows), -1e3, 1e3),
        "far": lambda: 1e4 + normal,
        "tiny": lambda: 1e-9 * normal,
        "huge": lambda: 1e9 * normal,
        "product": lambda: some * normal,
    }
    return makers[rng.choice(list(makers))]().astype(float)


@dataclass(frozen=True)
class Case:
    labels: np.ndarray
    features: np.ndarray
    counts: np.ndarray | None
    intercept: bool
    covariates: np.ndarray

    @property
    def weights(self):
        return np.ones(len(self.labels)) if self.counts is None else self.counts

    def fit(self, features=None, drawn=None, **options):
        model = im.IsingModel(
            self.labels.astype(int),
            self.features if features is None else features,
            freq_weights=self.counts,
            intercept=self.intercept,
            sampling_weights=drawn,
            covariates=self.covariates if self.covariates.size else None,
        )
        return model.fit(**options)

    def nulls(self, penalty=0.0, drawn=None):
        """Return the oracle's fit of each label, and None for constant ones."""
        ones = np.ones((len(self.labels), int(self.intercept)))
        for k, outcome in enumerate(self.labels.T):
            others = np.delete(self.labels, k, axis=1)
            design = np.column_stack([ones, others, self.centre(self.covariates)])
            ridge = np.zeros(design.shape[1])
            ridge[ones.shape[1] : ones.shape[1] + others.shape[1]] = penalty
            constant = outcome.all() or not outcome.any()
            counts = self.weights if drawn is None else drawn * self.weights
            yield None if constant else oracle.fit(design, outcome, counts, ridge)

    def centre(self, columns):
        """Return columns of unit size, around their means if there is an intercept."""
        if self.intercept:
            columns = columns - columns.mean(axis=0)
        sizes = np.abs(columns).max(axis=0, initial=0.0)
        return columns / np.where(sizes > 0, sizes, 1.0)

    @cached_property
    def columns(self):
        return self.centre(self.features)

    @property
    def sizes(self):
        """Return how many of a feature's units are one of `columns`."""
        centre = self.features.mean(axis=0) if self.intercept else 0.0
        return np.abs(self.features - centre).max(axis=0)


def draw_case(seed):
    rng = np.random.default_rng(seed)
    n_labels = int(rng.integers(1, 6))
    n_rows = int(rng.integers(2 * n_labels + 10, 90))
    labels = draw_labels(rng, n_rows, n_labels)
    if n_labels > 1 and rng.random() < 0.1:
        labels[:, -1] = rng.choice([True, False]) ^ labels[:, 0]
    features = np.column_stack([draw_column(rng, labels) for _ in range(rng.integers(1, 5))])
    covariates = [draw_column(rng, labels) for _ in range(rng.choice([0, 0, 1, 2]))]
    counts = [None, rng.integers(1, 5, n_rows) * 1.0, rng.uniform(0.1, 3.0, n_rows)]
    counts.append(np.where(rng.random(n_rows) < 0.5, 1e6, 1.0))
    return Case(
        labels,
        features,
        counts[rng.choice(4, p=[0.6, 0.2, 0.15, 0.05])],
        bool(rng.random() < 0.75),
        np.column_stack([np.zeros((n_rows, 0)), *covariates]),
    )


def agree(found, expected, what, tolerance=1e-6):
    assert abs(found - expected) <= tolerance * (1 + abs(expected)), (
        f"{what}: found {found!r}, expected {expected!r}"
    )


def compare(tests, expected, nulls, what):
    """Compare statistics and degrees of freedom with those of a function of fit and feature."""
    statistic, df, reasons = (
        table.to_numpy() for table in (tests.statistics, tests.df, tests.reasons)
    )
    for (j, k), reason in np.ndenumerate(reasons):
        where = f"{what} of feature {j} and label {k}"
        untested = "determined-label" if nulls[k] else "constant-label"
        if nulls[k] is None or not nulls[k].inside.any():
            assert reason == untested, f"{where}: {reason}, not {untested}"
            continue
        assert np.isfinite(statistic[j, k]) == (reason in TESTED), f"{where}: {reason}"
        if not nulls[k].converged or reason == "not-converged":
            continue
        value, rank, doubtful = expected(nulls[k], j, k)
        if doubtful:
            continue
        if not rank:
            assert reason in ("constant-feature", "collinear-feature"), f"{where}: {reason}"
            continue
        assert reason in TESTED, f"{where}: {reason}"
        assert df[j, k] == rank, f"{where}: {df[j, k]} degrees of freedom, not {rank}"
        agree(statistic[j, k], value, where)


def check_null_models(case):
    res, nulls = case.fit(), list(case.nulls())
    # Without an intercept a constant label still has a model, which the oracle leaves out.
    whole = case.intercept or not (case.labels == case.labels[0]).all(axis=0).any()
    if whole and all(null is None or null.converged for null in nulls) and res.converged:
        agree(res.llf, sum(null.llf for null in nulls if null), "log-likelihood")
        for k, null in enumerate(nulls):
            if null:
                error = np.abs(res.predict().iloc[:, k] - null.probability).max()
                assert error < 1e-5, f"probabilities of label {k} differ by {error}"


def check_score(case):
    nulls = list(case.nulls())
    tests = case.fit().score_test(min_count=0, pvalue="chi2")
    compare(tests, lambda null, j, k: null.score(case.columns[:, [j]]), nulls, "score test")


def check_products(case):
    nulls, res = list(case.nulls()), case.fit()

    def with_products(j, k):
        others = np.delete(case.labels, k, axis=1)
        return case.columns[:, [j]] * np.column_stack([np.ones(len(others)), others])

    joint = res.score_test(products="joint", min_count=0, pvalue="chi2")
    compare(joint, lambda null, j, k: null.score(with_products(j, k)), nulls, "joint test")
    single = res.score_test(products="individual", min_count=0).to_frame(adjust=None)
    single = single[np.isfinite(single["statistic"]) & (single["with"] != "")]
    for feature, label, other_label, found in single[
        ["feature", "label", "with", "statistic"]
    ].itertuples(index=False):
        j = res.feature_names.index(feature)
        k, other = map(res.label_names.index, (label, other_label))
        if not nulls[k].converged:
            continue
        value, rank, doubtful = nulls[k].score(case.columns[:, [j]] * case.labels[:, [other]])
        if rank and not doubtful:
            agree(found, value, f"product {j, k, other}")


def check_refits(case, penalty=0.0):
    nulls, res = list(case.nulls(penalty)), case.fit(penalty=penalty or None)
    ratio, wald = res.lr_test(min_count=0), res.wald_test(min_count=0)
    for (j, k), reason in np.ndenumerate(ratio.reasons.to_numpy()):
        null, where = nulls[k], f"refit of feature {j} and label {k}"
        if reason not in TESTED or not null.converged:
            continue
        column = case.columns[:, [j]]
        if case.intercept:
            column = column - column[null.inside].mean()
        # Sizes in the rows in play, so that nothing is all but constant there.
        size = np.abs(column[null.inside]).max()
        _, rank, doubtful = null.score(column / size) if size > 1e-6 else (0, 0, True)
        if doubtful or not rank:
            continue
        expected, statistic, coef, error, larger = null.refit(column / size)
        if not larger.converged:
            continue
        agree(ratio.statistics.iloc[j, k], expected, f"likelihood {where}", 1e-5)
        found = ratio.params.iloc[j, k]
        if error is None:
            assert found == np.sign(coef[0]) * np.inf, f"{where}: {found}, not infinite"
            assert reason == "separated-alternative", f"{where}: {reason}"
        elif np.abs(larger.coef).max() < 30:
            original = size * case.sizes[j]
            agree(found * original / error[0], coef[0] / error[0], f"coefficient, {where}", 1e-5)
            agree(wald.statistics.iloc[j, k], statistic, f"Wald {where}", 1e-5)


def check_ridge(case):
    nulls = list(case.nulls(2.0))
    tests = case.fit(penalty=2.0).score_test(min_count=0, pvalue="chi2")
    for (j, k), reason in np.ndenumerate(tests.reasons.to_numpy()):
        if reason == "ok" and nulls[k].converged:
            value, rank, doubtful = nulls[k].score(case.columns[:, [j]], "HC0")
            if rank and not doubtful:
                agree(tests.statistics.iloc[j, k], value, f"ridge score test {j, k}")
    check_refits(case, 2.0)


def check_robust(case):
    rng = np.random.default_rng(len(case.labels))
    groups, drawn = rng.integers(0, 8, len(case.labels)), rng.uniform(0.5, 2.0, len(case.labels))
    for what, given in {
        "HC0": {"cov_type": "HC0"},
        "HC2": {"cov_type": "HC2"},
        "cluster": {"groups": groups},
        "sampling weights": {"drawn": drawn},
    }.items():
        nulls = list(case.nulls(drawn=given.get("drawn")))
        tests = case.fit(**given).score_test(min_count=0)
        cov_type = given.get("cov_type", "HC0")
        for (j, k), reason in np.ndenumerate(tests.reasons.to_numpy()):
            if reason == "ok" and nulls[k].converged:
                value, rank, doubtful = nulls[k].score(
                    case.columns[:, [j]], cov_type, given.get("drawn"), given.get("groups")
                )
                if rank and not doubtful:
                    agree(tests.statistics.iloc[j, k], value, f"{what} {j, k}")


def check_written_otherwise(case):
    """Order, scale, weights as repeated rows, sparse features and added parts change nothing."""
    rng = np.random.default_rng(len(case.labels))
    nulls = list(case.nulls())
    one = case.fit().score_test(min_count=0, pvalue="chi2")
    rows = rng.permutation(len(case.labels))
    columns = rng.permutation(case.features.shape[1])
    counts = None if case.counts is None else case.counts[rows]
    moved = Case(
        *(case.labels[rows], -4.0 * case.features[rows][:, columns]),
        *(counts, case.intercept, case.covariates[rows]),
    )
    others = {"moved": (moved.fit(), columns)}
    if case.counts is not None and case.counts.max() < 5 and not (case.counts % 1).any():
        at = np.repeat(rows, case.counts[rows].astype(int))
        repeated = (case.labels[at], case.features[at], None, case.intercept, case.covariates[at])
        others["repeated"] = (Case(*repeated).fit(), np.arange(len(columns)))
    if np.abs(case.features).max() < 1e3:
        others["sparse"] = (case.fit(sparse.csr_array(case.features)), np.arange(len(columns)))
    for what, (res, order) in others.items():
        tests = res.score_test(min_count=0, pvalue="chi2")
        for (j, k), value in np.ndenumerate(tests.statistics.to_numpy()):
            first = one.statistics.iloc[order[j], k]
            known = nulls[k] and nulls[k].inside.any() and nulls[k].converged
            if known and nulls[k].score(case.columns[:, [order[j]]])[2]:
                continue
            assert np.isfinite(value) == np.isfinite(first), f"{what} {j, k}: {value}, {first}"
            if np.isfinite(first):
                agree(value, first, f"{what} {j, k}")


CHECKS = {
    name.removeprefix("check_"): check for name, check in globals().items() if "check_" in name
}


def run(seed, name):
    """Raise what is wrong in one case; errors and warnings of our own are right."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            CHECKS[name](draw_case(seed))
        except im.exceptions.IsingError:
            return
    for warning in caught:
        assert issubclass(warning.category, im.exceptions.IsingWarning), warning.message


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="for new cases, without --seed")
    parser.add_argument("--seed", type=int, help="the first case")
    parser.add_argument("--cases", type=int, default=1, help="how many cases from --seed on")
    options = parser.parse_args()
    end, done, failed = time.monotonic() + options.seconds, 0, 0
    is_new = options.seed is None
    seed = secrets.randbelow(2**31) if is_new else options.seed
    print(f"seeds from {seed}", flush=True)
    while failed < 5 and (time.monotonic() < end if is_new else done < options.cases):
        for name in CHECKS:
            try:
                run(seed + done, name)
            except Exception:
                failed += 1
                print(f"FAILURE: {name} of python tests/fuzz.py --seed {seed + done}")
                traceback.print_exc(limit=-6)
        done += 1
    print(f"{done} cases, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
