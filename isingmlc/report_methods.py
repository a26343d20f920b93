"""The method of `IsingResults` that writes a report; a line into `report`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

from isingmlc import exceptions as exc
from isingmlc.datasets._files import as_path

if TYPE_CHECKING:
    from isingmlc.results.edge_tests import EdgeTests
    from isingmlc.results.ising import IsingResults
    from isingmlc.results.ranking import FeatureRanking


class ReportMethods:
    """Reports of `IsingResults`."""

    def report(
        self,
        path: str | os.PathLike[str] = "report.html",
        *,
        edges: EdgeTests | None = None,
        ranking: FeatureRanking | None = None,
        alpha: float = 0.05,
        adjust: str | None = "fdr_bh",
        top: int = 2000,
        pairs: int | None = None,
        title: str | None = None,
    ) -> Path:
        """Write an interactive report to one HTML file that opens without a connection.

        It has a table of the features that can be sorted and searched, with the network of the
        chosen one beside it, the pairs of labels that it moves, a heat map of all edges, the
        network of the labels, the summary, what needs attention, the settings and versions, and
        all tables as CSV.

        Parameters
        ----------
        path : path-like
            Where to; a file that is there is replaced.
        edges : EdgeTests, optional
            Tests of the edges; `score_test` where not given.
        ranking : FeatureRanking, optional
            Order and p-values of the features; by the sum of their statistics where not given.
        alpha : float
            Features and edges with an adjusted p-value up to this are significant; one minus the
            level of the confidence intervals in the summary.
        adjust : str or None
            How p-values are adjusted, over all features and over all edges; see
            `EdgeTests.to_frame`.
        top : int
            How many features the report holds, the most important ones.
        pairs : int, optional
            How many pairs of labels are kept for each feature; 0 for none. Where not given, ten,
            unless there are very many products of features and labels to test.
        title : str, optional
            The headline.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        FileError
            When the file can not be written.
        DataError
            When an argument is out of range, or `edges` or `ranking` belong to other data.
        ModelError
            When Bokeh is not installed.

        Notes
        -----
        The file holds Bokeh's scripts (about 2 MB) and, compressed, four numbers an edge. It asks
        nothing of the network, and the same fit gives the same file.

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

        target = as_path("path", path)
        options = ReportOptions(alpha, adjust, top, pairs, title)
        try:
            from isingmlc.report.page import write_page
        except ModuleNotFoundError as error:
            raise exc.ModelError(
                f'a report needs the package {error.name!r}: pip install "isingmlc[report]".'
            ) from error
        write_page(gather(cast("IsingResults", self), options, edges, ranking), target)
        return target
