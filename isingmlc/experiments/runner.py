"""All experiments, run one after the other into one folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from isingmlc.base.arguments import check_count, check_jobs, check_option
from isingmlc.datasets._files import file_error
from isingmlc.exceptions import DataError

# A part is a module with `run`, and settings for all of it and for a quick look. They import
# matplotlib and scikit-learn, so each is imported when it is run.
PARTS: Mapping[str, str] = MappingProxyType(
    {
        "figure-scene": "scene_networks",
        "figure-score": "score_growth",
        "figure-roc": "roc_curves",
        "figure-size": "sample_sizes",
        "table1": "dataset_sizes",
        "tables": "tables",
        "figure-time": "timing",
    }
)
"""The parts in the order of the paper, and the modules that run them."""


def reproduce(
    parts: str | Sequence[str],
    out: str | PathLike[str],
    data: str | PathLike[str] | None = None,
    *,
    quick: bool = False,
    n_jobs: int = 1,
    random_state: int = 0,
) -> Path:
    """Run the paper's experiments and write their tables and figures, beside the printed values.

    Parameters
    ----------
    parts : str or sequence of str
        What to run: ``"figure-scene"``, ``"figure-score"``, ``"figure-roc"``, ``"figure-size"``,
        ``"table1"``, ``"tables"``, ``"figure-time"``, or ``"all"``.
    out : str or path
        The output folder; made if there is none.
    data : str or path, optional
        Folder with Mulan's data sets, as `load_mulan` takes it. Data sets that are not found are
        listed as absent.
    quick : bool
        Whether to run fewer simulations, fewer subset sizes and small data sets only.
    n_jobs : int
        Processes to use; −1 for one per core.
    random_state : int
        What all randomness comes from. The same number gives the same files, but for the times
        of ``"figure-time"``.

    Returns
    -------
    Path
        The page that shows everything, ``index.html`` in the output folder; what earlier runs
        have left there too.

    Raises
    ------
    DataError
        When there is no such part, or an argument cannot be used.
    FileError
        When the output folder cannot be written, there is no folder `data`, or a file in it is
        damaged.

    Notes
    -----
    Results of finished pieces of work are kept in ``work`` in the output folder, with the settings
    and the versions of the packages that made them. A run that was interrupted goes on from there;
    with other settings or versions they are computed anew. Remove the folder to begin anew in any
    case.

    References
    ----------
    .. [1] Teisseyre, P. (2016). Feature ranking for multi-label classification using Markov
       networks. *Neurocomputing*. arXiv:1602.07464.

    Examples
    --------
    >>> from isingmlc.experiments import reproduce
    >>> reproduce("figure-score", "reproduced", quick=True)  # doctest: +SKIP
    PosixPath('reproduced/index.html')
    """
    asked = [parts] if isinstance(parts, str) else list(parts)
    for part in asked:
        check_option("parts", part, (*PARTS, "all"))
    if not asked:
        raise DataError(f"parts must name at least one of {', '.join(PARTS)}, but is empty.")
    check_option("quick", quick, (True, False))
    jobs, seed = check_jobs(n_jobs), check_count("random_state", random_state, 0)
    from isingmlc.experiments.index_page import keep_section, write_index
    from isingmlc.experiments.workshop import Workshop

    workshop = Workshop.open(out, data, jobs, seed)
    if workshop.data is not None and not workshop.data.is_dir():
        raise file_error(
            workshop.data, "there is no such folder. Give the one that holds Mulan's data sets."
        )
    for part, name in PARTS.items():
        if part in asked or "all" in asked:
            module = import_module(f"isingmlc.experiments.{name}")
            fresh = replace(workshop, warned={})
            section = module.run(fresh, module.QUICK if quick else module.FULL)
            keep_section(fresh, part, section, quick)
            write_index(workshop, PARTS)
    return workshop.out / "index.html"
