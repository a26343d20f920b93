"""Rows in batches: every form they come in, workers, and blocks of features."""

import os
import signal

import numpy as np
import pandas as pd
import pytest
from golden import load
from scipy import sparse

import isingmlc as im
from isingmlc.statistics.blocks import SumsInBlocks
from isingmlc.statistics.labelsets import feature_blocks, in_memory

pa = pytest.importorskip("pyarrow", reason='needs pip install "isingmlc[engines]"')

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

LABELS = ["a", "b", "c"]
FEATURES = ["x1", "x2"]


def make_frame(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame((rng.random((n, 3)) < 0.4).astype(np.int8), columns=LABELS)
    frame["x1"] = rng.normal(size=n) + 10
    frame["x2"] = rng.integers(0, 5, n)
    frame["w"] = rng.integers(1, 4, n)
    return frame


FRAMES = [make_frame(seed=seed) for seed in range(6)]


def count(batches, **options):
    return im.LabelsetStatistics.from_batches(
        batches, labels=LABELS, features=FEATURES, freq_weights="w", **options
    )


def assert_same(stats, other, rtol=1e-12):
    one, two = in_memory(stats.recenter(0.0)), in_memory(other.recenter(0.0))
    assert (one.label_names, one.feature_names, one.n_rows) == (
        two.label_names,
        two.feature_names,
        two.n_rows,
    )
    np.testing.assert_array_equal(one.patterns, two.patterns)
    for name in ("counts", "sums", "squares"):
        mine, theirs = getattr(one, name), getattr(two, name)
        if sparse.issparse(mine):
            mine, theirs = mine.toarray(), theirs.toarray()
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol * np.abs(theirs).max())


@pytest.fixture(scope="module")
def whole():
    rows = pd.concat(FRAMES, ignore_index=True)
    return im.LabelsetStatistics.from_arrays(
        rows[LABELS], rows[FEATURES], freq_weights=rows["w"].to_numpy()
    )


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda frame: pa.RecordBatch.from_pandas(frame), id="Arrow record batch"),
        pytest.param(lambda frame: pa.Table.from_pandas(frame), id="Arrow table"),
        pytest.param(lambda frame: frame.to_dict("list"), id="dict"),
        pytest.param(lambda frame: frame.to_records(index=False), id="structured array"),
        pytest.param(lambda frame: lambda: frame, id="function"),
    ],
)
def test_batches_of_every_form_add_up_to_all_rows(form, whole):
    assert_same(count(form(frame) for frame in FRAMES), whole)


def test_workers_give_the_numbers_of_one_process(whole):
    alone = count(FRAMES)
    for batches in (iter(FRAMES), [lambda frame=frame: frame for frame in FRAMES]):
        together = count(batches, n_jobs=2)
        np.testing.assert_array_equal(together.sums, alone.sums)
        assert_same(together, whole)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_names_the_batch(n_jobs):
    odd = FRAMES[4].assign(b=FRAMES[4]["b"] * 2)
    with pytest.raises(im.exceptions.DataError, match=r"in batch 5: .*column 'b' holds 0, 2"):
        count([*FRAMES[:4], odd], n_jobs=n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_dropped_rows_are_announced_once(n_jobs):
    gaps = [frame.astype({"x2": float}) for frame in FRAMES[:4]]
    for at, frame in enumerate(gaps):
        frame.loc[:at, "x2"] = np.nan
    empty = FRAMES[4].assign(x2=np.nan)
    idle = FRAMES[5].assign(w=0)
    with pytest.warns(im.exceptions.DataWarning) as caught:
        stats = count([*gaps, empty, idle], missing="drop", n_jobs=n_jobs)
    assert [str(warning.message) for warning in caught] == [
        "70 of 300 rows have missing values and were dropped: 'x2' lacks 70 values (70 of these "
        "rows lack nothing else)."
    ]
    assert stats.n_rows == 230


def test_a_single_frame_is_not_taken_for_batches():
    with pytest.raises(im.exceptions.DataError, match=r"Give a single batch as \[batch\]"):
        count(FRAMES[0])
    with pytest.raises(im.exceptions.DataError, match="n_jobs must be a whole number"):
        count(FRAMES, n_jobs=0)
    with pytest.raises(im.exceptions.DataError, match="max_memory must be a finite number above 0"):
        count(FRAMES, max_memory=-1)


# Blocks of features


def many_labels(n=300, n_labels=30, n_features=23, seed=4):
    """Nearly every row is a labelset of its own."""
    rng = np.random.default_rng(seed)
    group = rng.random((n, 1)) < 0.5
    labels = rng.random((n, n_labels)) < np.where(group, 0.35, 0.2)
    return labels, rng.normal(size=(n, n_features)) + 100 + group


def in_blocks(labels, features, **options):
    with pytest.warns(im.exceptions.DataWarning, match="blocks of features"):
        stats = im.LabelsetStatistics.from_arrays(labels, features, max_memory=1e5, **options)
    assert isinstance(stats.feature_sums, SumsInBlocks)
    return stats


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_blocks_hold_the_numbers_of_the_whole(kind):
    labels, features = many_labels()
    features[features < 100] = 0
    weights = np.arange(300) % 3 + 1
    whole = im.LabelsetStatistics.from_arrays(labels, kind(features), freq_weights=weights)
    assert len(whole.counts) > 290
    blocks = in_blocks(labels, kind(features), freq_weights=weights)
    parts = [part for part, _ in feature_blocks(blocks)]
    assert len(parts) > 3
    assert [part.stop for part in parts[:-1]] == [part.start for part in parts[1:]]
    assert_same(blocks, whole)
    np.testing.assert_array_equal(blocks.constant_features, whole.constant_features)
    moved = whole.recenter(3.0)
    np.testing.assert_allclose(blocks.recenter(3.0).column_squares, moved.column_squares)
    assert_same(blocks + whole, whole + whole)


@pytest.mark.parametrize("penalty", [None, 1.0])
@pytest.mark.parametrize(
    "options",
    [{}, {"products": "individual"}, {"products": "joint"}, {"pvalue": "saddlepoint"}],
    ids=str,
)
def test_tests_in_blocks_give_the_same_numbers(monkeypatch, penalty, options):
    data = im.datasets.load_example()
    whole = im.IsingModel(data.labels, data.features).fit(penalty=penalty)
    monkeypatch.setattr("isingmlc.model.MAX_BESIDE_ROWS", 2e4)
    model = im.IsingModel(data.labels, data.features)
    assert isinstance(model.statistics.feature_sums, SumsInBlocks)
    blocks = model.fit(penalty=penalty)
    expected, found = (fitted.score_test(**options) for fitted in (whole, blocks))
    for name in ("statistics", "pvalues", "df", "signs"):
        one, two = getattr(expected, name), getattr(found, name)
        np.testing.assert_allclose(two, one, rtol=1e-10, atol=1e-14)
    pd.testing.assert_frame_equal(found.reasons, expected.reasons)
    np.testing.assert_allclose(found.importance, expected.importance, rtol=1e-10)


def test_rows_changed_in_place_are_refused_in_blocks_too(monkeypatch):
    data = im.datasets.load_example()
    features = data.features.to_numpy(dtype=float, copy=True)
    monkeypatch.setattr("isingmlc.model.MAX_BESIDE_ROWS", 2e4)
    res = im.IsingModel(data.labels, features).fit()
    expected = res.score_test().statistics
    rest = res.remove_data()
    features[7, 3] += 1
    for test in (lambda: res.score_test(products="joint"), res.wald_test):
        with pytest.raises(im.exceptions.ModelError, match="changed in place"):
            test()
    # What was tested before and what holds no rows do not mind.
    np.testing.assert_array_equal(res.score_test().statistics, expected)
    np.testing.assert_allclose(rest.score_test().statistics, expected, rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_batches_that_can_be_read_again_are_read_in_blocks(n_jobs):
    labels, features = many_labels()
    batches = [(labels[rows], features[rows]) for rows in np.split(np.arange(300), 6)]
    with pytest.warns(im.exceptions.DataWarning, match="blocks of features"):
        stats = im.LabelsetStatistics.from_batches(batches, max_memory=5e4, n_jobs=n_jobs)
    assert isinstance(stats.feature_sums, SumsInBlocks)
    assert_same(stats, im.LabelsetStatistics.from_arrays(labels, features))
    with pytest.raises(im.exceptions.DataError, match="can be read only once"):
        im.LabelsetStatistics.from_batches(iter(batches), max_memory=5e4)


@pytest.mark.filterwarnings(FEW_ROWS)
def test_batches_that_change_between_blocks_are_refused():
    labels, features = many_labels()
    batches = [(labels[rows], features[rows]) for rows in np.split(np.arange(300), 6)]
    with pytest.warns(im.exceptions.DataWarning, match="blocks of features"):
        stats = im.LabelsetStatistics.from_batches(batches, max_memory=5e4)
    batches[2] = (~batches[2][0], batches[2][1])
    with pytest.raises(im.exceptions.DataError, match="the same rows whenever they are read"):
        im.IsingModel.from_statistics(stats).fit(penalty=1.0).score_test()


# Covariates

CONTEXT = ["age", "smoker", "place"]


def make_context(at):
    """Frame `at` with covariates; one place is in two frames alone, another in one."""
    rng = np.random.default_rng(100 + at)
    frame = FRAMES[at].copy()
    frame["age"] = rng.integers(3, 6, len(frame)) / 2
    frame["smoker"] = rng.random(len(frame)) < 0.3
    places = [["mid", "north"], ["mid", "south"], ["mid"]][at % 3] + ["east"] * (at == 4)
    frame["place"] = rng.choice(places, len(frame))
    return frame


IN_CONTEXT = [make_context(at) for at in range(6)]


def count_cells(batches, **options):
    return count(batches, **{"covariates": CONTEXT, **options})


def assert_same_cells(stats, other):
    assert stats.context.equals(other.context)
    assert_same(stats, other)


@pytest.fixture(scope="module")
def whole_context():
    rows = pd.concat(IN_CONTEXT, ignore_index=True)
    return im.LabelsetStatistics.from_arrays(
        rows[LABELS],
        rows[FEATURES],
        freq_weights=rows["w"].to_numpy(),
        covariates=rows[CONTEXT],
    )


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda frame: frame, id="frame"),
        pytest.param(lambda frame: pa.RecordBatch.from_pandas(frame), id="Arrow record batch"),
        pytest.param(lambda frame: frame.to_dict("list"), id="dict"),
        pytest.param(lambda frame: frame.to_records(index=False), id="structured array"),
        pytest.param(lambda frame: frame.astype({"place": "category"}), id="category"),
        pytest.param(lambda frame: lambda: frame, id="function"),
    ],
)
def test_batches_with_covariates_add_up_to_all_rows(form, whole_context):
    assert whole_context.context.levels == (None, None, ("east", "mid", "north", "south"))
    assert_same_cells(count_cells(form(frame) for frame in IN_CONTEXT), whole_context)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": None, "features": None}, "names columns of tables, but labels does not"),
        ({"covariates": ["age", "a"]}, "'a' is named as label and as covariate"),
        ({"covariates": ["x1", "x2"]}, "'x1', 'x2' are named as feature and as covariate"),
        ({"covariates": ["height"]}, r"in batch 1: the batch lacks the column\(s\) 'height'"),
        ({"covariates": ["age", "age"]}, r"in batch 1: covariates has the name\(s\) 'age' more"),
        ({"covariates": np.ones((3, 2))}, "covariates must name columns, .* but holds ndarray"),
        ({"covariates": 3}, "covariates must name columns, .* but holds int"),
        ({"covariates": ["day"]}, r"in batch 1: .* numbers or categories, .*'day'.* datetime64"),
        ({"covariates": ["size"]}, "in batch 2: covariate 'size' is a number in one part"),
    ],
)
def test_covariates_that_cannot_be_used_are_refused(options, message):
    batches = [frame.assign(day=pd.Timestamp(0)) for frame in IN_CONTEXT[:2]]
    batches[0]["size"], batches[1]["size"] = 1.5, "large"
    given = {"labels": LABELS, "features": FEATURES, "covariates": CONTEXT, **options}
    with pytest.raises(im.exceptions.DataError, match=message):
        im.LabelsetStatistics.from_batches(batches, **given)


def test_cells_of_batches_give_the_tests_of_rows_and_of_r():
    frame = load("context", "data")
    labels, features = [f"y{k}" for k in range(1, 5)], [f"x{j}" for j in range(1, 6)]
    covariates = ["age", "sex", "region"]
    parts = [frame[frame["centre"] % 7 == at] for at in range(7)]
    stats = im.LabelsetStatistics.from_batches(
        parts, labels=labels, features=features, covariates=covariates
    )
    cells = im.IsingModel.from_statistics(stats).fit()
    rows = im.IsingModel(frame[labels], frame[features], covariates=frame[covariates]).fit()
    np.testing.assert_allclose(cells.params, rows.params, rtol=1e-9)
    found = cells.score_test().statistics
    np.testing.assert_allclose(found, rows.score_test().statistics, rtol=1e-9)
    reference = load("context", "edges").set_index(["feature", "label"])["score"]
    np.testing.assert_allclose(
        [found.loc[edge] for edge in reference.index], reference, rtol=1e-6, atol=1e-8
    )


# Last, for the workers have to be started again after it.


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed otherwise here")
def test_a_worker_that_dies_leaves_an_error():
    batches = [lambda frame=frame: frame for frame in FRAMES]
    with pytest.raises(im.exceptions.EngineError, match="a worker process died after"):
        count([*batches[:3], _die, *batches[4:]], n_jobs=2)
