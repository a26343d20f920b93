"""Whether a network stays the same when rows are left out: the correlation stability of bootnet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from statsmodels.stats.proportion import proportion_confint

from isingmlc import exceptions as exc
from isingmlc.base.arguments import (
    RandomState,
    check_count,
    check_jobs,
    check_number,
    make_generator,
)
from isingmlc.base.arrays import FloatArray, IntArray
from isingmlc.base.printing import say_given
from isingmlc.base.readonly import ReadOnly, table
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.reasons import Reason
from isingmlc.networks.bootstrap import check_whole, take_values
from isingmlc.networks.feature_draws import RowRefits
from isingmlc.networks.refits import Refits, refit_draws

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from matplotlib.axes import Axes

    from isingmlc.base.printing import IsingSummary

# The shares of rows that are left out: bootnet's caseMin, caseMax and caseN.
LEVELS = np.linspace(0.05, 0.75, 10)
# What is compared.
COMPARED = ("pairs", "strength", "expected_influence")
# And where features are tested: their order by importance.
RANKING = "ranking"
# Values that vary less than this, relative to their size, do not vary.
_CONSTANT = 1e-12


class CaseDropping(ReadOnly):
    """Networks of parts of the rows, compared with the network of all rows.

    Made by `IsingResults.drop_cases` and `RegularizedIsingResults.drop_cases`.

    Parameters
    ----------
    label_names : tuple of str
        Names of the labels.
    kept : ndarray of int, shape (draws,)
        Rows that each draw keeps.
    nobs : int
        All rows.
    correlations : dict of str to ndarray, shape (draws,)
        Correlations of draws with all rows, by what is compared.
    reasons : ndarray of object, shape (draws, K)
        Why a label has no place in the network of a draw.
    adjusted_for : tuple of str
        The covariates that the networks are given, as the user wrote them; empty without any.

    Attributes
    ----------
    label_names : tuple of str
        Names of the labels.
    nobs : int
        All rows.
    adjusted_for : tuple of str
        The covariates that the networks are given, as the user wrote them; empty without any.

    Examples
    --------
    >>> import isingmlc as im
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
    >>> drop = res.drop_cases(500, random_state=0)
    >>> drop
    CaseDropping(6 labels, 500 draws at 10 levels)
    >>> drop.cs_coefficient()["cs"].round(2).to_dict()
    {'pairs': 0.59, 'strength': 0.44, 'expected_influence': 0.52}
    """

    label_names: tuple[str, ...]
    nobs: int
    adjusted_for: tuple[str, ...]
    _kept: IntArray
    _correlations: dict[str, FloatArray]
    _reasons: np.ndarray

    def __init__(
        self,
        label_names: tuple[str, ...],
        kept: IntArray,
        nobs: int,
        correlations: dict[str, FloatArray],
        reasons: np.ndarray,
        adjusted_for: tuple[str, ...] = (),
    ) -> None:
        self._fill(
            label_names=label_names,
            nobs=nobs,
            adjusted_for=adjusted_for,
            _kept=kept,
            _correlations=correlations,
            _reasons=reasons,
        )

    def __repr__(self) -> str:
        n_levels = len(np.unique(self._kept))
        given = f" {say_given(self.adjusted_for)}" if self.adjusted_for else ""
        return (
            f"CaseDropping({len(self.label_names)} labels{given}, {len(self._kept)} draws at "
            f"{n_levels} levels)"
        )

    @table
    def marked(self) -> pd.DataFrame:
        """In how many draws of each level a label has no place in the network.

        One row per share of rows left out, one column per label.
        """
        lost = ResultTable(self._reasons != Reason.OK, columns=pd.Index(self.label_names))
        return lost.groupby(1 - self._kept / self.nobs).sum().rename_axis("dropped")

    def correlations(self) -> pd.DataFrame:
        """Return the correlations of all draws with the network of all rows.

        Returns
        -------
        DataFrame
            One row per draw: ``dropped``, the share of rows left out, ``rows`` that are kept, and
            the correlations of pairs, strength and expected influence, and with features that of
            their ranks (Spearman's); zero where nothing varies.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.drop_cases(100, random_state=0).correlations().columns.tolist()
        ['dropped', 'rows', 'pairs', 'strength', 'expected_influence']
        """
        frame = ResultTable({"dropped": 1 - self._kept / self.nobs, "rows": self._kept})
        return frame.assign(**self._correlations)

    def to_frame(self, *, cor: float = 0.7, alpha: float = 0.05) -> pd.DataFrame:
        """Summarise the correlations at each level.

        Parameters
        ----------
        cor : float
            A correlation above this counts as alike.
        alpha : float
            One minus the share of draws between the limits.

        Returns
        -------
        DataFrame
            One row per measure and level: ``measure``, ``dropped``, ``rows``, ``draws``, the
            ``mean`` correlation with its quantiles ``lower`` and ``upper``, and ``share``, how many
            of the draws are alike, with its Monte-Carlo error ``share_se``.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> len(res.drop_cases(100, random_state=0).to_frame())
        30
        """
        cor = check_number("cor", cor, above=-1, below=1)
        alpha = check_number("alpha", alpha, above=0, below=1)
        parts = []
        for measure, found in self._correlations.items():
            for rows in np.unique(self._kept)[::-1].tolist():
                values = found[self._kept == rows]
                share = float((values > cor).mean())
                lower, upper = np.quantile(values, [alpha / 2, 1 - alpha / 2], method="weibull")
                parts.append(
                    {
                        "measure": measure,
                        "dropped": 1 - rows / self.nobs,
                        "rows": rows,
                        "draws": len(values),
                        "mean": float(values.mean()),
                        "lower": float(lower),
                        "upper": float(upper),
                        "share": share,
                        "share_se": float(np.sqrt(share * (1 - share) / len(values))),
                    }
                )
        return ResultTable(parts)

    def cs_coefficient(self, *, cor: float = 0.7, certainty: float = 0.95) -> pd.DataFrame:
        """Return the largest share of rows that can be left out, the network staying alike.

        Parameters
        ----------
        cor : float
            A correlation above this counts as alike.
        certainty : float
            More than this share of the draws of a level must be alike.

        Returns
        -------
        DataFrame
            One row per measure: ``cs``, the coefficient; ``share``, that of its level;
            ``cs_lower`` and ``cs_upper``, the coefficients at the ends of 95% intervals for all
            shares, which tell what more draws might change; ``at_edge``, whether it is at the end
            of the levels: at the largest it may be more, and 0 is anything below the smallest.

        Notes
        -----
        The definition is that of R's bootnet [1]_, with as many draws at every level. Its authors
        ask for 0.25 at least, and better 0.5.

        References
        ----------
        .. [1] Epskamp, S., Borsboom, D. and Fried, E. I. (2018). Estimating psychological networks
           and their accuracy. *Behavior Research Methods* 50, 195–212.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> net.drop_cases(50, random_state=0).cs_coefficient()["cs"].round(2).tolist()
        [0.52, 0.52, 0.52]
        """
        certainty = check_number("certainty", certainty, above=0, below=1)
        rows = []
        for measure, levels in self.to_frame(cor=cor).groupby("measure", sort=False):
            dropped, share = levels["dropped"].to_numpy(), levels["share"].to_numpy()
            draws = levels["draws"].to_numpy()
            low, high = proportion_confint(share * draws, draws, method="wilson")
            cs, least, most = (_largest(dropped, each > certainty) for each in (share, low, high))
            rows.append(
                {
                    "measure": measure,
                    "cs": cs,
                    "share": float(share[dropped == cs][0]) if cs > 0 else np.nan,
                    "cs_lower": least,
                    "cs_upper": most,
                    "at_edge": cs in (0.0, float(dropped.max())),
                }
            )
        return ResultTable(rows).set_index("measure")

    def report(
        self, path: str | os.PathLike[str] = "report.html", *, title: str | None = None
    ) -> Path:
        """Write a short report to one HTML file that opens without a connection.

        It has the correlations as a picture and as a table, and the CS-coefficients, and all tables
        as CSV.

        Parameters
        ----------
        path : path-like
            Where to; a file that is there is replaced.
        title : str, optional
            The headline.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        FileError
            When the file cannot be written.
        ModelError
            When what reports need is not installed.

        Examples
        --------
        >>> import isingmlc as im, tempfile
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     res.drop_cases(20, random_state=0).report(f"{folder}/fewer.html").name
        'fewer.html'
        """
        from isingmlc.report.writing import write_report_of

        return write_report_of("dropping", self, path, title)

    def summary(self) -> IsingSummary:
        """Summarise the CS-coefficients as text, HTML, LaTeX or CSV.

        Returns
        -------
        IsingSummary
            A statsmodels summary.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> print(res.drop_cases(50, random_state=0).summary().as_text().splitlines()[0].strip())
        Networks of Fewer Rows
        """
        from isingmlc.network_summaries import summarize_dropping

        return summarize_dropping(self)

    def plot(self, *, cor: float = 0.7, ax: Axes | None = None) -> Axes:
        """Draw the correlations at all levels, with the CS-coefficients marked.

        Parameters
        ----------
        cor : float
            A correlation above this counts as alike.
        ax : Axes, optional
            Where to draw; a new figure if omitted.

        Returns
        -------
        Axes
            The picture: mean correlations, and the middle 95% of the draws; `to_frame` has the
            numbers.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.drop_cases(100, random_state=0).plot().get_xlabel()
        'rows left out'
        """
        from isingmlc.plots import plot_stability

        return plot_stability(self, cor=cor, ax=ax)


def drop_rows(
    refits: Refits | RowRefits,
    counts: FloatArray,
    label_names: tuple[str, ...],
    n_draws: int,
    *,
    random_state: RandomState,
    n_jobs: int,
    adjusted_for: tuple[str, ...] = (),
) -> CaseDropping:
    """Fit networks to parts of the rows; `IsingResults.drop_cases` explains the arguments."""
    n_draws = check_count("n_draws", n_draws, len(LEVELS))
    n_jobs, generator = check_jobs(n_jobs), make_generator(random_state)
    nobs = check_whole(counts, "drop_cases()")
    sizes = np.round((1 - LEVELS) * nobs).astype(np.intp)
    if len(np.unique(sizes)) < len(sizes) or sizes[-1] < 2:
        raise exc.ModelError(
            f"drop_cases() leaves out from 5% to 75% of the rows, but there are only {nobs}: too "
            "few for ten levels. bootstrap() needs fewer."
        )
    # Equal numbers at all levels; what is left over goes to the first ones.
    kept = np.sort(np.resize(sizes, n_draws))[::-1]
    order = iter(kept.tolist())
    colours = counts.astype(np.int64)

    def draw(size: int) -> FloatArray:
        lines = [generator.multivariate_hypergeometric(colours, next(order)) for _ in range(size)]
        return np.array(lines, dtype=np.float64)

    tests = isinstance(refits, RowRefits)
    fit: Any = refits.fit_times if isinstance(refits, RowRefits) else refits.fit_counts
    whole, parts = fit(counts[None]), refit_draws(fit, draw, n_draws, n_jobs, "draws")
    correlations = {
        of: correlate(take_values(parts, of), take_values(whole, of)) for of in COMPARED
    }
    if tests:
        # Ranks with ties, so that features that are all alike do not vary.
        ranks = (rankdata(each.importance, axis=1) for each in (parts, whole))
        correlations[RANKING] = correlate(*ranks)
    return CaseDropping(label_names, kept, nobs, correlations, parts.reasons, adjusted_for)


def correlate(values: FloatArray, wanted: FloatArray) -> FloatArray:
    """Correlate lines with one, over what is finite in both; zero where nothing varies."""
    both = np.isfinite(values) & np.isfinite(wanted)
    size = np.maximum(both.sum(axis=1, keepdims=True), 1)
    centred = []
    for each in (values, np.broadcast_to(wanted, values.shape)):
        kept = np.where(both, each, 0.0)
        moved = np.where(both, kept - kept.sum(axis=1, keepdims=True) / size, 0.0)
        largest = np.abs(kept).max(axis=1, initial=0.0, keepdims=True)
        spread = np.sqrt((moved**2).sum(axis=1, keepdims=True))
        varies = spread > _CONSTANT * largest * np.sqrt(size)
        centred.append(np.where(varies, moved / np.where(varies, spread, 1.0), 0.0))
    return np.asarray((centred[0] * centred[1]).sum(axis=1))


def _largest(dropped: FloatArray, holds: np.ndarray) -> float:
    """Return the largest level at which something holds; 0 if at none."""
    return float(dropped[holds].max(initial=0.0))
