"""Tests of pairs of labels: one by one in a table, and any linear combination of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats as distributions

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number, check_option
from isingmlc.base.arrays import FloatArray
from isingmlc.base.readonly import FrozenResult
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.reasons import Reason
from isingmlc.inference.covariance import hotelling_sf
from isingmlc.inference.pvalues import METHODS, adjust, chi2_sf
from isingmlc.networks.covariance import NetworkEstimate

# Combinations, scaled to variances of one, count as dependent below this share of the largest.
_DEPENDENT = 1e-10
# The covariance of df combinations is estimated too, which raises Wald's statistic by about
# df / nobs of its mean. That is df^1.5 / (1.4 nobs) of its standard deviation: above this limit the
# chi-square test rejects too often.
_MOST_DF = 0.15
# With fewer rows per label the level depends on which pairs are tested, unless they are few.
_FEW_ROWS = 20
# So many combinations a null hypothesis writes out.
_WRITTEN = 3
_HOW = (
    "Write one combination as {('a', 'b'): 1, ('c', 'd'): -1}, several as a list of them, or a "
    "list of pairs that are all zero: [('a', 'b'), ('a', 'c')]. A name alone is a threshold."
)


@dataclass(frozen=True)
class NetworkContrast(FrozenResult):
    """Wald's test of linear combinations of interactions and thresholds.

    Made by `IsingResults.contrast`. It unpacks into its statistic and p-value.

    Attributes
    ----------
    statistic : float
        Wald's statistic; NaN where there is a `reason`.
    pvalue : float
        Its p-value.
    df : int
        Degrees of freedom: combinations that do not follow from others.
    null : str
        The null hypothesis.
    distribution : str
        What the statistic is compared with.
    estimates, errors : tuple of float
        The combinations, less the value that the null hypothesis gives them, and their standard
        errors.
    reason : str
        Why there is no test: a combination holds an interaction that is infinite or not known, or
        there are too many combinations for the rows.

    Examples
    --------
    >>> import isingmlc as im
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
    >>> test = res.contrast(
    ...     {("hypertension", "diabetes"): 1, ("hypertension", "heart_disease"): -1}
    ... )
    >>> test.null
    'hypertension:diabetes - hypertension:heart_disease = 0'
    >>> statistic, pvalue = test
    >>> round(pvalue, 2)
    0.47
    """

    statistic: float
    pvalue: float
    df: int
    null: str
    distribution: str
    estimates: tuple[float, ...]
    errors: tuple[float, ...]
    reason: str = Reason.OK

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))


def list_pairs(
    estimate: NetworkEstimate,
    alpha: float = 0.05,
    adjust_by: str | None = "fdr_bh",
    exponentiate: bool = False,
) -> pd.DataFrame:
    """Test every pair of labels; `IsingResults.network_table` explains the arguments."""
    alpha = check_number("alpha", alpha, above=0, below=1)
    if adjust_by is not None:
        check_option("adjust", adjust_by, METHODS)
    stats = estimate.fit.stats
    first, second = np.triu_indices(estimate.n_labels, 1)
    names = np.array(stats.label_names, dtype=object)
    weight, se = estimate.weights[first, second], estimate.pair_errors[first, second]
    reason = estimate.reasons[first, second]
    se = np.where(reason == Reason.NOT_CONVERGED, np.nan, se)
    finite = np.where(np.isfinite(weight), weight, np.nan)
    degrees = estimate.fit.dependence.degrees
    width = distributions.norm.isf(alpha / 2)
    if degrees is not None:
        width = distributions.t.isf(alpha / 2, degrees)
    z, reach = finite / se, width * se
    pvalue = chi2_sf(z**2, 1) if degrees is None else hotelling_sf(z**2, 1, degrees)
    positives = stats.counts @ stats.patterns
    both = ((stats.counts * stats.patterns.T) @ stats.patterns)[first, second]
    effects = {"weight": weight, "se": se}
    lower, upper = finite - reach, finite + reach
    if exponentiate:
        # An odds ratio beyond all numbers is infinite; what is infinite has no other end.
        with np.errstate(over="ignore"):
            effects = {"odds_ratio": np.exp(weight)}
            lower = np.exp(np.where(weight == -np.inf, weight, lower))
            upper = np.exp(np.where(weight == np.inf, weight, upper))
    return ResultTable(
        {
            "first": names[first],
            "second": names[second],
            **effects,
            "z": z,
            "pvalue": pvalue,
            "pvalue_adj": pvalue if adjust_by is None else adjust(pvalue, adjust_by, alpha=alpha),
            "lower": lower,
            "upper": upper,
            "evidence": z**2 - np.log(stats.nobs),
            "both": both,
            "first_only": positives[first] - both,
            "second_only": positives[second] - both,
            "neither": stats.nobs - positives[first] - positives[second] + both,
            "reason": reason,
        }
    )


def contrast_test(
    estimate: NetworkEstimate, combinations: Any, value: Any = 0.0
) -> NetworkContrast:
    """Test linear combinations; `IsingResults.contrast` explains the arguments."""
    lines = _read_combinations(combinations)
    values = _read_values(value, len(lines))
    names = estimate.fit.stats.label_names
    place = {name: at for at, name in enumerate(names)}
    on_weights = np.zeros((len(lines), len(names), len(names)))
    on_thresholds = np.zeros((len(lines), len(names)))
    reason, found = Reason.OK, np.zeros(len(lines))
    for at, line in enumerate(lines):
        for key, number in line.items():
            share = check_number(f"the weight of {key!r}", number)
            if isinstance(key, str):
                label = _find(key, place)
                on_thresholds[at, label] += share
                found[at] += share * estimate.thresholds[label] if share else 0.0
                continue
            k, m = (_find(name, place) for name in key)
            on_weights[at, [k, m], [m, k]] += share
            if share:
                found[at] += share * estimate.weights[k, m]
                told = estimate.reasons[k, m]
                if told not in (Reason.OK, Reason.ONE_MODEL):
                    reason = told
    if reason == Reason.OK and not np.isfinite(found).all():
        reason = Reason.UNKNOWN_PAIR
    if on_thresholds.any() and not estimate.fit.settings.intercept:
        raise exc.DataError("the model has no thresholds: it was made with intercept=False.")
    null = _say(lines, values)
    independent = np.hstack([on_weights.reshape(len(lines), -1), on_thresholds])
    df = int(np.linalg.matrix_rank(independent))
    if int(np.linalg.matrix_rank(np.column_stack([independent, values]))) > df:
        raise exc.DataError(
            f"combinations and value contradict each other: {null} cannot all be true."
        )
    estimates = found - values
    errors = np.full(len(lines), np.nan)
    statistic = np.nan
    if reason == Reason.OK:
        covariance = estimate.covariance(on_weights, on_thresholds)
        errors = np.sqrt(covariance.diagonal())
        size = np.where(errors > 0, errors, 1.0)
        roots, axes = np.linalg.eigh(covariance / np.outer(size, size))
        kept = roots > _DEPENDENT * roots[-1]
        if int(kept.sum()) == df and (errors > 0).any():
            along = axes[:, kept].T @ (estimates / size)
            statistic = float((along**2 / roots[kept]).sum())
        else:
            # Fewer cells than combinations: their errors depend on each other.
            reason = Reason.UNKNOWN_PAIR
    degrees, nobs = estimate.fit.dependence.degrees, estimate.fit.stats.nobs
    per_label = nobs / len(names)
    too_many = df**1.5 > _MOST_DF * nobs or (per_label < _FEW_ROWS and df > max(per_label / 4, 1))
    if reason == Reason.OK and degrees is None and too_many:
        reason, statistic = Reason.TOO_MANY_COMBINATIONS, np.nan
    # One combination has the test of `list_pairs`. For several the covariance counts as that of
    # residuals, which have lost a degree of freedom per coefficient of a label's regression.
    left = nobs - len(names) - len(estimate.fit.stats.context.names)
    if degrees is None and df > 1 and left >= df:
        degrees = left
    distribution, pvalue = f"chi2({df})", np.nan
    if degrees is not None:
        distribution = f"F({df}, {degrees + 1 - df:g})"
    if reason == Reason.OK and degrees is not None:
        pvalue = float(hotelling_sf(statistic, df, degrees))
    elif reason == Reason.OK:
        pvalue = float(chi2_sf(statistic, df))
    return NetworkContrast(
        statistic=statistic,
        pvalue=pvalue,
        df=df,
        null=null,
        distribution=distribution,
        estimates=tuple(estimates.tolist()),
        errors=tuple(errors.tolist()),
        reason=reason,
    )


def _read_combinations(given: Any) -> list[Mapping[Any, Any]]:
    """Return one mapping per combination."""
    if isinstance(given, Mapping):
        lines: list[Any] = [given]
    elif isinstance(given, tuple) and len(given) == 2 and all(isinstance(x, str) for x in given):
        lines = [{given: 1.0}]
    elif isinstance(given, Sequence) and not isinstance(given, str):
        lines = [line if isinstance(line, Mapping) else {line: 1.0} for line in map(_freeze, given)]
    else:
        raise exc.DataError(f"combinations cannot be read from {given!r}. {_HOW}")
    if not lines or not all(lines):
        raise exc.DataError(f"combinations must name at least one pair each. {_HOW}")
    for key in (key for line in lines for key in line):
        is_pair = isinstance(key, tuple) and len(key) == 2 and len(set(key)) == 2
        if not isinstance(key, str) and not is_pair:
            raise exc.DataError(
                f"combinations must be of pairs of two labels, but one has {key!r}. {_HOW}"
            )
    if not all(any(number for number in line.values()) for line in lines):
        raise exc.DataError("combinations must have a weight other than zero each.")
    return lines


def _freeze(line: Any) -> Any:
    """Return a pair that was written as a list as a tuple."""
    return tuple(line) if isinstance(line, list) else line


def _read_values(value: Any, n_lines: int) -> FloatArray:
    """Return the value that the null hypothesis gives each combination."""
    several = list(value) if np.ndim(value) == 1 else [value] * n_lines
    if len(several) != n_lines:
        raise exc.DataError(
            f"value must be a number or one per combination ({n_lines}), but has {len(several)}."
        )
    return np.array([check_number("value", each) for each in several])


def _find(name: Any, place: Mapping[str, int]) -> int:
    """Return the position of a label."""
    if name not in place:
        raise exc.DataError(
            f"combinations must name labels of the model, e.g. {exc.shorten(place)}, but one has "
            f"{name!r}."
        )
    return place[name]


def _say(lines: Sequence[Mapping[Any, Any]], values: FloatArray) -> str:
    """Write the null hypothesis."""
    written = []
    for line, value in zip(lines[:_WRITTEN], values.tolist(), strict=False):
        text = ""
        for key, number in line.items():
            what = f"threshold of {key}" if isinstance(key, str) else ":".join(map(str, key))
            size = "" if abs(number) == 1 else f"{abs(number):g} "
            sign = "-" if number < 0 else "+"
            text += f" {sign} {size}{what}" if text else f"{'-' if number < 0 else ''}{size}{what}"
        written.append(f"{text} = {value:g}")
    more = f" and {len(lines) - _WRITTEN} more" if len(lines) > _WRITTEN else ""
    return ", ".join(written) + more
