"""The frames that results hand out: pandas' own, and LaTeX that compiles."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base import latex
from isingmlc.base.arguments import check_count

_NOT_INSTALLED = (
    "{name} needs {wants}, which is not installed ({error}). Install the extra: pip install "
    '"isingmlc[tables]".'
)


class ResultTable(pd.DataFrame):  # type: ignore[misc]
    """A DataFrame that knows how to become a table of a paper.

    Results hand these out. It is a DataFrame in every respect, and what pandas makes of it
    (rows chosen, columns renamed, sorted) is one of these again; only `to_latex` is not pandas'.
    `to_markdown` and `to_excel` are, and want tabulate and openpyxl: ``pip install
    "isingmlc[tables]"``.

    Parameters
    ----------
    data : DataFrame
        The rows.
    *args, **options
        As of DataFrame.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> table = im.IsingModel(data.labels).fit().network_table()
    >>> type(table.nlargest(3, "weight")).__name__
    'ResultTable'
    """

    _metadata: ClassVar[list[str]] = ["_holds_pvalues"]
    _holds_pvalues = False

    @property
    def _constructor(self) -> type[ResultTable]:
        return ResultTable

    @classmethod
    def of_pvalues(cls, data: Any) -> ResultTable:
        """Make a table of which every number is a p-value.

        Parameters
        ----------
        data : DataFrame
            The p-values.

        Returns
        -------
        ResultTable
            The table.

        Examples
        --------
        >>> frame = pd.DataFrame({"diabetes": [1e-9, 0.2]}, index=["bmi", "age"])
        >>> "$<$0.001" in ResultTable.of_pvalues(frame).to_latex()
        True
        """
        found = cls(data)
        found._holds_pvalues = True
        return found

    def _is_all_pvalues(self) -> bool:
        # Their logarithms, say, are no p-values any more.
        cells = self.select_dtypes("number")
        return self._holds_pvalues and not bool(((cells < 0) | (cells > 1)).any(axis=None))

    def to_latex(
        self,
        buf: str | os.PathLike[str] | None = None,
        *,
        caption: str | None = None,
        label: str | None = None,
        digits: int = 3,
    ) -> str | None:
        r"""Write the table as LaTeX that compiles with ``\usepackage{booktabs,longtable}``.

        Names are escaped, p-values below 0.001 are written so, and a table of more than a page
        becomes a ``longtable``. Columns that a line cannot hold go to further parts, which repeat
        the names; long names are broken. Where all rows say the same of ``reason``, ``estimate``,
        ``pvalue_method`` or ``adjusted_for``, a note below says it once; ``log10p``, which repeats
        ``pvalue``, is left out.

        Parameters
        ----------
        buf : path-like, optional
            A file to write to; the text is returned if omitted.
        caption : str, optional
            What stands above the table, as LaTeX.
        label : str, optional
            What ``\ref`` finds it by.
        digits : int
            Decimals of numbers; those that would show as zero are written as powers of ten.

        Returns
        -------
        str or None
            The text, where no path is given.

        Notes
        -----
        Letters of other alphabets than Latin and Greek are left as they are, for XeLaTeX or
        LuaLaTeX. pandas' own way is ``pd.DataFrame(table).to_latex()``.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> table = im.IsingModel(data.labels).fit().network_table()
        >>> text = table.head(1)[["first", "second", "weight", "pvalue"]].to_latex()
        >>> print(text.splitlines()[6])
        hypertension & diabetes & 1.236 & $<$0.001 \\
        """
        digits = check_count("digits", digits, 0)
        text = latex.to_latex(
            self, caption=caption, label=label, digits=digits, holds_pvalues=self._is_all_pvalues()
        )
        if buf is None:
            return text
        Path(buf).write_text(f"{text}\n", encoding="utf-8")
        return None

    def to_markdown(self, buf: Any = None, *, index: bool = True, **options: Any) -> str | None:
        r"""Write the table as Markdown, by pandas and tabulate.

        Names stay as they are, also those that look like numbers, and none ends a cell.

        Parameters
        ----------
        buf : path-like or open file, optional
            What to write to; the text is returned if omitted.
        index : bool
            Whether to write the names of rows.
        **options
            As of ``DataFrame.to_markdown``.

        Returns
        -------
        str or None
            The text, where there is nothing to write to.

        Raises
        ------
        DataError
            When tabulate is not installed.

        Examples
        --------
        >>> table = ResultTable({"label": ["007", "a|b"], "pvalue": [1e-9, 0.25]})
        >>> print(table.to_markdown(index=False))
        | label   |   pvalue |
        |:--------|---------:|
        | 007     |  1e-09   |
        | a\|b    |  0.25    |
        """
        rows = pd.DataFrame(self)
        if index and (rows.index.nlevels > 1 or rows.index.name is not None):
            rows, index = rows.reset_index(allow_duplicates=True), False
        is_text = [rows.dtypes.iloc[at].kind not in "iufb" for at in range(rows.shape[1])]
        if options.get("tablefmt", "pipe") in ("pipe", "github"):
            rows = rows.map(_keep_in_cell)
            rows.columns = [_keep_in_cell(name) for name in rows.columns]
            rows.index = rows.index.map(_keep_in_cell)
        words = [at + int(index) for at, is_word in enumerate(is_text) if is_word]
        options.setdefault("disable_numparse", [*([0] if index else []), *words])
        try:
            return rows.to_markdown(buf, index=index, **options)  # type: ignore[no-any-return]
        except ImportError as error:
            raise exc.DataError(
                _NOT_INSTALLED.format(name="to_markdown", wants="tabulate", error=error)
            ) from error

    def to_excel(self, excel_writer: Any, *args: Any, **options: Any) -> None:
        """Write the table to an Excel file, by pandas and openpyxl.

        Parameters
        ----------
        excel_writer : path-like or ExcelWriter
            What to write to.
        *args, **options
            As of ``DataFrame.to_excel``.

        Raises
        ------
        DataError
            When openpyxl is not installed.

        Examples
        --------
        >>> import io
        >>> import isingmlc as im
        >>> file = io.BytesIO()
        >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
        >>> res.network_table().to_excel(file, index=False)
        >>> file.getvalue()[:2]  # a zip archive
        b'PK'
        """
        try:
            super().to_excel(excel_writer, *args, **options)
        except ImportError as error:
            raise exc.DataError(
                _NOT_INSTALLED.format(name="to_excel", wants="openpyxl", error=error)
            ) from error


def _keep_in_cell(cell: Any) -> Any:
    """Escape what would end a cell of Markdown."""
    return cell.replace("|", r"\|").replace("\n", " ") if isinstance(cell, str) else cell
