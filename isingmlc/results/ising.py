"""`IsingResults`: the fitted network of labels, read-only."""

from __future__ import annotations

import dataclasses
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats as distributions

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number, check_option
from isingmlc.base.arrays import FloatArray
from isingmlc.base.readonly import table
from isingmlc.base.storage import read_arrays, write_arrays
from isingmlc.feature_methods import FeatureMethods
from isingmlc.fitting.diagnostics import diagnose
from isingmlc.fitting.nodewise import FitSettings, NodeFit
from isingmlc.inference.pvalues import wald_limits
from isingmlc.input.rows import prepare_labels
from isingmlc.plot_methods import ResultPlots
from isingmlc.report_methods import ReportMethods
from isingmlc.results.nodes import NodeModels
from isingmlc.statistics.labelsets import put_together, take_apart

if TYPE_CHECKING:
    import networkx

    from isingmlc.base.printing import IsingSummary
    from isingmlc.model import IsingModel

RULES = ("mean", "min", "max", "and", "or")
_FILE_KIND = "Ising results"


class IsingResults(FeatureMethods, ResultPlots, ReportMethods):
    """A fitted Ising network of labels.

    Made by `IsingModel.fit`. Nothing in it can be set; tables carry the names of the labels.

    Parameters
    ----------
    model : IsingModel
        What was fitted.
    settings : FitSettings
        How.
    fits : tuple of NodeFit
        One fit a label.

    Attributes
    ----------
    model : IsingModel
        What was fitted.
    settings : FitSettings
        How it was fitted.
    fits : tuple of NodeFit
        The fits as arrays on labelsets.
    nodes : NodeModels
        The fits as statsmodels results, by label.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> res = im.IsingModel(data.labels, data.features).fit()
    >>> res
    IsingResults(6 labels, mle, log pseudo-likelihood -3701.26)
    >>> res.params["diabetes"].round(2)
    const           -2.82
    hypertension     1.24
    diabetes          NaN
    arthritis       -0.14
    depression       0.78
    asthma           0.18
    heart_disease    0.70
    Name: diabetes, dtype: float64
    """

    model: IsingModel
    settings: FitSettings
    fits: tuple[NodeFit, ...]
    nodes: NodeModels

    def __init__(self, model: IsingModel, settings: FitSettings, fits: tuple[NodeFit, ...]) -> None:
        self.__dict__.update(model=model, settings=settings, fits=fits, nodes=NodeModels(self))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"results are read-only: {name!r} can not be set. Fit a model anew.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"results are read-only: {name!r} can not be deleted.")

    def __repr__(self) -> str:
        return (
            f"IsingResults({len(self.label_names)} labels, {self.method}, "
            f"log pseudo-likelihood {self.llf:.2f})"
        )

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    # What was fitted

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels."""
        return self.model.label_names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.model.feature_names

    @property
    def method(self) -> str:
        """How the label models were fitted: ``"mle"``, ``"ridge"`` or ``"firth"``."""
        return self.settings.method

    @property
    def nobs(self) -> float:
        """Observations, weighted."""
        return self.model.nobs

    # Estimates

    @table
    def params(self) -> pd.DataFrame:
        """Estimates: one column a label, one row for its threshold and each other label.

        ±inf along separated directions; NaN on the diagonal and where a coefficient is aliased
        or the data say nothing about it.
        """
        return self._by_node([fit.coef for fit in self.fits])

    @table
    def bse(self) -> pd.DataFrame:
        """Standard errors of `params`; NaN where an estimate is not finite.

        Under a ridge penalty they come from the inverse of the penalised information.
        """
        return self._by_node([fit.bse for fit in self.fits])

    @table
    def zvalues(self) -> pd.DataFrame:
        """Estimates divided by their standard errors."""
        finite = self.params.where(np.isfinite(self.params))
        return finite / self.bse

    @table
    def pvalues(self) -> pd.DataFrame:
        """Two-sided p-values of `zvalues` (Wald)."""
        return pd.DataFrame(
            2 * distributions.norm.sf(self.zvalues.abs()), self._terms, self._labels
        )

    def conf_int(self, alpha: float = 0.05) -> dict[str, pd.DataFrame]:
        """Wald confidence intervals of `params`.

        Parameters
        ----------
        alpha : float
            One minus the confidence level.

        Returns
        -------
        dict of str to DataFrame
            Frames ``"lower"`` and ``"upper"``, shaped like `params`.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.conf_int()["lower"].loc["hypertension", "diabetes"].round(3)
        np.float64(0.895)
        """
        return wald_limits(self.params, self.bse, alpha)

    @table
    def thresholds(self) -> pd.Series:
        """Intercepts of the label models; zero for a model without intercept."""
        if not self.settings.intercept:
            return pd.Series(0.0, self._labels, name="threshold")
        return self.params.loc["const"].rename("threshold")

    @table
    def interactions(self) -> pd.DataFrame:
        """Symmetric matrix of interactions, zero on the diagonal.

        The plain mean of the two estimates of each pair, as network psychometrics has it; an
        inverse-variance mean would let the rarer label's model count for little. See
        `symmetrize` for other rules.
        """
        return self.symmetrize("mean")

    def symmetrize(self, rule: str = "mean", *, alpha: float = 0.05) -> pd.DataFrame:
        """Combine the two estimates of each pair of labels.

        Parameters
        ----------
        rule : {"mean", "min", "max", "and", "or"}
            The plain mean; the estimate that is smaller or larger in absolute value; or the
            mean where both (one) of the estimates are infinite or significant, else zero.
        alpha : float
            Level of the Wald tests that ``"and"`` and ``"or"`` use.

        Returns
        -------
        DataFrame, shape (K, K)
            Symmetric, zero on the diagonal. Where one estimate is not identified the other one
            stands alone; where neither is, or they run to opposite infinities, NaN.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels).fit()
        >>> int((res.symmetrize("and") != 0).to_numpy().sum() / 2)  # edges
        9
        """
        check_option("rule", rule, RULES)
        alpha = check_number("alpha", alpha, above=0, below=1)
        mine = self.params.loc[list(self.label_names)].to_numpy().T
        theirs = mine.T
        first = np.where(np.isnan(mine), theirs, mine)
        second = np.where(np.isnan(theirs), mine, theirs)
        if rule in ("min", "max"):
            smaller = np.abs(first) <= np.abs(second)
            combined = np.where(smaller == (rule == "min"), first, second)
        else:
            with np.errstate(invalid="ignore"):
                combined = (first + second) / 2
        if rule in ("and", "or"):
            pvalues = self.pvalues.loc[list(self.label_names)].to_numpy().T
            counts = np.isinf(mine) | (pvalues < alpha)
            edge = counts & counts.T if rule == "and" else counts | counts.T
            combined = np.where(edge | np.isnan(combined), combined, 0.0)
        # Opposite infinities and ties of opposite sign have no common value.
        combined = np.where(combined == combined.T, combined, np.nan)
        np.fill_diagonal(combined, 0.0)
        return pd.DataFrame(combined, self._labels, self._labels)

    # Fit

    @cached_property
    def llf(self) -> float:
        """Log pseudo-likelihood: the sum of the K log-likelihoods."""
        return float(sum(fit.llf for fit in self.fits))

    @cached_property
    def df_model(self) -> int:
        """Finite coefficients estimated, in all K regressions."""
        return sum(len(fit.basis) for fit in self.fits)

    @cached_property
    def aic(self) -> float:
        """Akaike's criterion on the log pseudo-likelihood."""
        return 2 * self.df_model - 2 * self.llf

    @cached_property
    def bic(self) -> float:
        """Bayesian information criterion on the log pseudo-likelihood."""
        return float(np.log(self.nobs)) * self.df_model - 2 * self.llf

    @cached_property
    def converged(self) -> bool:
        """Whether every label model converged."""
        return all(fit.converged for fit in self.fits)

    @table
    def diagnostics(self) -> pd.DataFrame:
        r"""What there is to know about each label's fit, one row a label.

        ``positives``, ``prevalence`` : how often the label occurs.
        ``rare`` : fewer than ten rows of one kind.
        ``labelsets``, ``rows`` : labelsets and observations at which it is not certain given the
        others; only these carry information.
        ``separated``, ``determined`` : whether some, or all, rows are certain.
        ``infinite`` : number of infinite coefficients.
        ``aliased_with`` : labels that share a linear relation with it.
        ``iterations``, ``converged`` : the course of the fit.
        ``min_variance``, ``min_eigenvalue`` : the smallest :math:`p(1-p)` and the smallest
        eigenvalue of :math:`Z'Z/n`, over the rows and coefficients in play: the constants v and
        :math:`\Lambda_{min}` of the paper's Theorem 1 before a feature is added. `theorem_bound`
        has those of an edge.
        ``pseudo_r2`` : McFadden's.
        ``reason`` : ``ok``, ``constant-label`` or ``determined-label``.
        """
        return diagnose(self.model.statistics, self.settings, self.fits)

    def predict(self, labels: Any = None) -> pd.DataFrame:
        """Give the probability of each label given the others.

        Parameters
        ----------
        labels : array_like, DataFrame or sparse, shape (n, K), optional
            Label vectors; the rows of the model where not given.

        Returns
        -------
        DataFrame, shape (n, K)
            P(y_k = 1 | other labels). NaN, with a warning, where a label vector was not seen
            and the data do not identify its probability.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels).fit()
        >>> res.predict([[1, 0, 0, 0, 0, 1]]).round(2)
           hypertension  diabetes  arthritis  depression  asthma  heart_disease
        0          0.47      0.29       0.45        0.14    0.09           0.11
        """
        index = labels.index if isinstance(labels, pd.DataFrame) else None
        if labels is not None:
            given = prepare_labels(labels, self.label_names)
        elif self.model.data is not None:
            given, index = self.model.data.labels, self.model.data.index
        else:
            raise exc.ModelError(
                "the model holds no rows, only their statistics. Pass the label vectors: "
                "predict(labels)."
            )
        probability = np.column_stack([fit.predict(given) for fit in self.fits])
        unknown = np.isnan(probability)
        if unknown.any():
            names = exc.shorten(self._labels[unknown.any(axis=0)])
            n_rows = int(unknown.any(axis=1).sum())
            exc.warn(exc.UNIDENTIFIED.format(n_rows=n_rows, names=names), exc.SeparationWarning)
        return pd.DataFrame(probability, index=index, columns=self._labels)

    def joint_distribution(self) -> pd.Series:
        """Give the probability of every label vector under the fitted network.

        Returns
        -------
        Series of float, length 2**K
            Probabilities, indexed by the 0/1 label vectors.

        Raises
        ------
        ModelError
            Beyond 20 labels, or where the fit does not define a distribution (infinite
            thresholds).

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> joint = im.IsingModel(data.labels).fit().joint_distribution()
        >>> joint[0, 0, 0, 0, 0, 0].round(3)
        np.float64(0.4)
        """
        from isingmlc.simulate import distribution_of

        distribution = distribution_of(self)
        patterns = pd.MultiIndex.from_frame(distribution.patterns)
        return pd.Series(distribution.pmf(), patterns, name="probability")

    def to_networkx(self, rule: str = "mean") -> networkx.Graph:
        """Give the network as a graph.

        Parameters
        ----------
        rule : {"mean", "min", "max", "and", "or"}
            How the two estimates of a pair are combined; see `symmetrize`.

        Returns
        -------
        networkx.Graph
            Labels as nodes, with ``threshold`` and ``prevalence``; pairs with an interaction
            other than zero as edges, with ``weight``.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> im.IsingModel(data.labels).fit().to_networkx(rule="and").number_of_edges()
        9
        """
        import networkx as nx

        graph = nx.Graph()
        prevalence = self.diagnostics["prevalence"]
        for name in self.label_names:
            graph.add_node(
                name, threshold=float(self.thresholds[name]), prevalence=float(prevalence[name])
            )
        weights = self.symmetrize(rule).to_numpy()
        for first, second in zip(*np.triu_indices(len(weights), 1), strict=True):
            weight = weights[first, second]
            # Below this a weight is the rounding of a zero.
            if abs(weight) > 1e-12:
                ends = self.label_names[first], self.label_names[second]
                graph.add_edge(*ends, weight=float(weight))
        return graph

    # What a person reads

    def summary(self, alpha: float = 0.05) -> IsingSummary:
        """Summarise the fit as text, HTML, LaTeX or CSV.

        Parameters
        ----------
        alpha : float
            One minus the level of the confidence intervals.

        Returns
        -------
        IsingSummary
            A statsmodels summary.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels[["diabetes", "asthma"]]).fit()
        >>> print(res.summary().as_text().splitlines()[2])
        Labels:                  2    No. Observations:                   1500
        """
        from isingmlc.summaries import summarize

        return summarize(self, alpha)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Give all coefficients with their standard errors, tests and intervals.

        Parameters
        ----------
        alpha : float
            One minus the level of the confidence intervals.

        Returns
        -------
        DataFrame
            One row a label and term, whether finite or not.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> frame = im.IsingModel(data.labels).fit().summary_frame()
        >>> frame.loc[("diabetes", "hypertension")].round(3)
        coef       1.235
        std err    0.173
        z          7.120
        P>|z|      0.000
        [0.025     0.895
        0.975]     1.575
        Name: (diabetes, hypertension), dtype: float64
        """
        bounds = self.conf_int(alpha)
        alpha = float(alpha)
        columns = {
            "coef": self.params,
            "std err": self.bse,
            "z": self.zvalues,
            "P>|z|": self.pvalues,
            f"[{alpha / 2:g}": bounds["lower"],
            f"{1 - alpha / 2:g}]": bounds["upper"],
        }
        index = pd.MultiIndex.from_product([self.label_names, self._terms], names=["label", "term"])
        # Column after column: label by label.
        long = {name: table.to_numpy().ravel(order="F") for name, table in columns.items()}
        frame = pd.DataFrame(long, index)
        return frame[index.get_level_values("label") != index.get_level_values("term")]

    # Keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fit and its labelset statistics, but no rows, to one file without pickle.

        Parameters
        ----------
        path : path-like
            Where to. The file appears whole or not at all.

        Examples
        --------
        >>> import isingmlc as im, tempfile
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     res.save(f"{folder}/fit.npz")
        ...     im.IsingResults.load(f"{folder}/fit.npz").llf == res.llf
        True
        """
        names, statistics = take_apart(self.model.statistics)
        header: dict[str, Any] = {
            "settings": dataclasses.asdict(self.settings),
            "statistics": names,
            "terms": {name: list(columns) for name, columns in self.model.terms.items()},
            "fits": [],
        }
        arrays = {f"statistics/{name}": array for name, array in statistics.items()}
        for fit in self.fits:
            scalars = {}
            for field in dataclasses.fields(fit):
                value = getattr(fit, field.name)
                if isinstance(value, np.ndarray):
                    arrays[f"{fit.label}/{field.name}"] = value
                else:
                    scalars[field.name] = value
            header["fits"].append(scalars)
        write_arrays(path, _FILE_KIND, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> IsingResults:
        """Read results that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        IsingResults
            The fit, with its statistics and without rows.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     res.save(Path(folder, "survey.npz"))
        ...     again = im.IsingResults.load(Path(folder, "survey.npz"))
        >>> again.params.equals(res.params)
        True
        """
        from isingmlc.model import IsingModel

        header, arrays = read_arrays(path, _FILE_KIND)
        groups: dict[str, dict[str, Any]] = {}
        for name, array in arrays.items():
            group, _, field = name.partition("/")
            groups.setdefault(group, {})[field] = array
        stats = put_together(header["statistics"], groups.pop("statistics"))
        fits = tuple(
            NodeFit(**scalars, **groups[str(scalars["label"])]) for scalars in header["fits"]
        )
        settings = FitSettings(**header["settings"])
        terms = {name: tuple(columns) for name, columns in header["terms"].items()}
        return cls(IsingModel.restore(stats, settings.intercept, terms), settings, fits)

    def remove_data(self) -> IsingResults:
        """Give the same results without the rows of the data.

        Returns
        -------
        IsingResults
            Results that hold labelset statistics only; what needs rows says so.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.remove_data().model.data is None
        True
        """
        return IsingResults(self.model.without_data(), self.settings, self.fits)

    # Inside

    @property
    def _labels(self) -> pd.Index:
        return pd.Index(self.label_names)

    @property
    def _terms(self) -> pd.Index:
        return pd.Index(["const", *self.label_names][0 if self.settings.intercept else 1 :])

    def _by_node(self, columns: list[FloatArray]) -> pd.DataFrame:
        values = np.column_stack(columns)[0 if self.settings.intercept else 1 :]
        return pd.DataFrame(values, self._terms, self._labels)
