"""`RegularizedIsingResults`: a sparse network of labels, read-only."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from scipy.special import expit

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState
from isingmlc.base.arrays import FloatArray
from isingmlc.base.printing import say_given
from isingmlc.base.readonly import ReadOnly, table
from isingmlc.base.storage import read_fields, write_fields
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.ebic import TOO_RARE, L1Path, NetworkSettings, lay_out
from isingmlc.fitting.reasons import Reason, judge_counts
from isingmlc.networks.bootstrap import NetworkBootstrap, bootstrap_network, check_draws
from isingmlc.networks.case_dropping import CaseDropping, drop_rows
from isingmlc.networks.centrality import list_centrality
from isingmlc.networks.predictability import list_predictability
from isingmlc.networks.refits import SparseRefits
from isingmlc.simulate.distribution import distribution_of
from isingmlc.statistics.labelsets import put_together, take_apart

if TYPE_CHECKING:
    from pathlib import Path

    import networkx
    from matplotlib.axes import Axes

    from isingmlc.base.printing import IsingSummary
    from isingmlc.model import IsingModel
    from isingmlc.plots.look import LookOptions
    from isingmlc.results.ising import IsingResults

_COLUMNS = ("label", "lam", "n_nonzero", "llf", "explained", "aic", "bic", "ebic", "kkt", "chosen")


class RegularizedIsingResults(ReadOnly):
    r"""A sparse network of labels.

    Made by `IsingModel.fit_regularized`. Nothing in it can be set; tables carry the names of the
    labels.

    Parameters
    ----------
    model : IsingModel
        What was fitted.
    settings : NetworkSettings
        How.
    paths : tuple of L1Path or None
        The penalised regressions of each label; None for labels that were left out.

    Attributes
    ----------
    model : IsingModel
        What was fitted.
    settings : NetworkSettings
        How it was fitted and chosen.
    paths : tuple of L1Path or None
        All fits as arrays.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> net = im.IsingModel(data.labels).fit_regularized()
    >>> net
    RegularizedIsingResults(6 labels, 9 of 15 edges, ebic, rule 'and')
    >>> net.interactions.loc["diabetes"].round(2)
    hypertension     1.05
    diabetes         0.00
    arthritis        0.00
    depression       0.59
    asthma           0.00
    heart_disease    0.55
    Name: diabetes, dtype: float64
    """

    model: IsingModel
    settings: NetworkSettings
    paths: tuple[L1Path | None, ...]

    def __init__(
        self, model: IsingModel, settings: NetworkSettings, paths: tuple[L1Path | None, ...]
    ) -> None:
        self._fill(model=model, settings=settings, paths=paths)

    def __repr__(self) -> str:
        n_labels = len(self.label_names)
        given = f", {say_given(self.adjusted_for)}" if self.adjusted_for else ""
        return (
            f"RegularizedIsingResults({n_labels} labels, {self.n_edges} of "
            f"{n_labels * (n_labels - 1) // 2} edges, {self.criterion}, rule {self.rule!r}{given})"
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
        """Names of the features that took part; none if only labels did."""
        return self.model.feature_names if self.settings.features else ()

    @property
    def adjusted_for(self) -> tuple[str, ...]:
        """What the models are adjusted for, as the user wrote it: names, or terms of a formula."""
        return self.model.statistics.context.described

    @property
    def nobs(self) -> float:
        """Observations, weighted."""
        return self.model.nobs

    @property
    def criterion(self) -> str:
        """What chose the penalties: ``"ebic"``, ``"bic"`` or ``"aic"``; ``"fixed"`` if given."""
        return "fixed" if self.settings.fixed else self.settings.criterion

    @property
    def gamma(self) -> float:
        """The parameter of EBIC."""
        return self.settings.gamma

    @property
    def rule(self) -> str:
        """Whether an edge needs both of its coefficients, ``"and"``, or one, ``"or"``."""
        return self.settings.rule

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """Names of the covariates, which every label model has."""
        return self.model.covariate_names

    def refit(self, *, penalty: float | str | None = None) -> IsingResults:
        """Fit the network again without its penalty: each label given its neighbours alone.

        Parameters
        ----------
        penalty : None, float or "firth"
            As in `IsingModel.fit`.

        Returns
        -------
        IsingResults
            The fit, with standard errors and with tests of features given this network. The
            network was chosen by the same data: standard errors and p-values of its interactions
            do not know of that. `IsingResults.is_after_selection` says so, as do the summary and a
            column of `IsingResults.network_table`.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> net = im.IsingModel(data.labels, data.features).fit_regularized()
        >>> res = net.refit()
        >>> int((res.interactions != 0).to_numpy().sum() / 2) == net.n_edges
        True
        >>> res.score_test().note
        'each label is tested given 3 of the 5 other labels on average'
        """
        return self.model.fit(penalty=penalty, neighbors=self)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network and its labelset statistics, but no rows, to one file without pickle.

        Parameters
        ----------
        path : path-like
            Where to. The file appears whole or not at all.

        Examples
        --------
        >>> import isingmlc as im, tempfile
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     net.save(f"{folder}/net.npz")
        ...     again = im.RegularizedIsingResults.load(f"{folder}/net.npz")
        >>> again.interactions.equals(net.interactions)
        True
        """
        fields = {
            "intercept": self.model.intercept,
            "settings": self.settings,
            "statistics": take_apart(self.model.statistics),
            "terms": self.model.terms,
            "paths": self.paths,
        }
        write_fields(path, "RegularizedIsingResults", fields)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RegularizedIsingResults:
        """Read a network that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        RegularizedIsingResults
            The network with its paths and statistics, and without rows.

        Examples
        --------
        >>> import isingmlc as im, tempfile
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized(gamma=0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     net.save(f"{folder}/net.npz")
        ...     im.RegularizedIsingResults.load(f"{folder}/net.npz").gamma
        0.5
        """
        from isingmlc.model import IsingModel

        fields = read_fields(path, "RegularizedIsingResults")
        stats = put_together(fields["statistics"])
        model = IsingModel._restore(stats, fields["intercept"], fields["terms"])
        paths = tuple(None if each is None else L1Path(**each) for each in fields["paths"])
        return cls(model, NetworkSettings(**fields["settings"]), paths)

    # The network

    @table
    def interactions(self) -> pd.DataFrame:
        """Symmetric matrix of weights, zero where there is no edge.

        The mean of the two coefficients of each pair; by the rule ``"and"`` only if both of them
        are other than zero.
        """
        theirs = self._coef[: len(self.label_names)]
        weights = (theirs + theirs.T) / 2
        if self.rule == "and":
            weights = np.where((theirs != 0) & (theirs.T != 0), weights, 0.0)
        return ResultTable(weights, self._labels, self._labels)

    @table
    def directed(self) -> pd.DataFrame:
        """Coefficients of the label models: one column per label, one row per other label.

        Below the labels are the columns of the covariates, if there are any; as in
        `IsingResults.params`, ±inf where a covariate makes the label certain in part of the rows.
        """
        columns = self.model.statistics.context.column_names
        rows = pd.Index([*self.label_names, *columns])
        return ResultTable(self._coef[: len(rows)], rows, self._labels)

    @table
    def effects(self) -> pd.DataFrame:
        """Coefficients of the features: one column per label, one row per feature.

        Without rows if only labels took part.
        """
        n_others = len(self.label_names) + len(self.model.statistics.context.column_names)
        effects = self._coef[n_others:]
        return ResultTable(effects, pd.Index(self.feature_names, dtype=object), self._labels)

    @table
    def thresholds(self) -> pd.Series:
        """Intercepts of the label models; NaN for labels that were left out."""
        return self._chosen("intercept").rename("threshold")

    @table
    def lam(self) -> pd.Series:
        """Penalty of each label, on the scale of the mean log-likelihood, as glmnet has it."""
        return self._chosen("lam")

    @cached_property
    def n_edges(self) -> int:
        """Number of edges."""
        return int((self.interactions.to_numpy() != 0).sum()) // 2

    @cached_property
    def density(self) -> float:
        """Share of the pairs of labels that have an edge."""
        n_labels = len(self.label_names)
        return self.n_edges / max(n_labels * (n_labels - 1) / 2, 1)

    def with_rule(self, rule: str) -> RegularizedIsingResults:
        """Return the network that another rule makes of the same label models.

        Parameters
        ----------
        rule : {"and", "or"}
            Whether an edge needs both of its coefficients or one.

        Returns
        -------
        RegularizedIsingResults
            The network; nothing is fitted again.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> net.n_edges, net.with_rule("or").n_edges
        (9, 9)
        """
        settings = replace(self.settings, rule=rule)
        return RegularizedIsingResults(self.model, settings, self.paths)

    def with_criterion(
        self, criterion: str = "ebic", gamma: float = 0.25
    ) -> RegularizedIsingResults:
        """Return the network that another criterion chooses.

        Parameters
        ----------
        criterion : {"ebic", "bic", "aic"}
            What chooses the penalty of each label.
        gamma : float
            The parameter of EBIC: the larger, the sparser the network.

        Returns
        -------
        RegularizedIsingResults
            The network. If the criterion charges at least as much per coefficient as the one that
            the paths were fitted for, it chooses from the same paths; otherwise longer ones are
            fitted.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> [net.with_criterion(gamma=gamma).n_edges for gamma in (0, 0.5, 1)]
        [9, 9, 7]
        """
        settings = replace(self.settings, criterion=criterion, gamma=gamma)
        if settings.fixed:
            raise exc.ModelError(
                "the penalties of this network were given, so there is nothing to choose from. "
                "Fit it without lam."
            )
        paths = [path for path in self.paths if path is not None]
        if all(settings.price(self.nobs, path.n_columns) >= path.least_price for path in paths):
            return RegularizedIsingResults(self.model, settings, self.paths)
        return self.model.fit_regularized(
            criterion=settings.criterion,
            gamma=settings.gamma,
            rule=settings.rule,
            n_lambda=settings.n_lambda,
            features=settings.features,
            penalize_covariates=settings.penalize_covariates,
            max_iter=settings.max_iter,
            whole_paths=settings.whole_paths,
        )

    # The network as an estimate

    def centrality(self, communities: Any = None) -> pd.DataFrame:
        """Tell how central each label is in the network.

        Parameters
        ----------
        communities : mapping, Series or sequence, optional
            As `IsingResults.centrality` takes them.

        Returns
        -------
        DataFrame
            As of `IsingResults.centrality`, without standard errors: they would not know that the
            edges were chosen by the data.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> net.centrality()[["measure", "label", "value"]].round(2).head(2)
            measure         label  value
        0  strength  hypertension   2.67
        1  strength      diabetes   2.19
        """
        return list_centrality(
            self.interactions.to_numpy(),
            self.diagnostics["reason"].to_numpy(dtype=object),
            self.label_names,
            communities=communities,
        )

    def predictability(self) -> pd.DataFrame:
        """Tell how well each label is predicted by its neighbours.

        Returns
        -------
        DataFrame
            As of `IsingResults.predictability`, from the penalised label models: given the other
            labels, the covariates and, if they took part, the features.

        Raises
        ------
        ModelError
            When features took part, and the model holds no rows.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> net.predictability()[["marginal", "accuracy", "auc"]].round(3).head(2)
                      marginal  accuracy    auc
        hypertension     0.661     0.693  0.667
        diabetes         0.881     0.881  0.699
        """
        stats = self.model.statistics
        labels, counts, context = stats.patterns, stats.counts, stats.context.columns
        columns: list[Any] = [labels, context]
        if self.settings.features:
            rows = self.model._rows("predictability() of a network with features")
            labels, counts, covariates = lay_out(rows)
            columns = [labels, covariates.columns, rows.features]
        reasons = self.diagnostics["reason"].to_numpy(dtype=object, copy=True)
        coef, intercept = self._coef, self.thresholds.to_numpy()
        settled = ~np.isfinite(np.vstack([coef, intercept])).all(axis=0)
        reasons[settled & (reasons == Reason.OK)] = Reason.INFINITE_COVARIATE
        finite = np.where(settled, 0.0, coef)
        odds, first = np.tile(np.where(settled, 0.0, intercept), (len(labels), 1)), 0
        for part in columns:
            odds += part @ finite[first : first + part.shape[1]]
            first += part.shape[1]
        return list_predictability(labels, counts, expit(odds), self.label_names, reasons)

    def bootstrap(
        self,
        n_draws: int = 1000,
        *,
        random_state: RandomState = None,
        parametric: bool = False,
        n_jobs: int = 1,
    ) -> NetworkBootstrap:
        """Fit the network to bootstrap draws; `IsingResults.bootstrap` explains the arguments.

        Of a model with `groups` whole clusters are drawn. The penalties are chosen anew in each
        draw, unless they were given.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> boot = net.bootstrap(50, random_state=0)
        >>> boot.inclusion()[["first", "second", "positive"]].head(2)
                  first     second  positive
        0  hypertension   diabetes       1.0
        1  hypertension  arthritis       1.0
        """
        stats = self.model.statistics
        check_draws(stats, "bootstrap()")
        return bootstrap_network(
            self._refits("bootstrap()"),
            (stats.patterns, stats.context.columns, stats.counts),
            self.label_names,
            n_draws,
            random_state=random_state,
            n_jobs=n_jobs,
            adjusted_for=self.adjusted_for,
            make_distribution=(lambda: distribution_of(self)) if parametric else None,
            clusters=stats.groups,
        )

    def drop_cases(
        self, n_draws: int = 1000, *, random_state: RandomState = None, n_jobs: int = 1
    ) -> CaseDropping:
        """Fit the network to parts of the rows; see `IsingResults.drop_cases`.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> net.drop_cases(50, random_state=0).cs_coefficient()["cs"].round(2).to_dict()
        {'pairs': 0.52, 'strength': 0.52, 'expected_influence': 0.52}
        """
        check_draws(self.model.statistics, "drop_cases()")
        return drop_rows(
            self._refits("drop_cases()"),
            self.model.statistics.counts,
            self.label_names,
            n_draws,
            random_state=random_state,
            n_jobs=n_jobs,
            adjusted_for=self.adjusted_for,
        )

    def _refits(self, what: str) -> SparseRefits:
        """Return what fits such networks to other counts."""
        if self.settings.features:
            raise exc.ModelError(
                f"{what} draws counts of labels, but the label models of this network have "
                "features. Fit it with features=False."
            )
        stats = self.model.statistics
        lam = self.lam.to_numpy() if self.settings.fixed else None
        return SparseRefits(stats.patterns, stats.context.columns, self.settings, lam)

    # The fits

    @table
    def criteria(self) -> pd.DataFrame:
        """All fits with their criteria, one row per label and penalty.

        The path of a label ends where its criterion cannot improve any more.

        ``label``, ``lam`` : the label and its penalty, from the largest down.
        ``n_nonzero`` : coefficients other than zero, without the threshold and covariates that are
        not penalised; those of labels or features that are copies of each other count as one.
        ``llf`` : log-likelihood, without the penalty.
        ``explained`` : fraction of the deviance of the threshold alone that is explained.
        ``aic``, ``bic``, ``ebic`` : the criteria.
        ``kkt`` : largest violation of the optimality conditions.
        ``chosen`` : whether this is the fit that the network has.
        """
        parts = [
            ResultTable(
                {
                    "label": name,
                    "lam": path.lam,
                    "n_nonzero": path.n_nonzero,
                    "llf": path.llf,
                    "explained": path.explained,
                    **{kind: self._criterion(path, kind) for kind in ("aic", "bic", "ebic")},
                    "kkt": path.kkt,
                    "chosen": np.arange(len(path.lam)) == at,
                }
            )
            for name, path, at in zip(self.label_names, self.paths, self._positions, strict=True)
            if path is not None
        ]
        none = ResultTable(columns=list(_COLUMNS))
        return pd.concat(parts, ignore_index=True) if parts else none

    @table
    def kkt(self) -> pd.Series:
        """Largest violation of the optimality conditions on the path of each label.

        At a solution the gradient of the mean log-likelihood in a standardised column is the
        penalty in size where its coefficient is not zero, at most the penalty elsewhere, and
        zero in the threshold and in covariates that are not penalised. NaN for labels that were
        left out.
        """
        largest = [np.nan if path is None else path.kkt.max() for path in self.paths]
        return pd.Series(largest, self._labels, name="kkt")

    @cached_property
    def converged(self) -> bool:
        """Whether every penalty of every label was solved to the tolerance of 1e-9."""
        return all(path is None or path.converged for path in self.paths)

    @table
    def diagnostics(self) -> pd.DataFrame:
        """What there is to know about each label's fits, one row per label.

        ``positives``, ``prevalence`` : how often the label occurs.
        ``lam``, ``lam_max`` : its penalty, and the smallest at which it has no neighbour.
        ``n_lambda`` : penalties on its path.
        ``at_end`` : whether the smallest of them was chosen.
        ``n_nonzero`` : its coefficients other than zero, without the threshold and covariates that
        are not penalised.
        ``edges`` : its edges in the network.
        ``llf`` : its log-likelihood, without the penalty.
        ``kkt``, ``converged`` : the largest violation of the optimality conditions on the path,
        and whether it is within the tolerance.
        ``reason`` : ``ok``, ``constant-label``, ``too-rare`` for a label with one row of one
        kind, or ``determined-label`` for one that unpenalised covariates determine; such labels
        are left out.
        """
        stats = self.model.statistics
        positives = stats.counts @ stats.patterns
        minority = np.minimum(positives, self.nobs - positives)
        present = np.array([path is not None for path in self.paths])
        reason = judge_counts(minority, TOO_RARE)
        reason[~present & (reason == Reason.OK)] = Reason.DETERMINED_LABEL
        counted = self._coef != 0
        if not self.settings.penalize_covariates:
            first = len(self.label_names)
            counted[first : first + len(stats.context.column_names)] = False
        lengths = np.array([0 if path is None else len(path.lam) for path in self.paths])
        last = np.array(self._positions) == lengths - 1
        return ResultTable(
            {
                "positives": stats.observations @ stats.patterns,
                "prevalence": positives / self.nobs,
                "lam": self.lam,
                "lam_max": [np.nan if path is None else path.lam_max for path in self.paths],
                "n_lambda": lengths,
                "at_end": last & present & (not self.settings.fixed),
                "n_nonzero": counted.sum(axis=0),
                "edges": (self.interactions.to_numpy() != 0).sum(axis=0),
                "llf": self._chosen("llf"),
                "kkt": self.kkt,
                "converged": [path is None or path.converged for path in self.paths],
                "reason": reason,
            },
            index=self._labels,
        )

    # What a person reads and sees

    def to_frame(self) -> pd.DataFrame:
        """List the edges, strongest first.

        Returns
        -------
        DataFrame
            Columns first, second, weight, and the two coefficients that it is the mean of:
            first_model has that of the second label in the model of the first, second_model the
            other one.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> net.to_frame().round(2).head(2)
                  first         second  weight  first_model  second_model
        0  hypertension       diabetes    1.05         1.01          1.10
        1  hypertension  heart_disease    0.82         0.80          0.84
        """
        weights, directed = self.interactions.to_numpy(), self._coef
        first, second = np.nonzero(np.triu(weights))
        names = np.array(self.label_names, dtype=object)
        frame = ResultTable(
            {
                "first": names[first],
                "second": names[second],
                "weight": weights[first, second],
                "first_model": directed[second, first],
                "second_model": directed[first, second],
            }
        )
        order = np.argsort(-np.abs(weights[first, second]), kind="stable")
        return frame.iloc[order].reset_index(drop=True)

    def to_networkx(self) -> networkx.Graph:
        """Return the network as a graph.

        Returns
        -------
        networkx.Graph
            Labels as nodes, with ``threshold`` and ``prevalence``; edges with ``weight``. With
            covariates, the graph's attribute ``adjusted_for`` names them, and thresholds are
            those where all of them are zero.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> net.to_networkx().degree["diabetes"]
        3
        """
        import networkx as nx

        graph = nx.Graph()
        if self.adjusted_for:
            graph.graph["adjusted_for"] = ", ".join(self.adjusted_for)
        for name, row in self.diagnostics.iterrows():
            graph.add_node(
                name, threshold=float(self.thresholds[name]), prevalence=float(row["prevalence"])
            )
        edges = self.to_frame()[["first", "second", "weight"]]
        graph.add_weighted_edges_from(edges.itertuples(index=False, name=None))
        return graph

    def plot_label_network(self, *, ax: Axes | None = None, **look: Unpack[LookOptions]) -> Axes:
        """Draw the network.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure if omitted.
        **look
            How it is to look, as `IsingResults.plot_label_network` takes it.

        Returns
        -------
        Axes
            The picture.

        Examples
        --------
        >>> import isingmlc as im
        >>> from matplotlib.figure import Figure
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> net.plot_label_network(ax=Figure().subplots()).get_title()
        'Interactions of 6 labels (9 of 15 pairs)'
        """
        from isingmlc.plots import plot_label_network

        thresholds = None if self.adjusted_for else self.thresholds
        return plot_label_network(
            self.interactions,
            thresholds,
            self.diagnostics["prevalence"],
            adjusted_for=self.adjusted_for,
            ax=ax,
            **look,
        )

    def report(
        self, path: str | os.PathLike[str] = "report.html", *, title: str | None = None
    ) -> Path:
        """Write a short report to one HTML file that opens without a connection.

        It has the picture of the network, its edges, effects of features, centrality and labels,
        and all tables as CSV.

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
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     net.report(f"{folder}/network.html").name
        'network.html'
        """
        from isingmlc.report.writing import write_report_of

        return write_report_of("network", self, path, title)

    def summary(self) -> IsingSummary:
        """Summarise the network as text, HTML, LaTeX or CSV.

        Returns
        -------
        IsingSummary
            A statsmodels summary.

        Examples
        --------
        >>> import isingmlc as im
        >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> for line in net.summary().as_text().splitlines()[8:13]:
        ...     print(line)
        ==============================================================
        first        second            weight first_model second_model
        --------------------------------------------------------------
        hypertension diabetes          1.0541      1.0125       1.0957
        hypertension heart_disease     0.8199      0.8006       0.8392
        """
        from isingmlc.summaries import summarize_network

        return summarize_network(self)

    # Inside

    @property
    def _labels(self) -> pd.Index:
        return pd.Index(self.label_names)

    def _criterion(self, path: L1Path, kind: str) -> FloatArray:
        """Return a criterion of all fits on a path."""
        price = self.settings.price(self.nobs, path.n_columns, kind)
        return np.asarray(price * path.n_nonzero - 2 * path.llf)

    @cached_property
    def _positions(self) -> tuple[int, ...]:
        """Where on the path of each label its fit is; the larger penalty if two are as good."""
        choose = self.settings.choose
        return tuple(-1 if path is None else choose(path, self.nobs) for path in self.paths)

    def _chosen(self, name: str) -> pd.Series:
        """Return something of the fit chosen for each label; NaN for labels that were left out."""
        values = [
            np.nan if path is None else getattr(path, name)[at]
            for path, at in zip(self.paths, self._positions, strict=True)
        ]
        return pd.Series(values, self._labels, name=name)

    @property
    def _column_names(self) -> tuple[str, ...]:
        """What paths have coefficients of."""
        columns = self.model.statistics.context.column_names
        return (*self.label_names, *columns, *self.feature_names)

    @cached_property
    def _coef(self) -> FloatArray:
        """The coefficients chosen: labels, columns of the covariates, and features × labels."""
        coef = np.zeros((len(self._column_names), len(self.paths)))
        for label, (path, at) in enumerate(zip(self.paths, self._positions, strict=True)):
            if path is not None:
                coef[:, label] = path.coef[[at]].toarray()[0]
        return coef
