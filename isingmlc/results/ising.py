"""`IsingResults`: the fitted network of labels, read-only."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from scipy import stats as distributions

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, as_path, check_names, check_number, check_option
from isingmlc.base.arrays import FloatArray
from isingmlc.base.readonly import ReadOnly, table
from isingmlc.base.storage import read_fields, write_fields
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.design import Regressors
from isingmlc.fitting.moderated import ModeratedFit, find_moderators
from isingmlc.fitting.nodewise import (
    FitSettings,
    NetworkFit,
    NodeFit,
)
from isingmlc.fitting.pseudo import SharedFit
from isingmlc.fitting.reasons import (
    Reason,
    diagnose,
    warn_of_few_carriers,
    warn_of_little_information,
)
from isingmlc.inference.combine import DEFAULT_COMBINE
from isingmlc.inference.covariance import degrees_of_clusters
from isingmlc.inference.edges import UNITS, EdgeArrays
from isingmlc.inference.moderation import pool_wald
from isingmlc.inference.pvalues import wald_limits
from isingmlc.inference.refit import compare_lr_test, compare_tests, firth_lr_test, refit_test
from isingmlc.inference.score import robust_errors
from isingmlc.inference.score_tests import is_corrected, score_test
from isingmlc.input.rows import prepare_covariates, prepare_labels
from isingmlc.networks.bootstrap import (
    NetworkBootstrap,
    bootstrap_features,
    bootstrap_network,
    check_draws,
)
from isingmlc.networks.case_dropping import CaseDropping, drop_rows
from isingmlc.networks.centrality import list_centrality
from isingmlc.networks.contrasts import NetworkContrast, contrast_test, list_pairs
from isingmlc.networks.covariance import NetworkEstimate
from isingmlc.networks.feature_draws import RowRefits
from isingmlc.networks.goodness import GoodnessOfFit, compare_with_table
from isingmlc.networks.predictability import list_predictability
from isingmlc.networks.refits import PlainRefits
from isingmlc.results.calibration import CalibrationResults, check_calibration
from isingmlc.results.edge_tests import EdgeTests
from isingmlc.results.network_at import NetworkAt, spread_values
from isingmlc.results.nodes import NodeModels
from isingmlc.simulate.distribution import distribution_of
from isingmlc.statistics.labelsets import cells_of, put_together, stats_with, take_apart

if TYPE_CHECKING:
    import networkx
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from isingmlc.base.printing import IsingSummary
    from isingmlc.model import IsingModel
    from isingmlc.plots.look import LookOptions
    from isingmlc.results.ranking import FeatureRanking

RULES = ("mean", "min", "max", "and", "or")
_RESAMPLE = "network_table() has errors without resampling; fit().{call} resamples."


class IsingResults(ReadOnly):
    """A fitted Ising network of labels.

    Made by `IsingModel.fit`. Nothing in it can be set; tables carry the names of the labels.

    Parameters
    ----------
    model : IsingModel
        What was fitted.
    settings : FitSettings
        How.
    fits : tuple of NodeFit
        One fit per label.
    regressors : Regressors, optional
        What they were made with; laid out anew when needed if omitted.
    shared : SharedFit, optional
        The coefficients that the fits share, if they do.

    Attributes
    ----------
    model : IsingModel
        What was fitted.
    settings : FitSettings
        How it was fitted.
    fits : tuple of NodeFit
        The fits as arrays on labelsets.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> res = im.IsingModel(data.labels, data.features).fit()
    >>> res
    IsingResults(6 labels, nodewise, log pseudo-likelihood -3701.26)
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
    _regressors: Regressors | None
    _shared: SharedFit | None

    def __init__(
        self,
        model: IsingModel,
        settings: FitSettings,
        fits: tuple[NodeFit, ...],
        regressors: Regressors | None = None,
        shared: SharedFit | None = None,
    ) -> None:
        self._fill(
            model=model, settings=settings, fits=fits, _regressors=regressors, _shared=shared
        )

    def __repr__(self) -> str:
        return (
            f"IsingResults({len(self.label_names)} labels, {self.settings.described}, "
            f"{self._likelihood} {self.llf:.2f})"
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
    def covariate_names(self) -> tuple[str, ...]:
        """Names of the covariates that the models are adjusted for."""
        return self.model.covariate_names

    @property
    def adjusted_for(self) -> tuple[str, ...]:
        """What the models are adjusted for, as the user wrote it: names, or terms of a formula."""
        return self.model.statistics.context.described

    @property
    def method(self) -> str:
        """How the label models were fitted; see `IsingModel.fit`."""
        return self.settings.method

    @property
    def penalty(self) -> float | str | None:
        """The ridge penalty, ``"firth"``, or None; see `IsingModel.fit`."""
        return self.settings.penalty

    @property
    def cov_type(self) -> str:
        """Where errors and variances of scores come from; see `IsingModel.fit`."""
        return self.settings.cov_type

    @property
    def nobs(self) -> float:
        """Observations, weighted."""
        return self.model.nobs

    @cached_property
    def nodes(self) -> NodeModels:
        """The fits as statsmodels results, by label."""
        return NodeModels(self)

    # Estimates

    @table
    def params(self) -> pd.DataFrame:
        """Estimates: one column per label, rows for thresholds, other labels and covariates.

        ±inf along separated directions; NaN on the diagonal and where a coefficient is aliased
        or the data say nothing about it; zero for labels that a model does not have (see
        ``fit(neighbors=…)``).
        """
        return self._by_node([fit.coef for fit in self.fits])

    @table
    def bse(self) -> pd.DataFrame:
        """Standard errors of `params`; NaN where an estimate is not finite.

        Of the kind that `cov_type` says. Under a ridge penalty those that are not robust come from
        the inverse of the penalised information; of a joint pseudo-likelihood they are Godambe's,
        in which the labels of a row are a cluster.
        """
        fit = self._fit
        if self._estimate.shared is not None:
            return self._by_node(list(self._estimate.shared.errors))
        return self._by_node(list(robust_errors(fit) if fit.is_robust else fit.errors))

    @table
    def zvalues(self) -> pd.DataFrame:
        """Estimates divided by their standard errors."""
        finite = self.params.where(np.isfinite(self.params))
        return finite / self.bse

    @table
    def pvalues(self) -> pd.DataFrame:
        """Two-sided p-values of `zvalues` (Wald), with clusters by Student's t; see `fit`."""
        size, df = self.zvalues.abs(), degrees_of_clusters(self._fit)
        tail = distributions.norm.sf(size) if df is None else distributions.t.sf(size, df)
        return ResultTable.of_pvalues(pd.DataFrame(2 * tail, self._terms, self._labels))

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Wald confidence intervals of `params`.

        Parameters
        ----------
        alpha : float
            One minus the confidence level.

        Returns
        -------
        DataFrame
            Columns ``lower`` and ``upper``, one row per label and term of its model; NaN where an
            estimate is not finite.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.conf_int().loc[("diabetes", "hypertension")].round(3).tolist()
        [0.895, 1.575]
        """
        index = pd.MultiIndex.from_product([self._labels, self._terms], names=["label", "term"])
        coef, bse = (frame.to_numpy().ravel(order="F") for frame in (self.params, self.bse))
        has = np.ones((len(self._terms), len(self._labels)), dtype=np.bool_)
        first = int(self.settings.intercept)
        has[first : first + len(self._labels)] = np.array([fit.neighbors for fit in self.fits]).T
        df = degrees_of_clusters(self._fit)
        degrees = None if df is None else np.repeat(df, len(self._terms))
        return wald_limits(coef, bse, alpha, index, degrees)[has.ravel(order="F")]

    @table
    def thresholds(self) -> pd.Series:
        """Intercepts of the label models; zero for a model without intercept.

        With covariates, those where all of them are zero and categories are at their first level.
        """
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
            Symmetric, zero on the diagonal and for pairs that no model has. Where one estimate is
            not identified, or its model does not have the other label, the other one stands
            alone; where neither is, or they run to opposite infinities, NaN.

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
        has = np.array([fit.neighbors for fit in self.fits])
        mine = np.where(has, self.params.loc[list(self.label_names)].to_numpy().T, np.nan)
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
        combined[~(has | has.T)] = 0.0
        return ResultTable(combined, self._labels, self._labels)

    # The network as an estimate

    @cached_property
    def _estimate(self) -> NetworkEstimate:
        """The network with the covariance of all label models together."""
        return NetworkEstimate(self._fit)

    def network_table(
        self,
        *,
        alpha: float = 0.05,
        adjust: str | None = "fdr_bh",
        exponentiate: bool = False,
    ) -> pd.DataFrame:
        r"""List every pair of labels with its interaction and how sure it is.

        Parameters
        ----------
        alpha : float
            One minus the confidence level.
        adjust : str or None
            How p-values are adjusted for the number of pairs, any method of statsmodels'
            ``multipletests``; None for not at all.
        exponentiate : bool
            Give odds ratios, and their intervals, instead of interactions and standard errors.

        Returns
        -------
        DataFrame
            One row per pair, in the order of the labels.

            ``first``, ``second`` : the labels.
            ``weight``, ``se`` : the interaction, as `interactions` has it, and its standard error.
            ``z``, ``pvalue``, ``pvalue_adj`` : Wald's test that it is zero.
            ``lower``, ``upper`` : its confidence interval.
            ``odds_ratio``, ``lower``, ``upper`` : with `exponentiate`, by what factor one label
            multiplies the odds of the other, given all other labels and the covariates, in place of
            weight, se and limits. One that is infinite or zero has itself for a limit.
            ``evidence`` : :math:`z^2 - \log n`, about twice the logarithm of the Bayes factor for
            an interaction against none [1]_: below zero the data speak for its absence, where a
            large p-value alone says nothing. Of rare labels few of the n rows say something: there
            it means absence only where the interval is short.
            ``both``, ``first_only``, ``second_only``, ``neither`` : rows with both labels, one or
            none.
            ``reason`` : ``ok``, or why there is no error or test: ``infinite-pair``,
            ``unknown-pair``, ``constant-label``, ``determined-label``, ``not-converged``,
            ``no-model``. With ``one-model`` the weight is the coefficient of one label's model.

        Notes
        -----
        A weight is the mean of coefficients of two models that were fitted to the same rows. Its
        error comes from the sandwich covariance of all models together, in which the labels of a
        row are a cluster. It holds too where the labels do not follow an Ising model. Errors of
        networks whose neighbours were chosen by the data, or that are penalised, do not know of
        that. Fits with ``method="joint"`` or ``"pseudo"`` have one coefficient per pair, and its
        error, as in `bse`.

        References
        ----------
        .. [1] Kass, R. E. and Raftery, A. E. (1995). Bayes factors. *JASA* 90, 773–795.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> columns = ["first", "second", "weight", "se", "pvalue_adj", "evidence"]
        >>> res.network_table()[columns].round(3).head(3)
                  first      second  weight     se  pvalue_adj  evidence
        0  hypertension    diabetes   1.236  0.176       0.000    42.117
        1  hypertension   arthritis   0.923  0.136       0.000    38.616
        2  hypertension  depression   0.180  0.161       0.332    -6.073
        >>> odds = res.network_table(exponentiate=True)
        >>> odds[["first", "second", "odds_ratio", "lower", "upper"]].round(2).head(1)
                  first    second  odds_ratio  lower  upper
        0  hypertension  diabetes        3.44   2.44   4.86
        """
        frame = list_pairs(self._estimate, alpha, adjust, exponentiate)
        return frame.assign(errors="after selection") if self.is_after_selection else frame

    @property
    def is_after_selection(self) -> bool:
        """Whether the rows that were fitted also chose which labels each model has.

        Errors, intervals and p-values of interactions do not know of that: interactions that were
        chosen look surer than they are. Tests of features given this network are not concerned.
        """
        return self.settings.neighbors not in ("all", "given")

    def contrast(self, combinations: Any, value: Any = 0.0) -> NetworkContrast:
        """Test linear combinations of interactions, from the covariance of all label models.

        Parameters
        ----------
        combinations : mapping, or sequence of mappings or pairs
            One combination as a mapping of pairs of labels to numbers; several, tested together;
            or pairs of labels, whose interactions are tested together. A label's name in the
            place of a pair is its threshold.
        value : float or sequence of float
            What the combinations are under the null hypothesis.

        Returns
        -------
        NetworkContrast
            Statistic, p-value, degrees of freedom and the null hypothesis in words; NaN with a
            reason where an interaction is infinite or not known, or where there are too many
            combinations for the rows.

        Raises
        ------
        DataError
            When the combinations cannot be read.

        Notes
        -----
        One combination has the test of `network_table`. Several are referred to Hotelling's
        distribution, with the rows less the coefficients of a label's regression as degrees of
        freedom, which holds for few of them. Without clusters, more than
        :math:`(0.15 n)^{2/3}` of them (12 at 300 rows, 52 at 2,500) have no p-value but the reason
        ``too-many-combinations``: the covariance is estimated, and the test would reject too often.
        With fewer than 20 rows per label a quarter of the rows per label is the limit.
        `network_table` with ``adjust="holm"`` tests any number of pairs.

        Examples
        --------
        Is one interaction as strong as another? Has a label no interaction at all?

        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.contrast({("hypertension", "diabetes"): 1, ("depression", "asthma"): -1}).null
        'hypertension:diabetes - depression:asthma = 0'
        >>> others = [name for name in res.label_names if name != "asthma"]
        >>> test = res.contrast([("asthma", name) for name in others])
        >>> test.df, test.pvalue < 0.001
        (5, True)
        """
        return contrast_test(self._estimate, combinations, value)

    def centrality(self, communities: Any = None, *, alpha: float = 0.05) -> pd.DataFrame:
        r"""Tell how central each label is in the network.

        Parameters
        ----------
        communities : mapping, Series or sequence, optional
            The community of each label, ``{label: community}`` or in the order of the labels, or
            the labels of each community, ``{community: [labels]}``, as qgraph has them. With it the
            table has the measures of bridges, which count what leads from one community to another.
        alpha : float
            One minus the confidence level.

        Returns
        -------
        DataFrame
            One row per measure and label, with the columns ``measure``, ``label``, ``value``,
            ``se``, ``lower``, ``upper`` and ``reason``.

            ``strength`` : the sum of the absolute weights of a label's interactions.
            ``expected_influence`` : their sum.
            ``expected_influence_2`` : that sum, and the sums of its neighbours times their
            weights, :math:`e + We` [1]_.
            ``closeness`` : the inverse mean distance to the labels that can be reached, times the
            share of labels that can, an edge being as long as the inverse of its absolute weight.
            ``betweenness`` : on how many of the shortest paths between two others a label is.
            ``bridge_…`` : the same of interactions with, and paths to, other communities [2]_.
            ``reason`` : ``ok``, or why there is no interval, or what is special about it:
            ``unsure-signs`` if a sum of absolute weights has some whose own intervals cover zero.

        Notes
        -----
        Standard errors come from the covariance of all label models together by the delta method.
        That of strength takes the signs of the interactions as known: where many are near zero,
        strength is too large, and its interval too narrow; its labels are marked ``unsure-signs``.
        Closeness and betweenness jump where
        paths change, and have no standard error. Labels that do not vary are left out.

        References
        ----------
        .. [1] Robinaugh, D. J., Millner, A. J. and McNally, R. J. (2016). Identifying highly
           influential nodes in the complicated grief network. *J. Abnorm. Psychol.* 125, 747–757.
        .. [2] Jones, P. J., Ma, R. and McNally, R. J. (2021). Bridge centrality: a network
           approach to understanding comorbidity. *Multivariate Behav. Res.* 56, 353–367.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> table = res.centrality()
        >>> table[table["measure"] == "strength"].round(2).head(2)
            measure         label  value    se  lower  upper        reason
        0  strength  hypertension   3.58  0.37   2.85   4.31  unsure-signs
        1  strength      diabetes   3.05  0.49   2.08   4.02  unsure-signs
        """
        reasons = self.diagnostics["reason"].to_numpy(dtype=object)
        reasons[reasons != Reason.CONSTANT_LABEL] = Reason.OK
        return list_centrality(
            self._estimate.weights,
            reasons,
            self.label_names,
            communities=communities,
            estimate=self._estimate,
            alpha=alpha,
        )

    def predictability(self) -> pd.DataFrame:
        """Tell how well each label is predicted by the others, and by the covariates.

        Returns
        -------
        DataFrame
            One row per label, computed on the rows that the models were fitted to.

            ``prevalence``, ``marginal`` : the share of rows with the label, and how often the more
            frequent answer is right.
            ``accuracy`` : how often the likelier answer is right, given the others.
            ``gain`` : what of the errors of the marginal is gone.
            ``deviance_r2`` : which share of the deviance is explained, McFadden's.
            ``auc`` : how often, of a row with the label and one without, the first has the higher
            probability.
            ``reason`` : ``ok``, or why there is nothing to predict.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.predictability()[["marginal", "accuracy", "auc"]].round(3).head(2)
                      marginal  accuracy    auc
        hypertension     0.661     0.697  0.681
        diabetes         0.881     0.882  0.699
        """
        reasons = self.diagnostics["reason"].to_numpy(dtype=object)
        reasons[reasons != Reason.CONSTANT_LABEL] = Reason.OK
        stats = self.model.statistics
        probability = np.column_stack([fit.probability for fit in self.fits])
        return list_predictability(
            stats.patterns, stats.counts, probability, self.label_names, reasons
        )

    def bootstrap(
        self,
        n_draws: int = 1000,
        *,
        random_state: RandomState = None,
        parametric: bool = False,
        features: bool | Sequence[str] = False,
        n_jobs: int = 1,
    ) -> NetworkBootstrap:
        """Fit the network to bootstrap draws, to see how far it varies.

        Parameters
        ----------
        n_draws : int
            How many draws.
        random_state : int, Generator or None
            Source of randomness.
        parametric : bool
            Whether rows are drawn from the distribution of the fitted network instead of from the
            rows.
        features : bool or sequence of str
            Whether features are tested in every draw too, all or some of them, for the spread of
            their statistics and ranks. That needs rows.
        n_jobs : int
            Processes to use; −1 for one per core. The draws do not depend on it.

        Returns
        -------
        NetworkBootstrap
            Intervals, shares of draws with an edge, tests of differences, ranks of features.

        Raises
        ------
        DataError
            When an argument is out of range.
        ModelError
            When `freq_weights` are not whole numbers, `parametric` draws have no distribution to
            come from (infinite coefficients, covariates, or features), or `features` needs rows
            that the model does not hold.

        Notes
        -----
        A network depends on the rows through counts alone, so a draw is one multinomial draw of
        counts; of a fit with ``cov_type="cluster"`` whole clusters are drawn. All label models of
        many draws are fitted together, from this fit; where a draw separates labels it has the
        exact limit, and infinite values. The labels that each model has stay those of this fit.
        With `features` rows are drawn, each draw is fitted and tested by itself, and features are
        ranked by the sum of their score statistics.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> boot = res.bootstrap(200, random_state=0)
        >>> boot.inclusion()[["first", "second", "positive"]].head(2)
                  first     second  positive
        0  hypertension   diabetes       1.0
        1  hypertension  arthritis       1.0
        """
        stats = self.model.statistics
        self._fit.refuse_shared("bootstrap()", _RESAMPLE.format(call="bootstrap(…)"))
        check_draws(stats, "bootstrap()")
        if features is not False:
            if parametric:
                raise exc.ModelError(
                    "parametric draws are of labels alone, without features. Leave parametric out, "
                    "or features."
                )
            tested = RowRefits.of(self._fit, features, "bootstrap()")
            return bootstrap_features(tested, n_draws, random_state=random_state, n_jobs=n_jobs)
        return bootstrap_network(
            PlainRefits.of(self._fit),
            (stats.patterns, stats.context.columns, stats.counts),
            self.label_names,
            n_draws,
            random_state=random_state,
            n_jobs=n_jobs,
            adjusted_for=self.adjusted_for,
            make_distribution=(lambda: distribution_of(self)) if parametric else None,
            clusters=stats.groups if self.settings.cov_type == "cluster" else None,
        )

    def drop_cases(
        self,
        n_draws: int = 1000,
        *,
        random_state: RandomState = None,
        features: bool | Sequence[str] = False,
        n_jobs: int = 1,
    ) -> CaseDropping:
        """Fit the network to parts of the rows, to see whether it stays the same.

        Parameters
        ----------
        n_draws : int
            How many draws, over ten levels from 5% to 75% of rows left out.
        random_state : int, Generator or None
            Source of randomness.
        features : bool or sequence of str
            Whether features are tested in every draw too, all or some of them, to see whether
            their ranking stays the same. That needs rows.
        n_jobs : int
            Processes to use; −1 for one per core. The draws do not depend on it.

        Returns
        -------
        CaseDropping
            Correlations with the network of all rows, and bootnet's CS-coefficient.

        Raises
        ------
        DataError
            When an argument is out of range.
        ModelError
            When `freq_weights` are not whole numbers, or there are too few rows.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.drop_cases(200, random_state=0).cs_coefficient()["cs"].round(2).to_dict()
        {'pairs': 0.59, 'strength': 0.59, 'expected_influence': 0.44}
        """
        self._fit.refuse_shared("drop_cases()", _RESAMPLE.format(call="drop_cases(…)"))
        check_draws(self.model.statistics, "drop_cases()")
        refits: PlainRefits | RowRefits = PlainRefits.of(self._fit)
        counts = self.model.statistics.counts
        if features is not False:
            refits = RowRefits.of(self._fit, features, "drop_cases()").without_clusters()
            counts = refits.counts
        return drop_rows(
            refits,
            counts,
            self.label_names,
            n_draws,
            random_state=random_state,
            n_jobs=n_jobs,
            adjusted_for=self.adjusted_for,
        )

    # Fit

    @property
    def _likelihood(self) -> str:
        return "log-likelihood" if self.method == "joint" else "log pseudo-likelihood"

    @cached_property
    def llf(self) -> float:
        """Log pseudo-likelihood: the sum of the K log-likelihoods.

        With ``method="joint"`` the log-likelihood of all labels together.
        """
        if self._shared is not None:
            return self._shared.llf
        return float(sum(fit.llf for fit in self.fits))

    @cached_property
    def df_model(self) -> int:
        """Finite coefficients estimated, in all K regressions.

        With ``method="joint"`` or ``"pseudo"`` a pair has one of them.
        """
        if self._shared is not None:
            return len(self._shared.basis)
        return sum(len(fit.basis) for fit in self.fits)

    @cached_property
    def _price(self) -> float:
        """How many coefficients information criteria count."""
        shared = self._estimate.shared
        return float(self.df_model) if shared is None else shared.effective_terms

    @cached_property
    def aic(self) -> float:
        """Akaike's criterion on `llf`.

        It takes rows for independent: with clusters or sampling weights it describes a fit, but
        does not choose between fits. For ``method="pseudo"`` coefficients count for the trace of
        their Godambe covariance times the information, as composite likelihoods need.
        """
        return 2 * self._price - 2 * self.llf

    @cached_property
    def bic(self) -> float:
        """Bayesian information criterion on `llf`; see `aic`."""
        return float(np.log(self.nobs)) * self._price - 2 * self.llf

    def goodness_of_fit(
        self, n_samples: int = 499, random_state: RandomState = None
    ) -> GoodnessOfFit:
        """Compare a joint fit with the table of all label vectors.

        Parameters
        ----------
        n_samples : int
            Samples drawn from the fitted distribution, each refitted, from which the p-values
            come (parametric bootstrap). With 0 there are statistics without p-values.
        random_state : int, Generator or None
            Source of the samples.

        Returns
        -------
        GoodnessOfFit
            Deviance and Pearson's statistic against the saturated table, degrees of freedom and
            bootstrap p-values.

        Raises
        ------
        ModelError
            Unless the fit is one with ``method="joint"``, of independent rows.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit(method="joint")
        >>> res.goodness_of_fit(n_samples=0).df
        42
        """
        return compare_with_table(self._fit, self._estimate.shared, n_samples, random_state)

    @cached_property
    def converged(self) -> bool:
        """Whether every label model converged."""
        return all(fit.converged for fit in self.fits)

    @table
    def diagnostics(self) -> pd.DataFrame:
        r"""What there is to know about each label's fit, one row per label.

        ``positives``, ``prevalence`` : how many observations have the label, and their share, which
        sampling weights weight.
        ``rare`` : fewer than ten rows of one kind.
        ``labelsets``, ``rows`` : labelsets and observations at which it is not certain given the
        others; only these carry information.
        ``information``, ``information_per_coefficient`` : :math:`\sum p(1-p)` over the rows, and
        its ratio to the coefficients fitted. Below about 4 per coefficient, or about 75 in all with
        skewed features, large-sample p-values do not hold; tests warn, and `score_test` corrects
        its p-values.
        ``separated``, ``determined`` : whether some, or all, rows are certain.
        ``infinite`` : number of infinite coefficients.
        ``aliased_with`` : labels that share a linear relation with it.
        ``iterations``, ``converged`` : the course of the fit.
        ``min_variance``, ``min_eigenvalue`` : the smallest :math:`p(1-p)` and the smallest
        eigenvalue of :math:`Z'Z/n`, over the rows and coefficients in play: the constants v and
        :math:`\Lambda_{min}` of the paper's Theorem 1 before a feature is added.
        ``pseudo_r2`` : McFadden's.
        ``neighbors`` : how many other labels its model has.
        ``reason`` : ``ok``, ``constant-label``, ``determined-label`` or ``not-converged``.
        """
        return diagnose(self._fit)

    def predict(self, labels: Any = None, covariates: Any = None) -> pd.DataFrame:
        """Return the probability of each label given the others, and given the covariates.

        Parameters
        ----------
        labels : array_like, DataFrame or sparse, shape (n, K), optional
            Label vectors; the rows of the model if omitted.
        covariates : array_like, DataFrame or sparse, shape (n, c), optional
            Their covariates, if the model has any.

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
        stats, data, regressors = self.model.statistics, self.model.data, self._fit.regressors
        if labels is not None:
            given = prepare_labels(labels, self.label_names)
            context = prepare_covariates(covariates, stats.context, len(given), rows=labels)
            design = regressors.at(given, stats.context.columns_at(context.numbers))
        elif covariates is not None:
            raise exc.DataError("covariates belong to labels: predict(labels, covariates).")
        elif data is not None:
            design, index = regressors.matrix[cells_of(stats, data)], data.index
        else:
            raise exc.ModelError(
                "the model holds no rows, only their statistics. Pass the label vectors: "
                "predict(labels)."
            )
        probability = np.column_stack([fit.predict(design) for fit in self.fits])
        unknown = np.isnan(probability)
        if unknown.any():
            names = exc.shorten(self._labels[unknown.any(axis=0)])
            n_rows = int(unknown.any(axis=1).sum())
            is_ridge, has_context = self.settings.ridge > 0, len(stats.context) > 0
            message = exc.UNIDENTIFIED.format(
                n_rows=n_rows,
                what="labels and covariates" if has_context else "labels",
                names=names,
                remedy="Leave out covariates that others explain"
                if is_ridge
                else "fit(penalty=1.0) gives a finite answer"
                + (" unless covariates are at fault" if has_context else " everywhere"),
            )
            exc.warn(message, exc.SeparationWarning)
        rows = None if index is None else index.copy()
        return pd.DataFrame(probability, index=rows, columns=self._labels)

    def joint_distribution(self) -> pd.Series:
        """Return the probability of every label vector under the fitted network.

        Returns
        -------
        Series of float, length 2**K
            Probabilities, indexed by the 0/1 label vectors.

        Raises
        ------
        ModelError
            Beyond 20 labels, or where the fit does not define a distribution (infinite
            thresholds; covariates, at each of whose values there is another one). Fits with
            ``method="joint"`` always do.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> joint = im.IsingModel(data.labels).fit().joint_distribution()
        >>> joint[0, 0, 0, 0, 0, 0].round(3)
        np.float64(0.4)
        """
        from isingmlc.simulate.distribution import index_patterns, joint_probabilities

        shared = self._estimate.shared
        if shared is None or self.method != "joint":
            return joint_probabilities(self)
        patterns = index_patterns(self.label_names)
        return pd.Series(shared.distribution, patterns, name="probability", copy=True)

    def to_networkx(self, rule: str = "mean") -> networkx.Graph:
        """Return the network as a graph.

        Parameters
        ----------
        rule : {"mean", "min", "max", "and", "or"}
            How the two estimates of a pair are combined; see `symmetrize`.

        Returns
        -------
        networkx.Graph
            Labels as nodes, with ``threshold`` and ``prevalence``; pairs with an interaction
            other than zero as edges, with ``weight``. With covariates, the graph's attribute
            ``adjusted_for`` names them, and thresholds are those where all of them are zero.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> im.IsingModel(data.labels).fit().to_networkx(rule="and").number_of_edges()
        9
        """
        import networkx as nx

        graph = nx.Graph()
        if self.adjusted_for:
            graph.graph["adjusted_for"] = ", ".join(self.adjusted_for)
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

    def at(self, values: Mapping[str, Any]) -> NetworkAt:
        """Return the network at values of covariates or features that moderate it.

        The label models are fitted anew with the moderators and their products with the other
        labels, as this fit was: by the same method, with the same covariates and neighbours.

        Parameters
        ----------
        values : mapping of str to number or str
            A value of each moderator, the name of a covariate or a feature: a number, or a level
            of a category. Where a formula made the covariates these are the columns that it
            mentions, and all terms of a column follow it: ``{"age": 70}`` moves
            ``bs(age, df=4)`` as a whole, and ``age * sex`` needs both.

        Returns
        -------
        NetworkAt
            Thresholds and interactions there with standard errors; covariates that moderate
            nothing are at their means. Interactions of a label that does not vary at a level of a
            category are NaN there.

        Raises
        ------
        DataError
            When a name or a level is unknown.
        ModelError
            When a moderator is a feature, and the model holds no rows.

        Warns
        -----
        DataWarning
            When a value is outside the data.

        See Also
        --------
        score_test : ``products="given-joint"`` tests whether a feature moderates at all.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> net = res.at({"deprivation_decile": 9})
        >>> net.interactions.loc["depression", "asthma"].round(2)
        np.float64(1.74)
        """
        self._fit.refuse_shared("at()", "Use fit().at(…).")
        if not isinstance(values, Mapping):
            raise exc.DataError(
                f"values must map names to values, e.g. {{'age': 70}}, but is {values!r}."
            )
        fit = self._moderated(tuple(values))
        context = self.model.statistics.context
        sources = zip(context.names, context.sources, strict=True)
        others = tuple(dict.fromkeys(each for name, each in sources if name not in fit.moderators))
        network, beyond = fit.at(values), fit.beyond(values)
        if beyond:
            exc.warn(exc.BEYOND_DATA.format(values=", ".join(beyond)), exc.DataWarning)
        lost = np.isnan(network.threshold)
        if lost.any():
            exc.warn(exc.UNKNOWN_AT.format(names=exc.shorten(self._labels[lost])), exc.DataWarning)
        return NetworkAt(values, self.label_names, network, others)

    def _moderated(self, names: tuple[str, ...]) -> ModeratedFit:
        """Fit the label models with moderators, once."""
        fits = vars(self).setdefault("_moderated_fits", {})
        if names not in fits:
            stats = self.model.statistics
            covariates, features = find_moderators(names, stats.context, self.feature_names)
            if features:
                stats = stats_with(stats, self.model._rows("at() of a feature"), features)
            neighbors = np.array([fit.neighbors for fit in self.fits])
            moderators = (*covariates, *features)
            fits[names] = ModeratedFit(stats, self.settings, moderators, neighbors)
        found: ModeratedFit = fits[names]
        return found

    # Tests of features

    @cached_property
    def _fit(self) -> NetworkFit:
        """What tests need to know of the fit."""
        model = self.model
        return NetworkFit(
            model.statistics,
            self.settings,
            self.fits,
            model.data,
            dict(model.terms),
            self._regressors,
            self._shared,
        )

    @property
    def _has_wide_terms(self) -> bool:
        """Whether some term has several columns."""
        return any(len(columns) > 1 for columns in self.model.terms.values())

    def _say_how_much_is_known(
        self, pvalue: str, products: str | None = None, unit: str = "term"
    ) -> None:
        """Warn once of labels that the rows say little about, and once more of chi-square there."""
        told = vars(self).setdefault("_told_of_information", set())
        corrected, remedy = pvalue != "chi2", None
        single = pvalue == "auto" and products is None and unit == "column"
        if self._fit.is_robust and (self._fit.is_penalised or not single):
            corrected, remedy = False, exc.MEND_ROBUST
        elif pvalue == "auto" and not is_corrected(self._fit, unit):
            corrected, remedy = False, exc.MEND_TERMS
        of_products = products is not None and pvalue == "auto" and corrected
        is_given = of_products and str(products).startswith("given")
        if is_given and not self._fit.is_penalised:
            corrected, remedy = False, exc.MEND_GIVEN
        if not self.feature_names or not self.model._for_tests:
            return
        if (corrected, remedy, of_products) in told:
            return
        told.add((corrected, remedy, of_products))
        if of_products and ("carriers" in told or warn_of_few_carriers(self._fit)):
            told.add("carriers")
            return
        warn_of_little_information(self._fit, corrected=corrected, remedy=remedy)

    def _name_tests(self, arrays: EdgeArrays) -> EdgeTests:
        """Return tests their names, and say what they are adjusted for."""
        return EdgeTests(arrays, self.adjusted_for, self._fit, self._level_effects)

    @cached_property
    def _default_edges(self) -> EdgeTests:
        """The score tests of all edges, which rankings, plots and reports use."""
        return self._test_units(None, "term", lambda res, *what: score_test(res._fit, *what))

    def _test_units(
        self,
        features: Sequence[str] | str | None,
        unit: str,
        test: Callable[[IsingResults, Sequence[str] | None, str], EdgeArrays],
    ) -> EdgeTests:
        """Run a test of terms, or of single columns adjusted for the rest of their term."""
        check_option("unit", unit, UNITS)
        if not self.feature_names:
            raise exc.ModelError(exc.NO_FEATURES)
        terms = self.model.terms
        every = tuple(terms) if unit == "term" else self.feature_names
        names = tuple(every[at] for at in check_names("features", features, every))
        if unit == "term":
            if any(len(terms[name]) > 1 for name in names):
                return self._name_tests(test(self, names, "term"))
            columns = tuple(terms[name][0] for name in names)
            found = test(self, None if columns == self.feature_names else columns, "column")
            return self._name_tests(replace(found, feature_names=names))
        rest = self._rest_of_terms
        alone = tuple(name for name in names if not rest[name])
        parts = [test(self, alone, "column")] if alone else []
        parts += [
            test(self._adjusted(rest[name]), (name,), "column") for name in names if rest[name]
        ]
        found = EdgeArrays.stack(parts)
        return self._name_tests(found.take([found.feature_names.index(name) for name in names]))

    @property
    def _rest_of_terms(self) -> dict[str, tuple[str, ...]]:
        """The other columns of the term of each column."""
        return {
            column: tuple(other for other in columns if other != column)
            for columns in self.model.terms.values()
            for column in columns
        }

    def _adjusted(self, columns: Sequence[str]) -> IsingResults:
        """Refit the label models with some columns of the features as further covariates."""
        neighbors = np.array([fit.neighbors for fit in self.fits])
        return self.model._with_covariates(columns)._fit_nodes(self.settings, neighbors)

    def _level_effects(self, term: str) -> tuple[FloatArray, FloatArray]:
        """Fit the label models with a whole term; coefficients and errors, columns × labels."""
        columns = list(self.model.terms[term])
        fitted = self._adjusted(columns)
        # A column without variation, or a linear function of others, has no coefficient.
        found = [each.reindex(columns).to_numpy(np.float64) for each in (fitted.params, fitted.bse)]
        return found[0], found[1]

    def score_test(
        self,
        features: Sequence[str] | str | None = None,
        products: str | None = None,
        *,
        unit: str = "term",
        min_count: int = 2,
        n_jobs: int = 1,
        pvalue: str = "auto",
        n_permutations: int = 999,
        random_state: RandomState = None,
        refit: bool | str = "auto",
    ) -> EdgeTests:
        """Test every feature–label edge with Rao's score statistic, without refitting.

        Parameters
        ----------
        features : sequence of str, optional
            The terms to test (columns, with ``unit="column"``); all of them if omitted.
        products : {None, "individual", "joint", "given", "given-joint"}
            Test features alone; also their products with every other label, each by itself; or
            each feature together with all its products, as one test per label. With ``"given"``
            there is one test per pair of labels: whether the feature changes their association,
            adjusted for the feature itself. With ``"given-joint"`` there is one test per label:
            whether the feature changes its association with any other label.
        unit : {"term", "column"}
            Test variables as a whole: a number, or all columns of a category, a spline or another
            formula term, with as many degrees of freedom. Or test single columns, each adjusted
            for the other columns of its term.
        min_count : int
            Labels with fewer rows of one kind among those that carry information are not
            tested, reason ``too-rare``. With one such row a statistic tells of that row alone.
            Without an intercept all rows that carry information count.
        n_jobs : int
            Threads that permute; −1 for one per core.
        pvalue : {"auto", "chi2", "saddlepoint", "permutation"}
            Where p-values come from. ``"auto"`` takes the chi-square distribution where the
            cumulants of a score show that it holds, and a saddlepoint approximation elsewhere;
            where the rows say little for the number of coefficients of a label's model, and under
            a penalty, variances are scaled to what residuals vary by. ``"saddlepoint"``
            approximates all of statistics above 4, and permutations are a slow reference; both
            need the rows of the data. Products are treated like features. Tests of several
            columns, which are joint tests and terms, refer to a mixture of noncentral chi-square
            distributions, over the outcomes of the rows that matter most, where chi-square does
            not hold, and below 1e-6 to a saddlepoint approximation that is too large rather than
            too small; joint tests also to permutations. Given the feature, outcomes have the
            probabilities of the model that has it. Robust fits have large-sample p-values, but
            single features have the variance of the label model (times a design effect, with
            clusters) where few rows decide. Terms without rows have large-sample p-values. The
            column ``pvalue_method`` of `EdgeTests.to_frame` says what was used for each edge.
        n_permutations : int
            How many permutations.
        random_state : int, Generator or None
            Source of the permutations.
        refit : {"auto", True, False}
            For products given their feature: whether the models that have the feature are fitted
            to the rows, or one Newton step is taken towards them. ``"auto"`` fits all of them
            where that is a matter of seconds (20 million rows times edges), and otherwise those
            whose feature has a statistic above 4 itself. Without rows, with ``penalty="firth"`` and
            with robust errors it takes the step, which comes near where the feature's own effect
            is weak and the feature not very skewed; without rows and for Firth a warning says
            where it may not. The note says how many were fitted.

        Returns
        -------
        EdgeTests
            Statistics, p-values and reasons, features × labels.

        Notes
        -----
        Labelsets at which a label is certain take no part. Under a penalised null model the
        penalty's own gradient is taken out of the score; p-values are then approximate.

        References
        ----------
        .. [1] Rao, C. R. (1948). Large sample tests of statistical hypotheses concerning
           several parameters. *Proc. Cambridge Phil. Soc.* 44, 50–57.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> res.score_test().loc["bmi", "diabetes"].reason
        'ok'
        >>> joint = res.score_test(products="joint")
        >>> joint.df.loc["deprivation_decile", "asthma"]
        np.float64(6.0)
        """
        known = unit if self._has_wide_terms else "column"
        self._say_how_much_is_known(pvalue, products, known)
        return self._test_edges(
            features,
            products,
            unit=unit,
            min_count=min_count,
            n_jobs=n_jobs,
            pvalue=pvalue,
            n_permutations=n_permutations,
            random_state=random_state,
            refit=refit,
        )

    def _test_edges(
        self,
        features: Sequence[str] | str | None = None,
        products: str | None = None,
        *,
        unit: str = "term",
        min_count: int = 2,
        pvalue: str = "auto",
        refit: bool | str = "auto",
        **chance: Any,
    ) -> EdgeTests:
        """Do what `score_test` does, without a word on what p-values are worth."""
        check_option("unit", unit, UNITS)
        same_units = unit == "term" or tuple(self.model.terms) == self.feature_names
        if same_units and (products, min_count, pvalue) == (None, 2, "auto"):
            edges = self._default_edges
            return edges if features is None else edges.take(features)
        options: dict[str, Any] = {"min_count": min_count, "pvalue": pvalue, "refit": refit}

        def test(res: IsingResults, names: Sequence[str] | None, unit: str) -> EdgeArrays:
            return score_test(res._fit, names, unit, products, **options, **chance)

        return self._test_units(features, unit, test)

    def check_calibration(
        self,
        n_permutations: int = 100,
        *,
        min_count: int = 2,
        pvalue: str = "auto",
        combine: str = DEFAULT_COMBINE,
        levels: Sequence[float] = (0.05, 0.01, 0.001),
        random_state: RandomState = None,
    ) -> CalibrationResults:
        """Check on these data how often score tests find features that do nothing.

        Rows of all features are permuted together, so that they keep their distributions and
        their dependence on each other and lose any effect; then every column is tested. With
        covariates rows are permuted within their categories, and within shares of equal size of
        their numbers; with clusters, whole clusters. The label models stay as they are.

        Parameters
        ----------
        n_permutations : int
            How many permutations of all features.
        min_count, pvalue
            As `score_test` takes them.
        combine : {"acat", "sum", "omnibus"}
            How p-values of features are made; see `EdgeTests.feature_pvalues`.
        levels : sequence of float
            Levels at which p-values are counted.
        random_state : int, Generator or None
            Source of the permutations.

        Returns
        -------
        CalibrationResults
            Shares of small p-values over their levels, per label, of all edges and of features,
            with Monte-Carlo errors and a summary.

        Raises
        ------
        ModelError
            When the model holds no rows, when rows stand for several observations, or when there
            are too many covariates to permute within.

        Notes
        -----
        A permuted feature is independent of all labels (given the strata of the covariates), which
        is more than the null of a test says. What depends on how a feature and the labels are
        associated cannot be seen in it.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> check = res.check_calibration(50, random_state=0)
        >>> check.to_frame().set_index(["label", "level"]).loc[("(all edges)", 0.05), "verdict"]
        'holds'
        """
        return check_calibration(
            self._fit,
            n_permutations,
            levels,
            combine,
            random_state,
            min_count=min_count,
            pvalue=pvalue,
        )

    def wald_test(
        self,
        features: Sequence[str] | str | None = None,
        products: str | None = None,
        *,
        unit: str = "term",
        min_count: int = 2,
        n_jobs: int = 1,
    ) -> EdgeTests:
        """Test edges with Wald's statistic: fit the larger model and divide by the error.

        Parameters
        ----------
        features, products, unit, min_count
            As `score_test` takes them.
        n_jobs : int
            Threads to use; −1 for one per core.

        Returns
        -------
        EdgeTests
            Statistics, p-values and reasons; of single features also effects, in ``params`` and
            ``bse``. Where the feature separates the label the effect is infinite and there is no
            statistic, reason ``separated-alternative``.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> res.wald_test(["bmi"])["bmi"].loc["diabetes", ["coef", "bse"]].astype(float).round(3)
        coef    0.136
        bse     0.020
        Name: diabetes, dtype: float64
        """
        return self._refit_test("wald", features, products, unit, min_count, n_jobs)

    def lr_test(
        self,
        features: Sequence[str] | str | None = None,
        products: str | None = None,
        *,
        unit: str = "term",
        min_count: int = 2,
        n_jobs: int = 1,
        penalty: str | None = None,
    ) -> EdgeTests:
        """Test edges with the likelihood ratio: fit the larger model and compare.

        Parameters
        ----------
        features, products, unit, min_count
            As `score_test` takes them.
        n_jobs : int
            Threads to use; −1 for one per core.
        penalty : {None, "firth"}
            ``"firth"`` compares likelihoods with Jeffreys' prior, of single features, however the
            label models were fitted: for rare labels and rare features, where plain likelihood
            ratios are far too small. Nothing is separated then, and all rows count. Both models
            have the design of the larger one: under the null the coefficient of the feature is
            held at zero, and the feature stays in the information, as in R's logistf.

        Returns
        -------
        EdgeTests
            Statistics, p-values and reasons; of single features also effects, in ``params`` and
            ``bse``. Where the feature separates the label the statistic is that of the limit,
            reason ``separated-alternative``.

        Raises
        ------
        ModelError
            When the fit has robust errors: a likelihood ratio knows of none.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> res.lr_test(["bmi"]).loc["bmi", "diabetes"].pvalue < 1e-9
        True
        >>> res.lr_test(["bmi"], penalty="firth").loc["bmi", "diabetes"].pvalue < 1e-9
        True
        """
        check_option("penalty", penalty, (None, "firth"))
        if penalty is not None:
            if products is not None:
                raise exc.DataError("penalty='firth' is for features alone: leave products out.")
            return self._test_units(features, unit, partial(_firth_test, min_count, n_jobs))
        return self._refit_test("lr", features, products, unit, min_count, n_jobs)

    def _refit_test(
        self,
        test: str,
        features: Sequence[str] | str | None,
        products: str | None,
        unit: str,
        min_count: int,
        n_jobs: int,
    ) -> EdgeTests:
        """Test edges by fitting larger models."""
        self._say_how_much_is_known("chi2")

        def run(res: IsingResults, names: Sequence[str] | None, unit: str) -> EdgeArrays:
            options: dict[str, Any] = {"min_count": min_count, "n_jobs": n_jobs}
            arrays = refit_test(res._fit, test, names, unit, products, **options)
            return pool_wald(res._fit, arrays, n_jobs) if products == "given" else arrays

        return self._test_units(features, unit, run)

    def compare_tests(self, feature: str, products: str | None = None) -> pd.DataFrame:
        """Put the score, likelihood-ratio and Wald tests of one feature side by side.

        Parameters
        ----------
        feature : str
            The feature.
        products : {None, "joint"}
            Test the feature alone, or together with all its products with other labels.

        Returns
        -------
        DataFrame
            One row per label: statistics, degrees of freedom, p-values and the reason why a test
            is impossible. With robust errors there is no likelihood ratio.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> res.compare_tests("bmi").loc["diabetes", ["score", "lr", "wald"]].astype(float).round(1)
        score    48.7
        lr       50.2
        wald     46.2
        Name: diabetes, dtype: float64
        """
        return compare_tests(self._fit, self.score_test(feature, products).arrays)

    def compare_lr_test(self, restricted: IsingResults) -> pd.DataFrame:
        """Compare this fit with a restricted one of the same rows, label by label.

        Parameters
        ----------
        restricted : IsingResults
            A fit with fewer labels or fewer covariates, or without intercept.

        Returns
        -------
        DataFrame
            One row per label that both have: statistic, degrees of freedom and p-value.

        Examples
        --------
        Does asthma matter to the other conditions?

        >>> import isingmlc as im
        >>> labels = im.datasets.load_example().labels
        >>> full = im.IsingModel(labels).fit()
        >>> restricted = im.IsingModel(labels.drop(columns="asthma")).fit()
        >>> full.compare_lr_test(restricted).loc["depression"].round(4)
        statistic    9.5466
        df           1.0000
        pvalue       0.0020
        Name: depression, dtype: float64
        """
        if not isinstance(restricted, IsingResults):
            raise exc.DataError(
                f"restricted must be IsingResults, but is {type(restricted).__name__}."
            )
        return compare_lr_test(self._fit, restricted._fit)

    def rank_features(
        self, method: str = "score", *, unit: str = "term", **options: Any
    ) -> FeatureRanking:
        """Rank the features by how much they matter to the labels.

        Parameters
        ----------
        method : str
            How importance is measured; `isingmlc.rank_features` lists the methods. Those that
            need label models use this fit.
        unit : {"term", "column"}
            Rank single columns, or formula terms as a whole (``score`` only).
        **options
            Options of the method.

        Returns
        -------
        FeatureRanking
            The features, best first.

        See Also
        --------
        isingmlc.rank_features : the same from labels and features.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> res.rank_features().top(2)
        ('age', 'bmi')
        >>> moving = res.rank_features(method="products")
        >>> moving.to_frame().loc["deprivation_decile", "strongest_pair"]
        'depression × asthma'
        """
        from isingmlc.ranking.methods import find_method

        found = find_method(method, options, unit)
        return found.run(self if found.needs_fit else self.model, options, unit)

    # What a person reads and sees

    def summary(self, alpha: float = 0.05, *, exponentiate: bool = False) -> IsingSummary:
        """Summarise the fit as text, HTML, LaTeX or CSV.

        Parameters
        ----------
        alpha : float
            One minus the level of the confidence intervals.
        exponentiate : bool
            Give odds ratios instead of coefficients.

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

        return summarize(self, alpha, exponentiate)

    def to_frame(self, alpha: float = 0.05, *, exponentiate: bool = False) -> pd.DataFrame:
        """Return all coefficients with their standard errors, tests and intervals.

        Parameters
        ----------
        alpha : float
            One minus the level of the confidence intervals.
        exponentiate : bool
            Give odds ratios, and their intervals, instead of coefficients and standard errors.

        Returns
        -------
        DataFrame
            One row per label and term of its model, whether finite or not.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> frame = im.IsingModel(data.labels).fit().to_frame()
        >>> frame.loc[("diabetes", "hypertension")].round(3)
        coef       1.235
        std err    0.173
        z          7.120
        P>|z|      0.000
        [0.025     0.895
        0.975]     1.575
        Name: (diabetes, hypertension), dtype: float64
        """
        limits = self.conf_int(alpha)
        columns = {
            "coef": self.params,
            "std err": self.bse,
            "z": self.zvalues,
            "P>|z|": self.pvalues,
        }
        index = pd.MultiIndex.from_product([self._labels, self._terms], names=limits.index.names)
        # Column after column: label by label.
        long = {name: cells.to_numpy().ravel(order="F") for name, cells in columns.items()}
        frame = ResultTable(long, index).loc[limits.index]
        ends = f"[{float(alpha) / 2:g}", f"{1 - float(alpha) / 2:g}]"
        frame = frame.assign(**dict(zip(ends, (limits["lower"], limits["upper"]), strict=True)))
        if not exponentiate:
            return frame
        frame[["coef", *ends]] = np.exp(frame[["coef", *ends]])
        return frame.drop(columns="std err").rename(columns={"coef": "odds ratio"})

    def plot_network(
        self,
        feature: str | None = None,
        *,
        edges: EdgeTests | None = None,
        alpha: float = 0.05,
        adjust: str | None = "fdr_bh",
        insignificant: str = "dashed",
        ax: Axes | None = None,
        **look: Unpack[LookOptions],
    ) -> Axes:
        """Draw the network around one feature.

        The feature stands in the centre. Its edge to a label carries the statistic, is the wider
        the larger the square root of it, and shows by colour and mark whether the feature goes
        with (▲) or against (▼) the label. Lines between labels show their interactions.

        Parameters
        ----------
        feature : str
            The feature; `plot_label_network` draws the labels alone.
        edges : EdgeTests, optional
            Tests of the edges; `score_test` if omitted.
        alpha : float
            Edges with an adjusted p-value up to this are significant.
        adjust : str or None
            How p-values are adjusted, over all edges; see `EdgeTests.to_frame`.
        insignificant : {"dashed", "hide"}
            What is done with edges that are not significant.
        ax : Axes, optional
            Where to draw; a new figure if omitted.
        **look
            How it is to look, as `plot_label_network` takes it. Without `min_weight` the strongest
            interactions are drawn, as many as there are labels but at least 12. Nodes show what
            was found, so that communities and colours surround them; ``edge_labels=False`` leaves
            statistics out, and `names` may name the feature too.

        Returns
        -------
        Axes
            The picture.

        Raises
        ------
        DataError
            When there is no such feature, or an argument is out of range.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> ax = res.plot_network("smoker")
        >>> ax.figure.savefig("smoker.png")  # doctest: +SKIP
        """
        from isingmlc.plots import plot_network

        return plot_network(
            self,
            feature,
            edges=edges,
            alpha=alpha,
            adjust=adjust,
            insignificant=insignificant,
            ax=ax,
            **look,
        )

    def plot_networks(
        self,
        features: Sequence[str] | str = "extremes",
        *,
        edges: EdgeTests | None = None,
        alpha: float = 0.05,
        adjust: str | None = "fdr_bh",
        insignificant: str = "dashed",
        axes: Sequence[Axes] | npt.NDArray[np.object_] | None = None,
        **look: Unpack[LookOptions],
    ) -> npt.NDArray[np.object_]:
        """Draw the networks around several features side by side, in the same layout and scale.

        Parameters
        ----------
        features : sequence of str or "extremes"
            The features; ``"extremes"`` are the most and the least important one.
        edges, alpha, adjust, insignificant
            See `plot_network`.
        axes : sequence of Axes, optional
            Where to draw, one per feature; a new figure if omitted.
        **look
            As `plot_network` takes it; the title stands above all.

        Returns
        -------
        ndarray of Axes
            The pictures, one per feature.

        Raises
        ------
        DataError
            When features are none or unknown, or an argument is out of range.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> len(res.plot_networks(["bmi", "smoker", "exercise_hours"]))
        3
        """
        from isingmlc.plots import plot_networks

        return plot_networks(
            self,
            features,
            edges=edges,
            alpha=alpha,
            adjust=adjust,
            insignificant=insignificant,
            axes=axes,
            **look,
        )

    def plot_label_network(self, *, ax: Axes | None = None, **look: Unpack[LookOptions]) -> Axes:
        """Draw the interactions between labels.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure if omitted.
        layout : {"circle", "cluster", "spring"}, mapping or Axes
            Labels on a circle in their order; on a circle, tied labels side by side; or pulled
            together by their ties, unconnected parts beside each other and single labels below.
            Or where each label stands, as a mapping to coordinates x, y, or as the axes of another
            picture: labels stand exactly there, and names where there is room. (Around a feature,
            labels move if one of them would be covered.)
        communities : mapping, Series or sequence, optional
            As `IsingResults.centrality` takes them, shown by colours.
        colors : mapping of str to color, or sequence, optional
            Colours of labels, or of communities; a list has one per label, in their order.
        names : mapping of str to str, or sequence, optional
            Names to show instead of those of the labels; a list has one per label, in their order.
        node_size : {"alone", "prevalence", "strength"}, mapping, Series or None
            What the areas of nodes grow with: how likely a label is alone (if nothing is said;
            with covariates, on whose values that depends, nodes are of one size), how often it
            occurs, the sum of its absolute interactions, or given numbers by label, such as a
            measure of `centrality`. None makes all alike.
        edge_labels : bool
            Whether interactions are written on their lines; False if omitted.
        min_weight : float
            Interactions above it in absolute value are drawn; all if omitted.
        max_weight : float, optional
            The interaction that has the widest line; the largest one if omitted. Networks that are
            drawn with the same one can be compared.
        title : str, optional
            What stands above the picture instead of a count of interactions.

        Returns
        -------
        Axes
            The picture. Infinite interactions are dotted and all of one width.

        Raises
        ------
        DataError
            When there is no such argument, or it does not fit the labels.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> ax = res.plot_label_network(min_weight=0.3)
        >>> ax.get_title()
        'Interactions of 6 labels (9 of 15 pairs above 0.3)'

        Another network in the same places and on the same scale:

        >>> sparse = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
        >>> sparse.plot_label_network(layout=ax, max_weight=1.0, title="EBIC").get_title()
        'EBIC'
        """
        from isingmlc.plots import plot_label_network

        return plot_label_network(
            self.interactions,
            None if self.adjusted_for else self.thresholds,
            self.diagnostics["prevalence"],
            adjusted_for=self.adjusted_for,
            ax=ax,
            **look,
        )

    def plot_at(
        self,
        values: Mapping[str, Any],
        *,
        axes: Sequence[Axes] | npt.NDArray[np.object_] | None = None,
        **look: Unpack[LookOptions],
    ) -> npt.NDArray[np.object_]:
        """Draw the network at several values of a moderator side by side, on one scale.

        Parameters
        ----------
        values : mapping of str to number, str or list
            Moderators as `at` takes them, one of them with a list of values.
        axes : sequence of Axes, optional
            Where to draw, one per value; a new figure if omitted.
        **look
            As `plot_label_network` takes it; the title stands above all.

        Returns
        -------
        ndarray of Axes
            The pictures, one per value.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, covariates=data.features[["age"]]).fit()
        >>> len(res.plot_at({"age": [30, 50, 70]}))
        3
        """
        from isingmlc.plots import plot_networks_at

        networks = [self.at(point) for point in spread_values(values)]
        return plot_networks_at(networks, axes=axes, **look)

    def plot_diagnostics(self, *, ax: Axes | None = None) -> Axes:
        """Draw what limits the tests of each label: rows with information, separation, rarity.

        A bar shows the share of rows that carry information: those at which the label is not
        certain given the others. A mark shows how often the label occurs. On the right stands the
        smallest variance p(1−p) of its fitted probabilities, at most a quarter: near zero some
        rows tell little.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure if omitted.

        Returns
        -------
        Axes
            The picture, one row per label.

        Examples
        --------
        >>> import isingmlc as im
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.plot_diagnostics().get_xlabel()
        'share of rows'
        """
        from isingmlc.plots import plot_diagnostics

        return plot_diagnostics(self, ax=ax)

    def report(
        self,
        path: str | os.PathLike[str] = "report.html",
        *,
        edges: EdgeTests | None = None,
        ranking: FeatureRanking | None = None,
        bootstrap: NetworkBootstrap | None = None,
        dropping: CaseDropping | None = None,
        alpha: float = 0.05,
        adjust: str | None = "fdr_bh",
        top: int = 2000,
        pairs: int | None = None,
        title: str | None = None,
    ) -> Path:
        """Write an interactive report to one HTML file that opens without a connection.

        It has a table of the features, or of the edges of a label or of those that a search finds,
        with odds ratios, that can be sorted; the network of the chosen feature, the pairs of labels
        that it moves, a heat map of all edges, the network of the labels, how sure it is, the
        summary, what needs attention, the settings and versions, and all tables as CSV.

        Parameters
        ----------
        path : path-like
            Where to; a file that is there is replaced.
        edges : EdgeTests, optional
            Tests of the edges; `score_test` if omitted.
        ranking : FeatureRanking, optional
            Order and p-values of the features; by the sum of their statistics if omitted.
        bootstrap : NetworkBootstrap, optional
            What `bootstrap` gave, for what other samples say of pairs and of ranks of features.
        dropping : CaseDropping, optional
            What `drop_cases` gave, for CS-coefficients.
        alpha : float
            Features and edges with an adjusted p-value up to this are significant; one minus the
            level of the confidence intervals in the summary.
        adjust : str or None
            How p-values are adjusted, over all features and over all edges; see
            `EdgeTests.to_frame`.
        top : int
            How many features the report holds, the most important ones.
        pairs : int, optional
            How many pairs of labels are kept for each feature; 0 for none. If omitted, ten, of the
            best features alone if there are very many products of features and labels to test.
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
        DataError
            When an argument is out of range, or `edges` or `ranking` belong to other data.
        ModelError
            When Bokeh is not installed.

        Notes
        -----
        The file holds Bokeh's script (about 1.3 MB) and, compressed, five numbers per edge, each of
        five digits or more. It asks nothing of the network, and the same fit gives the same file.

        The page names what a formula made as people do, ``sex: f`` for ``C(sex)[T.f]``; CSV files
        and the summary have the exact names. In the file of pairs ``direction`` says whether the
        tie of the two labels grows with the feature (``with``), falls (``against``), or whether
        the product in the model of one label disagrees with that of the other (``mixed``).

        Examples
        --------
        >>> import isingmlc as im, tempfile
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     res.report(f"{folder}/conditions.html").name
        'conditions.html'
        """
        from isingmlc.report.data import ReportOptions, gather
        from isingmlc.report.writing import load_part

        target = as_path("path", path)
        options = ReportOptions(alpha, adjust, top, pairs, title)
        page = load_part("page")
        page.write_report(gather(self, options, edges, ranking, bootstrap, dropping), target)
        return target

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
        fields = {
            "settings": self.settings,
            "statistics": take_apart(self.model.statistics),
            "terms": self.model.terms,
            "fits": self.fits,
            "shared": self._shared,
        }
        write_fields(path, "IsingResults", fields)

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

        fields = read_fields(path, "IsingResults")
        stats = put_together(fields["statistics"])
        settings = FitSettings(**fields["settings"])
        fits = tuple(NodeFit(**fit) for fit in fields["fits"])
        shared = None if fields["shared"] is None else SharedFit(**fields["shared"])
        model = IsingModel._restore(stats, settings.intercept, fields["terms"])
        return cls(model, settings, fits, shared=shared)

    def remove_data(self) -> IsingResults:
        """Return the same results without the rows of the data.

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
        return IsingResults(
            self.model.without_data(), self.settings, self.fits, shared=self._shared
        )

    # Inside

    @property
    def _labels(self) -> pd.Index:
        return pd.Index(self.label_names)

    @property
    def _terms(self) -> pd.Index:
        columns = self.model.statistics.context.column_names
        names = ["const", *self.label_names, *columns]
        return pd.Index(names[0 if self.settings.intercept else 1 :])

    def _by_node(self, columns: list[FloatArray]) -> pd.DataFrame:
        values = np.column_stack(columns)[0 if self.settings.intercept else 1 :]
        return ResultTable(values, self._terms, self._labels)


def _firth_test(
    min_count: int, n_jobs: int, res: IsingResults, names: Sequence[str] | None, unit: str
) -> EdgeArrays:
    """Compare Firth likelihoods of features of one column."""
    if unit == "term":
        raise exc.DataError(
            "penalty='firth' is for terms of one column, but some have several. Name others, or "
            "use lr_test(unit='column', penalty='firth')."
        )
    return firth_lr_test(res._fit, names, min_count=min_count, n_jobs=n_jobs)
