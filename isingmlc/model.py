"""`IsingModel`: labels and features in, `IsingResults` out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import patsy

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count, check_jobs, check_option, check_penalty
from isingmlc.base.arrays import BoolArray, dense
from isingmlc.base.readonly import ReadOnly
from isingmlc.fitting.design import Regressors
from isingmlc.fitting.ebic import fit_paths
from isingmlc.fitting.joint import check_symmetric, fit_symmetric
from isingmlc.fitting.neighbors import find_neighbors
from isingmlc.fitting.nodewise import (
    FitSettings,
    NodeFit,
    find_aliases,
    fit_nodes,
)
from isingmlc.fitting.pseudo import SHARED
from isingmlc.fitting.reasons import describe_skips, find_constant
from isingmlc.input.context import Context
from isingmlc.input.formula import read_formula
from isingmlc.input.rows import (
    ModelData,
    add_groups,
    prepare,
    require_rows,
    scale_rows,
)
from isingmlc.input.sampling import SAMPLING_WEIGHTS
from isingmlc.results.ising import IsingResults
from isingmlc.results.regularized import RegularizedIsingResults
from isingmlc.statistics.dependence import COV_TYPES
from isingmlc.statistics.labelsets import (
    MAX_BESIDE_ROWS,
    LabelsetStatistics,
    describe_cells,
    in_memory,
    scale_sampling,
    sum_rows,
)

# Shares of a weight below this are rounding.
_WHOLE = 1e-9
# From fewer clusters than this errors are hardly known.
_FEWEST_CLUSTERS = 5
# What people who look for sparse networks ask fit() for.
METHODS = ("nodewise", *SHARED)
_SPARSE = ("ebic", "l1", "lasso", "eLasso", "glmnet", "IsingFit")


class IsingModel(ReadOnly):
    r"""Ising model (Markov network) of binary labels, with features to be tested against it.

    Parameters
    ----------
    labels : array_like, DataFrame, list of Series or sparse, shape (n, K), or Dataset
        The labels, coded 0/1 (or boolean). A `Dataset` brings its features and their names along.
    features : array_like, DataFrame, list of Series or sparse, shape (n, p), optional
        The features: numbers, booleans or, in a frame, categories (text, or pandas' categorical
        columns, whose first level is the reference). A category is one variable: it is tested,
        ranked and selected as a whole. Sparse features stay sparse.
    covariates : array_like, DataFrame, list of Series or sparse, shape (n, c), optional
        Columns that every label model has besides the other labels, such as age and sex: numbers,
        booleans or categories (text, or pandas' categorical columns). They are not tested; every
        test of a feature is given them. A category becomes one 0/1 column per level but the first.
    intercept : bool
        Whether each label has a threshold of its own. Without one the formulas are those of [1]_
        to the letter.
    freq_weights : array_like, shape (n,), optional
        How many observations each row stands for; rows that stand for none are left out.
    groups : array_like, shape (n,), optional
        The cluster of dependent rows that each row belongs to, such as a practice or a person:
        numbers or text. `fit` then takes its errors and tests from clusters.
    sampling_weights : array_like, shape (n,), optional
        Inverse probabilities of being drawn, up to a factor: they are scaled to a mean of one.
        Models are fitted with them, and errors and tests are always robust. With `freq_weights` a
        row stands for so many observations of that weight.
    missing : {"raise", "drop"}
        What to do with rows that have missing values in any column, or a missing weight or cluster.
    label_names, feature_names, covariate_names : sequence, optional
        Names, where the data carry none (they are written as text). Without names columns are
        called ``y1…``, ``x1…`` and ``c1…``.

    Attributes
    ----------
    statistics : LabelsetStatistics
        What the fit and every score test are computed from.
    data : ModelData or None
        The rows; None for a model made from statistics alone.
    label_names, feature_names, covariate_names : tuple of str
        Names.
    terms : mapping of str to tuple of str
        Variables and the columns of each: a number has one, a category one per level but the
        first, a spline or another formula term several.
    nobs : float
        Observations, weighted.
    intercept : bool
        Whether each label has a threshold.

    See Also
    --------
    IsingModel.from_formula : take labels and features from a frame.
    IsingModel.from_statistics : fit without rows.

    Notes
    -----
    The model is :math:`P(y) \propto \exp(\sum_k \theta_k y_k + \sum_{k<l} \beta_{kl} y_k y_l)`.
    Given the other labels, the log-odds of :math:`y_k` are
    :math:`\theta_k + \sum_{l \ne k} \beta_{kl} y_l`, a logistic regression that does not involve
    the normalising constant. `fit` estimates these K regressions. Covariates c add
    :math:`\sum_m \gamma_{km} c_m` to the log-odds; then the thresholds are those where all
    covariates are zero. Constant covariates are left out with a warning. A feature that is also a
    covariate, or that labels and covariates explain, has the reason ``collinear-feature``.

    References
    ----------
    .. [1] Teisseyre, P. (2016). Feature ranking for multi-label classification using Markov
       networks. *Neurocomputing*. arXiv:1602.07464.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> model = im.IsingModel(data.labels, data.features)
    >>> model
    IsingModel(1500 observations, 6 labels, 30 features, 55 labelsets)
    >>> model.fit().interactions.round(2).iloc[:2, :2]
                  hypertension  diabetes
    hypertension          0.00      1.24
    diabetes              1.24      0.00
    """

    statistics: LabelsetStatistics
    data: ModelData | None
    intercept: bool
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    covariate_names: tuple[str, ...]
    nobs: float
    _terms: dict[str, tuple[str, ...]]
    # Whether p-values come of it, so that labels the rows say little about are worth a warning.
    _for_tests: bool = True

    def __init__(
        self,
        labels: Any,
        features: Any = None,
        *,
        covariates: Any = None,
        intercept: bool = True,
        freq_weights: Any = None,
        groups: Any = None,
        sampling_weights: Any = None,
        missing: str = "raise",
        label_names: Sequence[object] | None = None,
        feature_names: Sequence[object] | None = None,
        covariate_names: Sequence[object] | None = None,
    ) -> None:
        data = prepare(
            labels,
            features,
            covariates=covariates,
            freq_weights=freq_weights,
            groups=groups,
            sampling_weights=sampling_weights,
            missing=missing,
            label_names=label_names,
            feature_names=feature_names,
            covariate_names=covariate_names,
        )
        self._set_up(data, intercept)

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: pd.DataFrame,
        *,
        covariates: str | None = None,
        intercept: bool = True,
        freq_weights: Any = None,
        groups: Any = None,
        sampling_weights: Any = None,
        missing: str = "raise",
    ) -> IsingModel:
        """Make a model from a formula and a frame.

        Parameters
        ----------
        formula : str
            Labels left of ``~``, features right of it, as in statsmodels. A term that makes
            several columns (a category, a spline) is remembered in `terms`.
        data : DataFrame
            Where the names are looked up. Functions are looked up where this is called.
        covariates : str, optional
            Terms of the columns that every label model has besides the other labels, as in a
            formula: ``"age + C(sex) + bs(bmi, df=4)"``.
        intercept : bool
            Whether each label has a threshold; constants in the formula are not features.
        freq_weights : str or array_like, optional
            A column of `data`, or one weight per row of it.
        groups : str or array_like, optional
            A column of `data` with the cluster of each row, or one cluster per row of it.
        sampling_weights : str or array_like, optional
            A column of `data` with inverse probabilities of being drawn, or one per row of it.
        missing : {"raise", "drop"}
            What to do with rows that have missing values in columns that the formula uses.

        Returns
        -------
        IsingModel
            The model.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> frame = data.labels.join(data.features)
        >>> model = im.IsingModel.from_formula(
        ...     "hypertension + diabetes + depression ~ bmi + C(smoker)", frame
        ... )
        >>> dict(model.terms)
        {'bmi': ('bmi',), 'C(smoker)': ('smoker: 1 vs 0',)}

        What bmi and smoking add, given age:

        >>> model = im.IsingModel.from_formula(
        ...     "hypertension + diabetes + depression ~ bmi + C(smoker)",
        ...     frame,
        ...     covariates="bs(age, df=4)",
        ... )
        >>> model.fit().score_test().statistics.loc["bmi"].round(1).tolist()
        [24.5, 50.6, 0.0]
        """
        check_option("missing", missing, ("raise", "drop"))
        environment = patsy.EvalEnvironment.capture(1)
        drawn = groups, sampling_weights
        parts = read_formula(formula, data, missing, environment, freq_weights, covariates, *drawn)
        rows = prepare(
            parts.labels,
            parts.features,
            covariates=parts.covariates,
            freq_weights=parts.weights,
            groups=parts.sampling,
            terms=parts.terms,
            n_dropped=parts.n_dropped,
        )
        return cls._from_rows(replace(rows, recipe=parts.recipe), intercept)

    @classmethod
    def from_statistics(cls, stats: LabelsetStatistics, *, intercept: bool = True) -> IsingModel:
        """Make a model from labelset statistics, without rows.

        Parameters
        ----------
        stats : LabelsetStatistics
            The statistics.
        intercept : bool
            Whether each label has a threshold. Without one the features are measured from zero,
            which costs digits where a feature's mean is large against its spread.

        Returns
        -------
        IsingModel
            The model; what needs rows says so.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> stats = im.LabelsetStatistics.from_arrays(data.labels, data.features)
        >>> im.IsingModel.from_statistics(stats).fit().nobs
        1500.0
        """
        if not isinstance(stats, LabelsetStatistics):
            raise exc.DataError(
                f"stats must be LabelsetStatistics, but is {type(stats).__name__}. Make them with "
                "LabelsetStatistics.from_arrays, or pass data to IsingModel."
            )
        stats = scale_sampling(stats)
        model = cls._restore(stats if intercept else stats.recenter(0.0), intercept)
        model._warn_about_data(stats)
        return model

    @classmethod
    def _restore(
        cls,
        stats: LabelsetStatistics,
        intercept: bool,
        terms: Mapping[str, tuple[str, ...]] | None = None,
    ) -> IsingModel:
        """Make a model again from what one was made from, without looking at it anew."""
        model = cls.__new__(cls)
        model._hold(stats, intercept, terms)
        return model

    @classmethod
    def _from_rows(
        cls,
        data: ModelData,
        intercept: bool = True,
        *,
        tests: bool = True,
        where: str = "every row",
    ) -> IsingModel:
        """Make a model of rows that passed the door; without `tests` no p-value comes of it."""
        model = cls.__new__(cls)
        model._set_up(data, intercept, where)
        model._fill(_for_tests=tests)
        return model

    def _set_up(self, data: ModelData, intercept: bool, where: str = "every row") -> None:
        data = scale_rows(data)
        # Without an intercept a score statistic depends on where a feature's zero is.
        shift = None if intercept else np.zeros(len(data.feature_names))
        stats = sum_rows(data, shift, MAX_BESIDE_ROWS, when_needed=True)
        self._hold(stats, intercept, data.terms, data)
        self._warn_about_data(stats, where)

    def _hold(
        self,
        stats: LabelsetStatistics,
        intercept: bool,
        terms: Mapping[str, tuple[str, ...]] | None = None,
        data: ModelData | None = None,
    ) -> None:
        check_option("intercept", intercept, (True, False))
        if "const" in (*stats.label_names, *stats.context.names):
            raise exc.DataError(
                "labels and covariates must not be called 'const', the name of the threshold in "
                "the tables. Rename the column."
            )
        varying = stats.context.find_varying(anywhere=bool(intercept))
        if len(varying) < len(stats.context):
            stats = replace(stats, context=stats.context.select(varying))
        self._fill(
            statistics=stats,
            data=data,
            intercept=bool(intercept),
            label_names=stats.label_names,
            feature_names=stats.feature_names,
            covariate_names=stats.context.names,
            _terms=dict(terms) if terms else _terms_of(stats),
            nobs=stats.nobs,
        )

    def _warn_about_data(self, given: LabelsetStatistics, where: str = "every row") -> None:
        """Say what is odd about the data, which may have covariates that the model left out."""
        stats = self.statistics
        _check_context(stats)
        positives = stats.counts @ stats.patterns
        minority = np.minimum(positives, stats.nobs - positives)
        names = np.array(self.label_names, dtype=object)
        if not minority.any():
            raise exc.DataError(
                exc.NO_LABEL_VARIES.format(n_labels=len(names), n_rows=stats.n_rows)
            )
        features = np.array(self.feature_names, dtype=object)
        constant = [name for name in given.context.names if name not in self.covariate_names]
        if not self._counts_are_whole():
            exc.warn(exc.NOT_WHOLE, exc.DataWarning)
        for template, concerned in (
            (exc.CONSTANT_COVARIATES, constant),
            (exc.CONSTANT_LABELS, names[minority == 0]),
            (exc.CONSTANT_FEATURES, features[self._constant_features()]),
        ):
            if len(concerned):
                message = template.format(names=exc.shorten(concerned), where=where)
                exc.warn(message, exc.DataWarning)

    def _counts_are_whole(self) -> bool:
        """Return whether frequency weights are whole numbers, as far as that can be seen."""
        data, stats = self.data, self.statistics
        counts, drawn = stats.counts, stats.sampling_weights
        if data is not None:
            drawn = data.context.sampled(SAMPLING_WEIGHTS)
            counts = np.ones(1) if data.weights is None else data.weights
        shares = counts if drawn is None else counts / drawn
        return bool((np.abs(shares - np.round(shares)) <= _WHOLE * np.maximum(shares, 1)).all())

    def _constant_features(self) -> BoolArray:
        """Mark the features that cannot be tested, from the rows where there are any."""
        if self.data is None:
            return find_constant(self.statistics, self.intercept)
        low, high = self.data.ends
        return np.asarray((low == high) & (self.intercept | (low == 0)))

    @property
    def terms(self) -> Mapping[str, tuple[str, ...]]:
        """Formula terms and their columns."""
        return MappingProxyType(self._terms)

    def __repr__(self) -> str:
        return (
            f"IsingModel({self.nobs:g} observations, {len(self.label_names)} labels, "
            f"{len(self.feature_names)} features, {describe_cells(self.statistics)})"
        )

    def fit(
        self,
        method: str = "nodewise",
        *,
        penalty: float | str | None = None,
        penalize_covariates: bool = False,
        neighbors: Any = None,
        cov_type: str | None = None,
        groups: Any = None,
        use_correction: bool = True,
        max_iter: int = 100,
        n_jobs: int = 1,
    ) -> IsingResults:
        r"""Fit the network of the labels: one logistic regression per label, or all at once.

        Parameters
        ----------
        method : {"nodewise", "joint", "pseudo"}
            ``"nodewise"``, the default, fits one logistic regression per label. ``"joint"`` and
            ``"pseudo"`` have one interaction per pair of labels, which both of its models share:
            by exact maximum likelihood of all labels together, for up to 20 of them, or by their
            joint pseudo-likelihood, for any number. See Notes.
        penalty : None, float or "firth"
            The penalty of nodewise fits. Without one, maximum likelihood gives the exact limit
            where labels are separated: infinite coefficients and certain rows, which no test can
            use. A number is a ridge penalty: half of it times the squared coefficients (thresholds
            and covariates are free). ``"firth"`` is Jeffreys' prior. Both keep every probability
            inside (0, 1), a ridge penalty unless covariates separate a label.
        penalize_covariates : bool
            Whether the ridge penalty is on the coefficients of covariates too, at unit variance.
            With chosen features as covariates these are the label models of `IsingClassifier`.
        neighbors : "ebic", int, or graph, optional
            Which other labels the model of each label has; all if omitted. ``"ebic"`` takes those
            that the network of `fit_regularized` (rule ``"or"``) links with it, a number so many
            labels that are most associated with it by their correlation, and a graph (a symmetric
            table or array of labels × labels, a networkx graph or a `RegularizedIsingResults`)
            those that are linked in it. See Notes.
        cov_type : {"nonrobust", "HC0", "HC2", "cluster"}, optional
            Where standard errors and the variances of scores come from: the label models
            themselves, squared residuals, squared residuals divided by one minus their leverage,
            or sums of scores within clusters of dependent rows. If omitted, ``"cluster"`` if there
            are groups, otherwise ``"HC0"`` if there are sampling weights, and ``"nonrobust"``
            else. See Notes.
        groups : array_like, shape (n,), optional
            The cluster of each row, for ``cov_type="cluster"``, if the model has none: one per row
            that was handed in, of which dropped rows lose theirs. The results then belong to a
            model that has them.
        use_correction : bool
            For clusters: whether covariances are multiplied by G / (G − 1) for G clusters, those
            of scores taken around the mean of the clusters, and tests and intervals refer to
            Student's t with G − 1 degrees of freedom (F for several columns). Otherwise none of
            these.
        max_iter : int
            Steps after which a fit is given up, with a warning.
        n_jobs : int
            Threads to use, some labels each; the fit does not depend on it.

        Returns
        -------
        IsingResults
            The fit; the model itself is not changed.

        Warns
        -----
        SeparationWarning, AliasingWarning, ConvergenceWarning
            Once each, naming the labels concerned.

        Notes
        -----
        With hundreds of labels most of them tell nothing about each other, and models of all of
        them cost time and information. With `neighbors` each label is explained, and features are
        tested, given fewer labels. That is another question: what a feature does to a label that
        was left out may then show as an effect on its neighbours. Labels that were chosen by the
        data are taken as given, so standard errors of interactions do not know of the choice.

        Errors that are not robust hold if rows are independent and the models right. With
        clusters of dependent rows they are too small, and tests of features that are alike within
        clusters reject far too often. ``"cluster"`` is the sandwich of [1]_; R's ``vcovCL`` has it
        with ``type="HC0"``, its ``cadjust`` is `use_correction`. Sampling weights with it give the
        errors of ``svyglm`` of R's survey package. Some 50 clusters are wanted, and no fewer than
        coefficients. ``"HC0"`` and ``"HC2"`` take rows for independent but trust no model of how
        residuals vary. They are not the default: of rare labels and rare features few residuals
        tell the variance, and with HC0 tests reject far too often.

        ``"joint"`` maximises the likelihood of :math:`P(y) \propto \exp(\sum_k \theta_k y_k +
        \sum_{k<l} \beta_{kl} y_k y_l)` itself, summed over all :math:`2^K` label vectors (those
        that have a probability in the limit, where some coefficients are infinite). Its standard
        errors are those of the information, and `IsingResults.goodness_of_fit` compares it with
        the table. It has no covariates. ``"pseudo"`` maximises the sum of the K log-likelihoods
        of labels given the others, with Godambe's sandwich errors [2]_, in which the labels of a
        row are a cluster; interactions that `neighbors` gives one of two labels are had by both.
        Where labels follow the model, an interaction is estimated once, from both of its labels;
        where they do not, it is that of the nearest such model. Score tests of features take
        probabilities from it, and what errors in them do to a score, to first order, is taken out:
        they come close to those of ``"nodewise"``.

        References
        ----------
        .. [1] Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized
           linear models. *Biometrika* 73, 13–22.
        .. [2] Varin, C., Reid, N. and Firth, D. (2011). An overview of composite likelihood
           methods. *Statistica Sinica* 21, 5–42.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit(penalty=1.0)
        >>> res.converged
        True

        Errors that mind that rows of a practice are alike, as if the example had twenty:

        >>> practice = [row % 20 for row in range(1500)]
        >>> res = im.IsingModel(data.labels, data.features).fit(groups=practice)
        >>> res.cov_type, res.score_test(["bmi"]).distribution
        ('cluster', 'F')

        One interaction per pair, by exact maximum likelihood:

        >>> res = im.IsingModel(data.labels).fit(method="joint")
        >>> res
        IsingResults(6 labels, joint, log-likelihood -3828.95)
        >>> res.params.loc["asthma", "depression"] == res.params.loc["depression", "asthma"]
        np.True_

        Each label given the two that are most associated with it:

        >>> res = im.IsingModel(data.labels, data.features).fit(neighbors=2)
        >>> (res.params != 0).sum().tolist()  # the threshold, the two, and itself (NaN)
        [4, 4, 4, 4, 4, 4]
        """
        if isinstance(method, str) and method in _SPARSE:
            raise exc.DataError(
                f"method={method!r} is that of sparse networks: fit_regularized() fits label "
                "models with l1 penalties that EBIC chooses. fit() has the methods "
                f"{exc.shorten(METHODS, 5)}."
            )
        check_option("method", method, METHODS)
        penalty = check_penalty(penalty)
        if penalty is not None and method != "nodewise":
            raise exc.DataError(
                f"penalty is for method='nodewise', but method is {method!r}. Leave one of them "
                "out."
            )
        model, kind_of_errors = choose_covariance(self, cov_type, groups)
        check_option("use_correction", use_correction, (True, False))
        if model is not self:
            return model.fit(
                method,
                penalty=penalty,
                neighbors=neighbors,
                cov_type=kind_of_errors,
                use_correction=use_correction,
                max_iter=max_iter,
                n_jobs=n_jobs,
            )
        check_option("penalize_covariates", penalize_covariates, (True, False))
        if penalize_covariates and not isinstance(penalty, float):
            raise exc.DataError(
                f"penalize_covariates is for a ridge penalty, but penalty is {penalty!r}. Leave it "
                "out, or fit(penalty=1.0, penalize_covariates=True)."
            )
        stats, chosen, kind = self.statistics, None, "all"
        if isinstance(neighbors, str) and neighbors == "ebic":
            chosen, kind = find_neighbors(stats, self.fit_regularized(rule="or")), "ebic"
        elif neighbors is not None:
            chosen = find_neighbors(stats, neighbors)
            kind = str(neighbors) if isinstance(neighbors, int | np.integer) else "given"
            if isinstance(neighbors, RegularizedIsingResults) and neighbors.model is self:
                kind = "l1"
        settings = FitSettings(
            method,
            penalty,
            self.intercept,
            check_count("max_iter", max_iter, 1),
            kind,
            kind_of_errors,
            bool(use_correction),
            bool(penalize_covariates),
        )
        results = self._fit_nodes(settings, chosen, check_jobs(n_jobs))
        self._warn_about_fit(results.fits, settings, results._fit.regressors)
        if kind_of_errors == "cluster":
            estimated = results.fits if results._shared is None else [results._shared]
            self._warn_about_clusters(max(len(each.basis) for each in estimated))
        return results

    def _fit_nodes(
        self, settings: FitSettings, neighbors: BoolArray | None, n_jobs: int = 1
    ) -> IsingResults:
        """Fit the label models without any warning; all other labels are neighbors if None."""
        stats, shared = self.statistics, None
        regressors = Regressors.of_statistics(stats, self.intercept)
        if settings.method in SHARED:
            # A pair that one of two labels chose is a pair of both.
            everyone = ~np.eye(len(self.label_names), dtype=np.bool_)
            pairs = everyone if neighbors is None else neighbors | neighbors.T
            check_symmetric(settings, pairs, stats.context)
            shared, fits = fit_symmetric(stats.patterns, stats.counts, settings, pairs, regressors)
        else:
            fits = fit_nodes(
                stats.patterns, stats.counts, settings, neighbors, n_jobs, regressors=regressors
            )
        return IsingResults(self, settings, fits, regressors, shared)

    def _with_covariates(self, columns: Sequence[str]) -> IsingModel:
        """Build the same model with some columns of the features as further covariates."""
        data = self._rows("tests and effects of single columns of a term")
        at = [self.feature_names.index(name) for name in columns]
        values = dense(data.features[:, at]).astype(np.float64)  # type: ignore[index]
        more = Context(values, tuple(columns), (None,) * len(at))
        rows = replace(data, covariates=data.context.beside(more))
        return self._of_rows(rows)

    def _of_rows(self, rows: ModelData) -> IsingModel:
        """Build a model of other rows of the same columns, without any warning."""
        shift = None if self.intercept else np.zeros(len(rows.feature_names))
        stats = sum_rows(rows, shift, MAX_BESIDE_ROWS, when_needed=True)
        model = IsingModel.__new__(IsingModel)
        model._hold(stats, self.intercept, rows.terms, rows)
        return model

    def fit_regularized(
        self,
        lam: Any = None,
        *,
        criterion: str = "ebic",
        gamma: float = 0.25,
        rule: str = "and",
        n_lambda: int = 100,
        features: bool = False,
        penalize_covariates: bool = False,
        max_iter: int = 100,
        whole_paths: bool = False,
    ) -> RegularizedIsingResults:
        r"""Fit a sparse network of the labels, one l1-penalised logistic regression per label.

        Parameters
        ----------
        lam : float, or one per label, optional
            Penalties :math:`\lambda` to use, a mapping or Series by label, or a list. Otherwise
            each label has a path of penalties, of which `criterion` chooses one.
        criterion : {"ebic", "bic", "aic"}
            What chooses the penalty of each label; the larger one where two are as good.
        gamma : float
            The parameter of EBIC: the larger, the sparser the network. 0 is BIC.
        rule : {"and", "or"}
            Whether an edge needs the coefficients of both labels to differ from zero, or of one.
            Its weight is their mean.
        n_lambda : int
            How many penalties a path has at most.
        features : bool
            Whether the label models have the features besides the other labels, penalised alike.
            That needs the rows of the data, and takes as much longer as there are more rows than
            labelsets.
        penalize_covariates : bool
            Whether the covariates of the model are penalised like labels. Otherwise they are in
            every label model without a penalty, like the threshold, whatever the penalty is.
        max_iter : int
            Newton steps after which a penalty is given up, with a warning.
        whole_paths : bool
            Whether paths go on where glmnet would end them because the deviance rises by less
            than 1e-5 of its whole, as with ``glmnet.control(fdev=0)`` in R.

        Returns
        -------
        RegularizedIsingResults
            The network; the model itself is not changed.

        Raises
        ------
        DataError
            When an argument is not one of those above.
        ModelError
            When the model has no intercept, or `features` needs rows that it does not hold.

        Warns
        -----
        DataWarning
            Naming labels with one row of one kind or none: they are left out.
        SeparationWarning
            Naming labels that unpenalised covariates make certain in part of the rows: their fits
            are the exact limits, on the other rows. Labels that are certain in every row have no
            fit. Also naming labels that are never 1 unless another is, or one of two: answers that
            were skipped and coded 0 give interactions that are due to the skip rule.
        AliasingWarning
            Naming unpenalised covariates that are linear functions of others.
        ConvergenceWarning
            Naming labels of which a penalty was not solved in `max_iter` steps.

        See Also
        --------
        IsingModel.fit : all interactions, with standard errors and tests.

        Notes
        -----
        For label k this is the minimum of

        .. math:: -\frac{1}{n} \ell_k(a, b) + \lambda \sum_j s_j |b_j|,

        with the log-likelihood :math:`\ell_k`, the standard deviations :math:`s_j` of the other
        labels and a free threshold a. Penalties go from the smallest one without any neighbour
        down to 1e-4 of it (1e-2 where there are not more observations than columns), and the path
        ends early where glmnet [2]_ ends it; see `whole_paths`. With J coefficients other than zero
        among q,

        .. math:: \mathrm{EBIC} = -2 \ell_k + J \log n + 2 \gamma J \log q.

        Covariates that are not penalised add their terms to the log-odds, and penalties start
        where no label enters given the threshold and the covariates. They count neither in J nor in
        q: being in every fit, they would add the same to all of a path.

        A path also ends at a fit for which :math:`J - 5` coefficients are too many, whatever the
        log-likelihood will still gain. That is at most n times λ times what the l1 norm of the
        coefficients will still gain, which is taken to go on growing in λ as it does at that fit.

        These are the networks of R's IsingFit [1]_, solved to higher accuracy. Labels that are
        copies of each other, mirrored ones too, have equal shares of one coefficient, which
        counts as one. Where labels are other linear functions of others there may be several
        solutions; the network has one of them.

        References
        ----------
        .. [1] van Borkulo, C. D. et al. (2014). A new method for constructing networks from
           binary data. *Scientific Reports* 4, 5918.
        .. [2] Friedman, J., Hastie, T. and Tibshirani, R. (2010). Regularization paths for
           generalized linear models via coordinate descent. *J. Stat. Softw.* 33(1), 1–22.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> net = im.IsingModel(data.labels).fit_regularized()
        >>> net.n_edges
        9
        >>> net.interactions.loc["hypertension", "diabetes"].round(3)
        np.float64(1.054)

        What is left of it given age, which both depend on:

        >>> model = im.IsingModel(data.labels, covariates=data.features[["age"]])
        >>> net = model.fit_regularized()
        >>> net.interactions.loc["hypertension", "diabetes"].round(3)
        np.float64(0.836)
        >>> net.directed.loc["age", ["hypertension", "diabetes"]].round(3).tolist()
        [0.043, 0.017]
        """
        settings, paths = fit_paths(
            self.statistics,
            self._rows("fit_regularized(features=True)") if features is True else None,
            lam,
            intercept=self.intercept,
            criterion=criterion,
            gamma=gamma,
            rule=rule,
            n_lambda=n_lambda,
            features=features,
            penalize_covariates=penalize_covariates,
            max_iter=max_iter,
            whole_paths=whole_paths,
        )
        skips = describe_skips(self.statistics)
        if skips:
            exc.warn(skips, exc.SeparationWarning)
        return RegularizedIsingResults(self, settings, paths)

    def _warn_about_fit(
        self, fits: tuple[NodeFit, ...], settings: FitSettings, regressors: Regressors
    ) -> None:
        patterns = self.statistics.patterns
        varies = patterns.any(axis=0) & ~patterns.all(axis=0)
        names = np.array(self.label_names, dtype=object)
        separated = varies & np.array([not fit.in_play.all() for fit in fits])
        aliased = np.zeros(len(fits), dtype=np.bool_)
        columns = np.array(self.statistics.context.column_names, dtype=object)
        if settings.ridge or not len(regressors.relations.dropped):
            pass
        elif settings.neighbors == "all" and settings.method not in SHARED:
            related = find_aliases(regressors, self.intercept)
            aliased[:] = [bool(others) for others in related[: len(fits)]]
        else:
            aliased[:] = [(fit.aliased[1 : 1 + len(fits)] != 0).any() for fit in fits]
        lost = columns
        if len(columns):
            unknown = np.array([np.isnan(fit.coef[1 + len(fits) :]) for fit in fits])
            dropped = np.array([(fit.aliased[1 + len(fits) :] != 0).any(axis=1) for fit in fits])
            lost = columns[(unknown & dropped).any(axis=0)]
        failed = np.array([not fit.converged for fit in fits])
        said = []
        if separated.any():
            message = exc.SEPARATED.format(
                n_labels=separated.sum(),
                total=len(names),
                given="labels and the covariates" if len(columns) else "labels",
                remedy="fit(penalty='firth') keeps coefficients finite"
                if settings.ridge
                else "fit(penalty=1.0) or fit(penalty='firth') keep coefficients finite",
                names=exc.shorten(names[separated]),
            )
            said.append(message)
        # Of neighbours that EBIC chose, fit_regularized has said it.
        if settings.penalty is None and settings.neighbors != "ebic":
            said.append(describe_skips(self.statistics))
        if any(said):
            exc.warn(" ".join(filter(None, said)), exc.SeparationWarning)
        if aliased.any():
            others = "labels or of covariates" if len(columns) else "labels"
            message = exc.ALIASED.format(names=exc.shorten(names[aliased]), others=others)
            exc.warn(message, exc.AliasingWarning)
        if len(lost):
            exc.warn(exc.ALIASED_COVARIATES.format(names=exc.shorten(lost)), exc.AliasingWarning)
        if failed.any():
            message = exc.NOT_CONVERGED.format(
                names=exc.shorten(names[failed]), steps=settings.max_iter
            )
            exc.warn(message, exc.ConvergenceWarning)

    def _warn_about_clusters(self, most: int) -> None:
        groups = self.statistics.groups
        assert groups is not None
        n_clusters = int(groups.max()) + 1
        if n_clusters < most:
            message = exc.FEW_CLUSTERS.format(n_clusters=n_clusters, n_coefficients=most)
            exc.warn(message, exc.DataWarning)
        elif n_clusters < _FEWEST_CLUSTERS:
            exc.warn(exc.VERY_FEW_CLUSTERS.format(n_clusters=n_clusters), exc.DataWarning)

    def _with_groups(self, groups: Any) -> IsingModel:
        """Return the same model with clusters of its rows."""
        data = self.data
        if data is None:
            raise exc.ModelError(
                "groups needs the rows of the data, and the model holds none, only their "
                "statistics. Give groups where these are made: "
                "LabelsetStatistics.from_arrays(…, groups=…)."
            )
        return self._of_rows(add_groups(data, groups))

    def _rows(self, purpose: str) -> ModelData:
        """Return the rows of the data, or say that they are needed."""
        return require_rows(purpose, self.data, self.feature_names)

    def without_data(self) -> IsingModel:
        """Return the same model with its statistics but without its rows.

        Returns
        -------
        IsingModel
            A model that holds no row of the data.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> light = im.IsingModel(data.labels, data.features).without_data()
        >>> light.fit().score_test().statistics.shape
        (30, 6)
        """
        # Statistics that are computed in blocks hold the rows that they are computed from.
        stats = self.statistics if self.data is None else in_memory(self.statistics)
        return IsingModel._restore(stats, self.intercept, self.terms)


def choose_covariance(
    model: IsingModel, cov_type: str | None, groups: Any
) -> tuple[IsingModel, str]:
    """Choose where errors come from, and give the model its clusters."""
    if cov_type is not None:
        check_option("cov_type", cov_type, COV_TYPES)
    if groups is not None and cov_type not in (None, "cluster"):
        raise exc.DataError(
            f"groups are used by cov_type='cluster', but cov_type is {cov_type!r}. Leave one of "
            "them out."
        )
    if groups is not None:
        model = model._with_groups(groups)
    stats = model.statistics
    if cov_type is None:
        cov_type = "nonrobust" if stats.sampling_weights is None else "HC0"
        cov_type = cov_type if stats.groups is None else "cluster"
    if cov_type == "nonrobust" and stats.sampling_weights is not None:
        raise exc.DataError(
            "with sampling_weights errors are always robust, but cov_type is 'nonrobust'. Leave it "
            "out, or pass weights that count observations as freq_weights."
        )
    if cov_type == "cluster" and stats.groups is None:
        raise exc.DataError(
            "cov_type='cluster' needs to know the cluster of each row: fit(cov_type='cluster', "
            "groups=…), or IsingModel(…, groups=…)."
        )
    if cov_type == "cluster" and stats.groups is not None and not stats.groups.any():
        raise exc.DataError(
            "groups must have at least two clusters, but all rows are in one: nothing tells how "
            "clusters differ."
        )
    return model, cov_type


def _check_context(stats: LabelsetStatistics) -> None:
    """Check that covariates are no labels, and fewer than rows."""
    columns, names = stats.context.columns, stats.context.column_names
    if len(names) >= stats.n_rows:
        message = exc.TOO_MANY_COVARIATES.format(n_columns=len(names), n_rows=stats.n_rows)
        raise exc.DataError(message)
    varies = stats.patterns.any(axis=0) & ~stats.patterns.all(axis=0)
    for name, column in zip(names, columns.T, strict=True):
        if not ((column == 0) | (column == 1)).all():
            continue
        same = (stats.patterns == column[:, None]).all(axis=0)
        opposite = (stats.patterns == 1 - column[:, None]).all(axis=0)
        for label in np.flatnonzero((same | opposite) & varies).tolist():
            raise exc.DataError(
                exc.COVARIATE_COPIES_LABEL.format(name=name, label=stats.label_names[label])
            )


def _terms_of(stats: LabelsetStatistics) -> dict[str, tuple[str, ...]]:
    """Name the terms that statistics remember; every other column is its own."""
    wide = {
        term: tuple(stats.feature_names[at] for at in columns)
        for term, columns in stats.term_columns.items()
    }
    term_of = {name: term for term, names in wide.items() for name in names}
    terms = dict.fromkeys(term_of.get(name, name) for name in stats.feature_names)
    return {term: wide.get(term, (term,)) for term in terms}
