"""`NetworkAt`: the network of the labels at values of what moderates it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np
import pandas as pd
from scipy import stats as distributions

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number
from isingmlc.base.readonly import ReadOnly, table
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.moderated import NetworkValues

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from isingmlc.plots.look import LookOptions


class NetworkAt(ReadOnly):
    """Thresholds and interactions of labels at values of moderating covariates or features.

    Made by `IsingResults.at`.

    Parameters
    ----------
    values : mapping of str to number or str
        Where.
    label_names : tuple of str
        Names of the labels.
    network : NetworkValues
        The network there.
    at_means : tuple of str
        The covariates that moderate nothing.

    Attributes
    ----------
    values : dict
        Where.
    label_names : tuple of str
        Names of the labels.
    at_means : tuple of str
        The covariates that moderate nothing, as the user wrote them; they are at their means.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> res = im.IsingModel(data.labels, covariates=data.features[["age"]]).fit()
    >>> res.at({"age": 70}).interactions.loc["hypertension", "diabetes"].round(2)
    np.float64(1.07)
    """

    values: dict[str, Any]
    label_names: tuple[str, ...]
    at_means: tuple[str, ...]
    _network: NetworkValues

    def __init__(
        self,
        values: Mapping[str, Any],
        label_names: tuple[str, ...],
        network: NetworkValues,
        at_means: tuple[str, ...] = (),
    ) -> None:
        self._fill(
            values=dict(values), label_names=label_names, at_means=at_means, _network=network
        )

    def __repr__(self) -> str:
        return f"NetworkAt({self.described}: {len(self.label_names)} labels)"

    @property
    def described(self) -> str:
        """The values in words."""
        return ", ".join(f"{name} = {value}" for name, value in self.values.items())

    @table
    def thresholds(self) -> pd.Series:
        """Thresholds of the labels; covariates that moderate nothing are at their means."""
        return pd.Series(self._network.threshold, self.label_names, name="threshold")

    @table
    def thresholds_bse(self) -> pd.Series:
        """Standard errors of `thresholds`."""
        return pd.Series(self._network.threshold_bse, self.label_names, name="threshold")

    @table
    def interactions(self) -> pd.DataFrame:
        """Symmetric matrix of interactions, zero on the diagonal: means of two estimates each.

        Where one of them is not identified the other one stands alone; where neither is, or they
        run to opposite infinities, NaN.
        """
        mine = self._network.slope
        first, second = (
            np.where(np.isnan(mine), mine.T, mine),
            np.where(np.isnan(mine.T), mine, mine.T),
        )
        with np.errstate(invalid="ignore"):
            combined = (first + second) / 2
        np.fill_diagonal(combined, 0.0)
        return ResultTable(combined, self.label_names, self.label_names)

    @table
    def interactions_bse(self) -> pd.DataFrame:
        """Standard errors of `interactions`, from the sandwich of both label models.

        NaN where an interaction is not the mean of two finite estimates.
        """
        is_mean = np.isfinite(self._network.slope) & np.isfinite(self._network.slope.T)
        errors = np.where(is_mean, self._network.interaction_bse, np.nan)
        return ResultTable(errors, self.label_names, self.label_names)

    @table
    def params(self) -> pd.DataFrame:
        """Estimates of the label models, as `IsingResults.params` has them."""
        values = np.vstack([self._network.threshold, self._network.slope.T])
        return ResultTable(values, ["const", *self.label_names], self.label_names)

    @table
    def bse(self) -> pd.DataFrame:
        """Standard errors of `params`."""
        values = np.vstack([self._network.threshold_bse, self._network.slope_bse.T])
        return ResultTable(values, ["const", *self.label_names], self.label_names)

    def to_frame(self, *, alpha: float = 0.05) -> pd.DataFrame:
        """Return the interactions as a table, one row per pair of labels.

        Parameters
        ----------
        alpha : float
            One minus the confidence level.

        Returns
        -------
        DataFrame
            Columns first, second, weight, se, z, pvalue, lower and upper.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, covariates=data.features[["age"]]).fit()
        >>> res.at({"age": 40}).to_frame()[["first", "second", "weight", "se"]].round(2).head(2)
                  first     second  weight    se
        0  hypertension   diabetes    0.98  0.25
        1  hypertension  arthritis    0.75  0.23
        """
        alpha = check_number("alpha", alpha, above=0, below=1)
        first, second = np.triu_indices(len(self.label_names), 1)
        names = np.array(self.label_names, dtype=object)
        weight = self.interactions.to_numpy()[first, second]
        se = self.interactions_bse.to_numpy()[first, second]
        z = np.where(np.isfinite(weight), weight, np.nan) / se
        degrees = self._network.degrees
        law = distributions.norm if degrees is None else distributions.t(degrees)
        reach = law.isf(alpha / 2) * se
        return ResultTable(
            {
                "first": names[first],
                "second": names[second],
                "weight": weight,
                "se": se,
                "z": z,
                "pvalue": 2 * law.sf(np.abs(z)),
                "lower": weight - reach,
                "upper": weight + reach,
            }
        )

    def joint_distribution(self) -> pd.Series:
        """Return the probability of every label vector under the network here.

        Returns
        -------
        Series of float, length 2**K
            Probabilities, indexed by the 0/1 label vectors.

        Raises
        ------
        ModelError
            Beyond 20 labels, or where the network does not define a distribution.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, covariates=data.features[["age"]]).fit()
        >>> young, old = (res.at({"age": age}).joint_distribution() for age in (30, 80))
        >>> bool(young[0, 0, 0, 0, 0, 0] > old[0, 0, 0, 0, 0, 0])
        True
        """
        from isingmlc.simulate.distribution import joint_probabilities

        return joint_probabilities(self)

    def plot(self, *, ax: Axes | None = None, **look: Unpack[LookOptions]) -> Axes:
        """Draw the interactions.

        Parameters
        ----------
        ax, **look
            As `IsingResults.plot_label_network` takes them.

        Returns
        -------
        Axes
            The picture.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data.labels, covariates=data.features[["age"]]).fit()
        >>> res.at({"age": 70}).plot().get_title()
        'Interactions of 6 labels at age = 70'
        """
        from isingmlc.plots import plot_networks_at

        (drawn,) = plot_networks_at([self], axes=None if ax is None else [ax], **look)
        return cast("Axes", drawn)


def spread_values(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one point for each value, of the one moderator that has several."""
    several = [name for name, value in values.items() if np.ndim(value) == 1]
    if len(several) != 1 or not len(values[several[0]]):
        problem = "the list is empty" if len(several) == 1 else f"there are {len(several)} lists"
        raise exc.DataError(
            "values must map one name to a list of values, e.g. {'age': [30, 50, 70]}, and others "
            f"to one value, but {problem}."
        )
    (name,) = several
    return [{**values, name: value} for value in values[name]]
