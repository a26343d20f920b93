"""The part of `IsingResults` that concerns features: tests, comparisons and rankings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from isingmlc.base.arguments import RandomState

if TYPE_CHECKING:
    from isingmlc.inference.theory import TheoremBound
    from isingmlc.results.edge_tests import EdgeTests
    from isingmlc.results.ising import IsingResults
    from isingmlc.results.ranking import FeatureRanking


class FeatureMethods:
    """Methods of `IsingResults`; each is a line into the module that does the work."""

    @property
    def _fit(self) -> IsingResults:
        return cast("IsingResults", self)

    def score_test(
        self,
        interactions: str | None = None,
        *,
        by: str = "feature",
        pvalue: str = "chi2",
        min_count: int = 2,
        n_permutations: int = 999,
        random_state: RandomState = None,
    ) -> EdgeTests:
        """Test every feature–label edge with Rao's score statistic, without refitting.

        Parameters
        ----------
        interactions : {None, "individual", "joint"}
            Test features alone; also their products with every other label, each by itself; or
            each feature together with all its products, as one test per label.
        by : {"feature", "term"}
            Test single columns, or the columns of a formula term together.
        pvalue : {"chi2", "saddlepoint", "permutation"}
            Where p-values come from. The saddlepoint approximation holds where labels are rare;
            permutations are a slow reference. Both need the rows of the data.
        min_count : int
            Labels with fewer rows of one kind among those that carry information are not
            tested, reason ``too-rare``. With one such row a statistic tells of that row alone.
        n_permutations : int
            How many permutations.
        random_state : int, Generator or None
            Source of the permutations.

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
        >>> joint = res.score_test(interactions="joint")
        >>> joint.df.loc["deprivation_decile", "asthma"]
        np.float64(6.0)
        """
        from isingmlc.inference.score_tests import score_test

        return score_test(
            self._fit,
            interactions,
            by=by,
            pvalue=pvalue,
            min_count=min_count,
            n_permutations=n_permutations,
            random_state=random_state,
        )

    def wald_test(
        self,
        features: Sequence[str] | None = None,
        interactions: str | None = None,
        *,
        min_count: int = 2,
        n_jobs: int = 1,
    ) -> EdgeTests:
        """Test edges with Wald's statistic: fit the larger model and divide by the error.

        Parameters
        ----------
        features : sequence of str, optional
            The features to test; all of them where not given.
        interactions : {None, "joint"}
            Test features alone, or each together with all its products with other labels.
        min_count : int
            Labels with fewer rows of one kind among those that carry information are not
            tested, reason ``too-rare``.
        n_jobs : int
            Threads to use; −1 for one a core.

        Returns
        -------
        EdgeTests
            Statistics, p-values and reasons, and in ``estimates`` coefficients with standard
            errors. Where the feature separates the label the coefficient is infinite and there is
            no statistic, reason ``separated-alternative``.

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
        from isingmlc.inference.refit_tests import refit_test

        return refit_test(
            self._fit, "wald", features, interactions, min_count=min_count, n_jobs=n_jobs
        )

    def lr_test(
        self,
        features: Sequence[str] | None = None,
        interactions: str | None = None,
        *,
        min_count: int = 2,
        n_jobs: int = 1,
    ) -> EdgeTests:
        """Test edges with the likelihood ratio: fit the larger model and compare.

        Parameters
        ----------
        features : sequence of str, optional
            The features to test; all of them where not given.
        interactions : {None, "joint"}
            Test features alone, or each together with all its products with other labels.
        min_count : int
            Labels with fewer rows of one kind among those that carry information are not
            tested, reason ``too-rare``.
        n_jobs : int
            Threads to use; −1 for one a core.

        Returns
        -------
        EdgeTests
            Statistics, p-values and reasons. Where the feature separates the label the
            statistic is that of the limit, reason ``separated-alternative``.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> res.lr_test(["bmi"]).loc["bmi", "diabetes"].pvalue < 1e-9
        True
        """
        from isingmlc.inference.refit_tests import refit_test

        return refit_test(
            self._fit, "lr", features, interactions, min_count=min_count, n_jobs=n_jobs
        )

    def compare_tests(self, feature: str, interactions: str | None = None) -> pd.DataFrame:
        """Put the score, likelihood-ratio and Wald tests of one feature side by side.

        Parameters
        ----------
        feature : str
            The feature.
        interactions : {None, "joint"}
            Test the feature alone, or together with all its products with other labels.

        Returns
        -------
        DataFrame
            One row a label: statistics, degrees of freedom, p-values and the reason why a test
            is impossible.

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
        from isingmlc.inference.refit_tests import compare_tests

        return compare_tests(self._fit, feature, interactions)

    def compare_lr_test(self, restricted: IsingResults) -> pd.DataFrame:
        """Compare this fit with a restricted one of the same rows, label by label.

        Parameters
        ----------
        restricted : IsingResults
            A fit with fewer labels, or without intercept.

        Returns
        -------
        DataFrame
            One row a label that both have: statistic, degrees of freedom and p-value.

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
        from isingmlc.inference.refit_tests import compare_lr_test

        return compare_lr_test(self._fit, restricted)

    def theorem_bound(
        self,
        feature: str,
        label: str,
        a: float,
        coefficient_range: float | None = None,
    ) -> TheoremBound:
        r"""Evaluate the paper's Theorem 1: how large a score statistic must at least be.

        Parameters
        ----------
        feature, label : str
            The edge.
        a : float
            The coefficient :math:`a_k` that the feature is supposed to have.
        coefficient_range : float, optional
            G with :math:`|a_k| \le G`; the absolute value of `a` where not given.

        Returns
        -------
        TheoremBound
            The bound :math:`C n a_k^2 / H^4`, the probability with which it holds, and the
            constants. Needs the rows of the data.

        Notes
        -----
        Z holds the other labels and the feature, and the constant if the model has one; K is the
        number of its columns. The conditional variances are those of the fitted label model with
        the feature added at coefficient `a`; if the label is separated, v and the bound are
        zero. The bound is far from sharp: it shows how the statistic grows with n and
        :math:`a_k`, and shrinks with K.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.make_score_example(a=1.0, n_samples=1000, random_state=0)
        >>> res = im.IsingModel(data.labels, data.features).fit()
        >>> bound = res.theorem_bound("x1", "y1", a=1.0)
        >>> bound.bound < res.score_test().loc["x1", "y1"].statistic
        True
        """
        from isingmlc.inference.theory import theorem_bound

        return theorem_bound(self._fit, feature, label, a, coefficient_range)

    def rank_features(self, method: str = "score", **options: Any) -> FeatureRanking:
        """Rank the features by how much they matter to the labels.

        Parameters
        ----------
        method : str
            How importance is measured; `isingmlc.rank_features` lists the methods. Those that
            need label models use this fit.
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
        >>> interacting = res.rank_features(method="interaction")
        >>> interacting.table().loc["deprivation_decile", "strongest_pair"]
        'depression × asthma'
        """
        from isingmlc.ranking.methods import find_method

        found = find_method(method, options)
        return found.run(self._fit if found.needs_fit else self._fit.model, options)
