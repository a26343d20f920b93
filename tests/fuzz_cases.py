"""Random data of every ugly kind, and what the package and the oracle say of them."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from oracle import Label, UndecidedError, code_context

import isingmlc as im


@dataclass
class Case:
    labels: np.ndarray
    features: np.ndarray
    weights: np.ndarray | None
    intercept: bool
    covariates: pd.DataFrame | None = None
    kinds: list = field(default_factory=list)

    @property
    def n_rows(self):
        return len(self.labels)

    @cached_property
    def counts(self):
        return np.ones(self.n_rows) if self.weights is None else self.weights.astype(float)

    @cached_property
    def centred(self):
        """Features around their means, as with an intercept their origin is of no matter."""
        if not self.intercept:
            return self.features.astype(float)
        x = self.features - self.features[0]
        return x - np.average(x, axis=0, weights=self.counts)

    @cached_property
    def spread(self):
        return np.average(self.centred**2, axis=0, weights=self.counts)

    @cached_property
    def context(self):
        """The columns of the covariates by name, as they are given, without constant ones."""
        return code_context(self.covariates, self.intercept)

    @cached_property
    def nulls(self):
        return [Label(self, k) for k in range(self.labels.shape[1])]

    def model(self, features=None):
        return im.IsingModel(
            self.labels,
            self.features if features is None else features,
            intercept=self.intercept,
            freq_weights=self.weights,
            covariates=self.covariates,
        )

    @cached_property
    def results(self):
        return self.model().fit()

    @cached_property
    def scores(self):
        return self.results.score_test(min_count=0, pvalue="chi2").arrays

    @cached_property
    def shares(self):
        """How much of each feature is left for each label; NaN where the oracle does not know."""
        shares = np.full((self.features.shape[1], self.labels.shape[1]), np.nan)
        for k, null in enumerate(self.nulls):
            try:
                if null.reason == "ok":
                    for j, column in enumerate(self.centred.T):
                        shares[j, k] = null.score(column, self.spread[j])[1]
            except UndecidedError:
                continue
        return shares


def draw_labels(rng, n_rows, n_labels, kinds):
    """Labels of every ugly kind."""
    kind = rng.choice(["even", "rare", "chain", "exclusive", "one-off", "few-sets", "factor"])
    kinds.append(kind)
    if kind == "even":
        return rng.random((n_rows, n_labels)) < rng.uniform(0.2, 0.8)
    if kind == "rare":
        return rng.random((n_rows, n_labels)) < rng.uniform(0.01, 0.5, n_labels)
    if kind == "chain":
        noise = rng.random((n_rows, n_labels)) < rng.choice([0.0, 0.05, 0.3])
        return np.logical_xor(rng.random((n_rows, 1)) < 0.5, noise)
    if kind == "exclusive":
        return rng.integers(0, n_labels + 1, n_rows)[:, None] == np.arange(n_labels)
    if kind == "one-off":
        labels = np.zeros((n_rows, n_labels), bool)
        some = rng.integers(0, n_rows, max(2, n_rows // 4))
        labels[some] = rng.random((len(some), n_labels)) < 0.5
        return labels
    if kind == "few-sets":
        sets = rng.random((rng.integers(2, 6), n_labels)) < 0.5
        return sets[rng.integers(0, len(sets), n_rows)]
    factor = rng.normal(size=(n_rows, 1))
    return factor * rng.normal(size=n_labels) + rng.normal(size=(n_rows, n_labels)) > 0.3


def draw_feature(rng, labels, kinds):
    """One feature of an ugly kind."""
    n_rows, n_labels = labels.shape
    some = labels[:, rng.integers(n_labels)].astype(float)
    normal = rng.normal(size=n_rows)
    makers = {
        "normal": lambda: normal,
        "integers": lambda: rng.integers(-2, 3, n_rows).astype(float),
        "binary": lambda: (rng.random(n_rows) < rng.uniform(0.05, 0.95)).astype(float),
        "sparse": lambda: np.where(rng.random(n_rows) < 0.1, 1.0, 0.0),
        "one-row": lambda: (np.arange(n_rows) == rng.integers(n_rows)).astype(float),
        "copy": lambda: some.copy(),
        "complement": lambda: 1.0 - some,
        "label-sum": lambda: labels @ rng.integers(-2, 3, n_labels).astype(float),
        "noisy-copy": lambda: np.where(rng.random(n_rows) < 0.1, 1 - some, some),
        "separates": lambda: (some - 0.5) * rng.uniform(0.1, 2.0, n_rows),
        "almost-separates": lambda: some + rng.choice([1e-3, 0.1, 0.7]) * normal,
        "constant": lambda: np.full(n_rows, rng.choice([0.0, 1.0, 0.1, -3e5])),
        "heavy": lambda: rng.standard_cauchy(n_rows) ** 3,
        "far": lambda: 1e8 + normal,
        "very-far": lambda: 1e8 + 1e-3 * rng.integers(0, 3, n_rows),
        "tiny": lambda: 1e-12 * normal,
        "huge": lambda: 1e12 * normal,
        "product": lambda: some * normal,
        "ordered": lambda: np.arange(n_rows, dtype=float),
    }
    kind = rng.choice(list(makers))
    kinds.append(str(kind))
    return makers[kind]()


def draw_covariate(rng, labels, features, earlier, kinds):
    """One covariate of an ugly kind: numbers, or text."""
    n_rows, n_labels = labels.shape
    some = labels[:, rng.integers(n_labels)].astype(float)
    other = features[:, rng.integers(features.shape[1])]
    numbers = [column for column in earlier if column.dtype.kind == "f"] or [other]
    normal = rng.normal(size=n_rows)
    rare = rng.random(n_rows) < 0.1
    places = np.array(["north", "mid", "south", "west"])
    makers = {
        "normal": lambda: normal,
        "few-values": lambda: rng.integers(-1, 3, n_rows).astype(float),
        "binary": lambda: (rng.random(n_rows) < rng.uniform(0.05, 0.95)).astype(float),
        "one-row": lambda: (np.arange(n_rows) == rng.integers(n_rows)).astype(float),
        "text": lambda: places[rng.integers(0, rng.integers(1, 5), n_rows)],
        "rare-level": lambda: np.where(rare, "elsewhere", places[rng.integers(0, 2, n_rows)]),
        "text-separates": lambda: np.where(rare, places[some.astype(int)], "elsewhere"),
        "feature": lambda: other.copy(),
        "of-feature": lambda: 3.0 - 0.5 * other,
        "of-covariates": lambda: 1.0 + sum(rng.integers(1, 4) * column for column in numbers),
        "with-noise": lambda: numbers[0] + rng.choice([1e-3, 1.0]) * normal,
        "separates": lambda: (some - 0.5) * rng.uniform(0.1, 2.0, n_rows),
        "almost-separates": lambda: some + rng.choice([1e-3, 0.1, 0.7]) * normal,
        "noisy-copy": lambda: np.where(rare, 1 - some, some),
        "complement": lambda: 1.0 - some,
        "constant": lambda: np.full(n_rows, rng.choice([0.0, 1.0, 0.1, 1e8])),
        "heavy": lambda: rng.standard_cauchy(n_rows),
        "far": lambda: 1e8 + normal,
        "very-far": lambda: 1e8 + 1e-3 * rng.integers(0, 3, n_rows),
        "tiny": lambda: 1e-9 * normal,
        "huge": lambda: 1e9 * normal,
        "ordered": lambda: np.arange(n_rows, dtype=float),
    }
    kind = rng.choice(list(makers))
    kinds.append(f"covariate: {kind}")
    return makers[kind]()


def draw_covariates(rng, labels, features, kinds):
    """Draw up to three covariates, or in most cases none."""
    if rng.random() > 0.4:
        return None
    columns = []
    for _ in range(rng.integers(1, 4)):
        columns.append(draw_covariate(rng, labels, features, columns, kinds))
    return pd.DataFrame({f"c{at}": column for at, column in enumerate(columns)})


def draw_case(seed, number):
    """Draw the data of a case; the same for the same seed and number."""
    rng = np.random.default_rng([seed, number])
    kinds = []
    size = rng.choice(["tiny", "small", "middle", "many-labels"], p=[0.45, 0.35, 0.12, 0.08])
    kinds.append(str(size))
    n_rows = int(rng.integers(*{"tiny": (2, 10), "small": (8, 40)}.get(size, (20, 250))))
    n_labels = int(rng.integers(10, 31) if size == "many-labels" else rng.integers(1, 6))
    labels = draw_labels(rng, n_rows, n_labels, kinds)
    for at in range(1, n_labels):
        what = rng.random()
        other = labels[:, rng.integers(at)]
        if what < 0.03:
            kinds.append("copied-label")
            labels[:, at] = other
        elif what < 0.06:
            kinds.append("complement-label")
            labels[:, at] = ~other
        elif what < 0.08:
            kinds.append("constant-label")
            labels[:, at] = rng.random() < 0.5
    if rng.random() < 0.2:
        kinds.append("duplicates")
        rows = rng.integers(0, max(1, n_rows // 3), n_rows)
        labels = labels[rows]
    n_features = int(rng.integers(1, 5))
    features = np.column_stack([draw_feature(rng, labels, kinds) for _ in range(n_features)])
    if rng.random() < 0.1:
        kinds.append("equal-features")
        features = np.column_stack([features, features[:, 0]])
    weights = None
    what = rng.random()
    if what < 0.15:
        weights = rng.integers(1, 5, n_rows).astype(float)
        kinds.append("integer-weights")
    elif what < 0.25:
        weights = rng.uniform(0.1, 3.0, n_rows)
        kinds.append("fractional-weights")
    elif what < 0.3:
        weights = np.where(rng.random(n_rows) < 0.5, 10.0 ** rng.integers(3, 14), 1.0)
        kinds.append("near-singular-weights")
    if rng.random() < 0.1:
        kinds.append("float32")
        features = features.astype(np.float32).astype(float)
    intercept = bool(rng.random() < 0.75)
    covariates = draw_covariates(rng, labels, features, kinds)
    return Case(labels.astype(int), features, weights, intercept, covariates, kinds)


def fresh(case, rows=None, **changes):
    """Give a case again, with changes, or some of its rows, in any order."""
    names = ("labels", "features", "weights", "intercept", "covariates")
    given = {name: getattr(case, name) for name in names} | changes
    if rows is not None:
        for name in ("labels", "features", "weights"):
            given[name] = None if given[name] is None else given[name][rows]
        if given["covariates"] is not None:
            given["covariates"] = given["covariates"].iloc[rows].reset_index(drop=True)
    return Case(**given, kinds=case.kinds)
