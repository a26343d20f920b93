"""Whatever a user writes into what a result returned, the next answer of the result is the same."""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import isingmlc as im

# Labels, rows and draws are few: what our warnings say of them is another matter. Without pyarrow
# pandas has other views of columns of text, so these tests run without it as well.
pytestmark = [
    pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning"),
    pytest.mark.numerical,
]

# Methods that draw, write files or take long; what they return is walked where it is built below.
_LEFT_OUT = (
    "plot",
    "save",
    "report",
    "bootstrap",
    "drop_cases",
    "goodness",
    "check_calibration",
    "fit",
)


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(7)
    common = rng.standard_normal((300, 1))
    y = (common + rng.standard_normal((300, 3)) > [0.0, 0.2, 0.5]).astype(int)
    # Few have s, and all of them the first label: its effect is infinite.
    s = (rng.random(300) < 0.1) * y[:, 0]
    x = pd.DataFrame({"u": rng.standard_normal(300) + y[:, 1], "v": rng.random(300), "s": s})
    return pd.DataFrame(y, columns=["a", "b", "c"]), x


def _is_public(value: object) -> bool:
    """Whether an object is of a public class, or holds the arrays of edge tests."""
    kind = type(value).__name__
    is_ours = type(value).__module__.startswith("isingmlc.")
    return is_ours and (
        kind in (*im.__all__, *im.simulate.__all__)
        or kind in ("EdgeArrays", "ModelData", "LawPvalues", "GivenPvalues", "GuardedPvalues")
    )


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Find what a public attribute or a method without arguments returns."""
    for name in dir(value):
        if name.startswith(("_", *_LEFT_OUT)):
            continue
        try:
            part = getattr(value, name)
            if inspect.ismethod(part):
                if any(
                    each.default is each.empty and each.kind is not each.VAR_KEYWORD
                    for each in inspect.signature(part).parameters.values()
                ):
                    continue
                part, name = part(), f"{name}()"
        except (im.exceptions.IsingError, AttributeError, AssertionError):
            continue
        yield name, part


def _walk(value: Any, path: str, above: tuple[type, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Find every array, table and container that public names reach from an object."""
    if isinstance(value, pd.DataFrame | pd.Series | np.ndarray):
        yield path, value
    elif sparse.issparse(value):
        yield f"{path}.data", value.data
    elif isinstance(value, dict):
        for key, each in list(value.items()):
            yield from _walk(each, f"{path}[{key!r}]", above)
    elif isinstance(value, list | tuple | set):
        for at, each in enumerate(list(value)):
            yield from _walk(each, f"{path}[{at}]", above)
    elif _is_public(value) and type(value) not in above:
        # A copy of an object that was met on the way has nothing new.
        for name, part in _parts(value):
            yield from _walk(part, f"{path}.{name}", (*above, type(value)))


def _text(value: Any) -> str:
    """Write down all that an array or table holds."""
    if isinstance(value, pd.DataFrame):
        return f"{value.columns!r} {value.index!r} {value.to_csv()}"
    if isinstance(value, pd.Series):
        return f"{value.name!r} {value.index!r} {value.to_csv()}"
    return f"{value.dtype} {value.shape} {value.tolist()}"


def _other(value: Any) -> Any:
    """Return a value of the same type, but another."""
    if isinstance(value, str):
        return f"{value}!"
    return not value if isinstance(value, bool | np.bool_) else value + 1


def _write(value: Any) -> None:
    """Write into an array or table in the ways that users do."""
    if isinstance(value, pd.DataFrame | pd.Series):
        # What a user was given is the user's to change: none of this may fail.
        if value.size:
            for at in range(value.shape[1]) if value.ndim == 2 else [...]:
                cell = (0, at) if value.ndim == 2 else 0
                if not pd.isna(value.iloc[cell]):
                    value.iloc[cell] = _other(value.iloc[cell])
        value.index.name = "spoilt"
        if value.ndim == 2:
            value.columns.name = "spoilt"
            if value.columns.nlevels == 1:
                value["spoilt"] = 1
        else:
            value.name = "spoilt"
        _write(np.asarray(value))
    elif value.flags.writeable and value.size:
        value.flat[0] = _other(value.flat[0])


def _results(tables: tuple[pd.DataFrame, pd.DataFrame]) -> dict[str, Any]:
    """Make one of every kind of result, the same each time."""
    y, x = tables
    model = im.IsingModel(y, x)
    res = model.fit()
    score = res.score_test()
    group = np.repeat(["one", "two"], 150)
    ranking = im.rank_features(y, x)
    forward = im.rank_features(y, x, method="forward")
    net = im.IsingModel(y, x).fit_regularized()
    dist = im.simulate.IsingDistribution([0.1, -0.2], [[0.0, 0.5], [0.5, 0.0]])
    return {
        "model": model,
        "fit": res,
        "robust fit": im.IsingModel(y, covariates=x[["v"]]).fit(cov_type="HC0"),
        "joint fit": im.IsingModel(y).fit(method="joint"),
        "node": res.nodes["a"],
        "score": score,
        "score of two": score[["u", "s"]],
        "score with products": res.score_test(products="given"),
        "saddlepoint": res.score_test(pvalue="saddlepoint"),
        "permutation": res.score_test(pvalue="permutation", n_permutations=19, random_state=0),
        "wald": res.wald_test(),
        "lr": res.lr_test(),
        "regularized": net,
        "bootstrap": res.bootstrap(9, random_state=0),
        "case dropping": res.drop_cases(10, random_state=0),
        "comparison": im.compare_networks(
            im.IsingModel(y), by=group, n_permutations=9, random_state=0
        ),
        "contrast": res.contrast({("a", "b"): 1.0}),
        "at": im.IsingModel(y, covariates=x[["v"]]).fit().at({"v": 0.5}),
        "goodness": im.IsingModel(y).fit(method="joint").goodness_of_fit(),
        "edge plan": im.plan_sample_size(prevalence=0.2, odds_ratio=1.5),
        "network plan": im.plan_sample_size(
            net, of="network", n=[100, 200], n_draws=3, random_state=0
        ),
        "ranking": ranking,
        "forward": forward,
        "agreement": ranking.agreement(forward),
        "roc": ranking.roc(["u"]),
        "selection": im.select_features(y, x, alpha=0.05),
        "description": im.describe(y, x),
        "distribution": dist,
    }


def test_what_is_written_into_a_returned_table_or_array_changes_no_later_answer(tables):
    for name, result in _results(tables).items():
        before = {path: _text(value) for path, value in _walk(result, name)}
        for _, value in list(_walk(result, name)):
            _write(value)
        after = {path: _text(value) for path, value in _walk(result, name)}
        assert [path for path in before if before[path] != after.get(path)] == []


def test_effects_of_a_table_leave_the_reasons_of_the_tests_alone(tables):
    edges = im.IsingModel(*tables).fit().score_test()
    odds = edges.to_frame(exponentiate=True, refit=9)
    assert "separated-alternative" in set(odds["reason"])
    assert set(edges.to_frame()["reason"]) == {"ok"}
    assert set(edges.reasons.to_numpy().ravel()) == {"ok"}


def test_arrays_are_read_only_and_those_of_the_user_are_not(tables):
    labels, features = (table.to_numpy(float, copy=True) for table in tables)
    res = im.IsingModel(labels, features).fit()
    edges = res.score_test()
    for array in (edges.arrays.statistic, edges.arrays.pvalue, edges.arrays.reason):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = array[0, 1]
    assert labels.flags.writeable
    assert features.flags.writeable
