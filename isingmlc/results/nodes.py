"""The fitted label models as statsmodels results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_linear_model import GLM, GLMResults, GLMResultsWrapper

from isingmlc import exceptions as exc
from isingmlc.inference.covariance import degrees_of_clusters
from isingmlc.inference.score import null_models

if TYPE_CHECKING:
    from isingmlc.results.ising import IsingResults


class NodeModels(Mapping[str, Any]):
    """One statsmodels ``GLMResults`` per label, made when it is asked for."""

    def __init__(self, results: IsingResults) -> None:
        self._results = results
        self._made: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._results.label_names)

    def __len__(self) -> int:
        return len(self._results.label_names)

    def __repr__(self) -> str:
        return f"NodeModels({exc.shorten(self)})"

    def __getitem__(self, label: str) -> Any:
        if label not in self._results.label_names:
            raise KeyError(f"there is no label {label!r}; labels are {exc.shorten(self, 20)}.")
        if label not in self._made:
            self._made[label] = self._make(label)
        return self._made[label]

    def _make(self, label: str) -> Any:
        results = self._results
        results._fit.refuse_shared("nodes", "Use params, bse and conf_int(), or fit().nodes.")
        fit = results.fits[results.label_names.index(label)]
        if not fit.in_play.any():
            raise exc.ModelError(
                f"label {label!r} is {results.diagnostics.loc[label, 'reason']}: it is certain in "
                "every row, so there is no regression. For a determined label "
                "fit(penalty=1.0) or fit(penalty='firth') give one."
            )
        if not len(fit.basis):
            raise exc.ModelError(
                f"the model of label {label!r} has no finite coefficient, so there is no "
                "regression."
            )
        stats, regressors = results.model.statistics, results._fit.regressors
        columns = (*stats.label_names, *stats.context.column_names)
        names = [
            name if np.isfinite(value) else f"{name} (in play)"
            for name, value in zip(
                np.array(["const", *columns], dtype=object)[fit.basis],
                fit.coef[fit.basis],
                strict=True,
            )
        ]
        # In the user's units, and so are the coefficients and their covariance.
        design = regressors.matrix * regressors.scale + regressors.centre
        exog = pd.DataFrame(design[np.ix_(fit.in_play, fit.basis)], columns=names)
        factor = np.zeros((regressors.n_columns, 1 + len(fit.basis)))
        factor[fit.basis, 0] = fit.basis_coef
        whole = results._fit
        matrix = whole.factors[fit.label].matrix
        if whole.is_robust:
            matrix = null_models(whole, [fit.label])[0].coefficient_root()
        degrees = degrees_of_clusters(whole)
        factor[fit.basis, 1 : 1 + matrix.shape[1]] = matrix
        factor = regressors.in_units(factor)[fit.basis]
        endog = pd.Series(stats.patterns[fit.in_play, fit.label].astype(np.float64), name=label)
        glm = GLM(endog, exog, family=Binomial(), freq_weights=stats.counts[fit.in_play])
        glm.scale = 1.0
        glm.mu = fit.probability[fit.in_play]
        covariance = factor[:, 1:] @ factor[:, 1:].T
        node = GLMResults(glm, factor[:, 0], covariance, 1.0, use_t=degrees is not None)
        node.cov_type = whole.settings.cov_type
        if degrees is not None:
            node.df_resid_inference = degrees[fit.label]
        # statsmodels counts rows of the table, and divides by it in its pseudo R².
        node.nobs = float(glm.wnobs)
        node.method = results.method
        node.converged = fit.converged
        node.fit_history = {"params": [], "deviance": [], "iteration": fit.iterations}
        node.mle_settings = {"optimizer": "newton"}
        return GLMResultsWrapper(node)
