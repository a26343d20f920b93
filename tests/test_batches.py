"""Rows in batches: every form they come in, workers, checkpoints, and blocks of features."""

import os
import signal
import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from golden import load
from scipy import sparse

import isingmlc as im
from isingmlc.statistics.blocks import SumsInBlocks
from isingmlc.statistics.labelsets import feature_blocks, in_memory

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


def test_chunks_of_a_csv_file_add_up_to_all_rows(tmp_path, whole):
    pd.concat(FRAMES).to_csv(tmp_path / "rows.csv", index=False)
    with pd.read_csv(tmp_path / "rows.csv", chunksize=47) as chunks:
        assert_same(count(chunks), whole)


def test_workers_give_the_numbers_of_one_process(whole):
    alone = count(FRAMES)
    for batches in (iter(FRAMES), [lambda frame=frame: frame for frame in FRAMES]):
        together = count(batches, n_jobs=2)
        np.testing.assert_array_equal(together.sums, alone.sums)
        assert_same(together, whole)


def interrupted(error):
    yield from FRAMES[:4]
    raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("the disk is gone")])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_scan_goes_on_from_its_checkpoint(tmp_path, whole, error, n_jobs):
    path = tmp_path / "checkpoint.npz"
    with pytest.raises(type(error)):
        count(interrupted(error), checkpoint=path, n_jobs=n_jobs)
    # The checkpoint is the statistics of the batches so far.
    assert im.LabelsetStatistics.load(path).n_rows in (180, 240)
    read = []

    def reader(at):
        read.append(at)
        return FRAMES[at]

    resumed = count([lambda at=at: reader(at) for at in range(6)], checkpoint=path)
    assert_same(resumed, whole)
    # The first is looked at, to see that it is the same; those that are counted are not read.
    assert read in ([0, 4, 5], [0, 3, 4, 5])


def test_a_finished_checkpoint_takes_up_batches_that_come_later(tmp_path, whole):
    path = tmp_path / "checkpoint.npz"
    count(FRAMES[:5], checkpoint=path)
    assert_same(count(FRAMES, checkpoint=path), whole)
    assert_same(count(FRAMES, checkpoint=path), whole)


def test_checkpoints_are_written_while_batches_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr("isingmlc.statistics.sources.checkpoints._SECONDS", 0.0)
    path = tmp_path / "checkpoint.npz"

    def watched():
        for at, frame in enumerate(FRAMES):
            if at > 1:
                assert im.LabelsetStatistics.load(path).n_rows == 60 * (at - 1) + 60
            yield frame

    count(watched(), checkpoint=path)


def test_a_checkpoint_is_not_resumed_with_anything_else(tmp_path):
    path = tmp_path / "checkpoint.npz"
    count(FRAMES[:3], checkpoint=path)
    with pytest.raises(im.exceptions.DataError, match=r"made with missing='raise', but missing="):
        count(FRAMES, checkpoint=path, missing="drop")
    with pytest.raises(im.exceptions.DataError, match="begins with another"):
        count(FRAMES[1:], checkpoint=path)
    with pytest.raises(im.exceptions.DataError, match="the 3 batches that the checkpoint counts"):
        count(FRAMES[:2], checkpoint=path)
    im.LabelsetStatistics.load(path).save(path)
    with pytest.raises(im.exceptions.FileError, match="not a checkpoint"):
        count(FRAMES, checkpoint=path)


def test_a_full_disk_leaves_no_half_of_a_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint.npz"
    count(FRAMES[:2], checkpoint=path)
    before = path.read_bytes()

    def full_disk(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(im.exceptions.FileError, match="No space left"):
        count(FRAMES, checkpoint=path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


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


@pytest.mark.parametrize("max_memory", [None, 1500])
def test_batches_say_which_columns_cost_rows_as_all_rows_at_once_do(tmp_path, max_memory):
    rng = np.random.default_rng(5)
    gaps = []
    wide = [f"z{at}" for at in range(20)]
    columns = {"labels": LABELS, "features": [*FEATURES, *wide], "freq_weights": "w"}
    read = partial(im.LabelsetStatistics.from_batches, missing="drop", **columns)
    for frame in FRAMES:
        holes = frame.astype({"a": float, "x2": float, "w": float})
        holes[wide] = 1.0
        for name, n_lost in (("a", 2), ("x2", 9), ("x1", 9), ("w", 1)):
            holes.loc[rng.choice(len(frame), n_lost, replace=False), name] = np.nan
        gaps.append(holes)
    every = pd.concat(gaps)
    with pytest.warns(im.exceptions.DataWarning) as caught:
        im.LabelsetStatistics.from_arrays(
            every[LABELS], every[FEATURES], freq_weights=every["w"].to_numpy(), missing="drop"
        )
    (expected,) = {str(warning.message) for warning in caught}
    assert "'x1' lacks 54 values (" in expected
    with pytest.warns(im.exceptions.DataWarning) as caught:
        stats = read(gaps, max_memory=max_memory)
    assert isinstance(stats.source, SumsInBlocks) == (max_memory is not None)
    said = [str(warning.message) for warning in caught]
    assert [text for text in said if "missing values" in text] == [expected]
    # What was counted before an interruption is kept.
    path = tmp_path / "checkpoint.npz"
    with pytest.warns(im.exceptions.DataWarning):
        read(gaps[:3], checkpoint=path)
    with pytest.warns(im.exceptions.DataWarning) as caught:
        read(gaps, checkpoint=path)
    assert str(caught[0].message) == expected


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


@pytest.mark.parametrize("method", ["mle", "ridge"])
@pytest.mark.parametrize(
    "options",
    [{}, {"products": "individual"}, {"products": "joint"}, {"pvalue": "saddlepoint"}],
    ids=str,
)
def test_tests_in_blocks_give_the_same_numbers(monkeypatch, method, options):
    data = im.datasets.load_example()
    whole = im.IsingModel(data.labels, data.features).fit(method=method)
    monkeypatch.setattr("isingmlc.model.MAX_MEMORY", 2e4)
    model = im.IsingModel(data.labels, data.features)
    with pytest.warns(im.exceptions.DataWarning, match="blocks of features"):
        assert isinstance(model.statistics.feature_sums, SumsInBlocks)
    blocks = model.fit(method=method)
    expected, found = (fitted.score_test(**options) for fitted in (whole, blocks))
    for name in ("statistics", "pvalues", "df", "signs"):
        one, two = getattr(expected, name), getattr(found, name)
        np.testing.assert_allclose(two, one, rtol=1e-10, atol=1e-14)
    pd.testing.assert_frame_equal(found.reasons, expected.reasons)
    np.testing.assert_allclose(found.importance, expected.importance, rtol=1e-10)


def test_tests_in_blocks_take_little_memory():
    rng = np.random.default_rng(0)
    labels, features = rng.random((3000, 12)) < 0.5, rng.normal(size=(3000, 400)).astype("f4")
    with pytest.warns(im.exceptions.DataWarning, match=r"would take 0.014 GB"):
        stats = im.LabelsetStatistics.from_arrays(labels, features, max_memory=2e6)
    fit = im.IsingModel.from_statistics(stats).fit(method="ridge")
    fit.score_test()
    tracemalloc.start()
    fit.score_test()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The whole sums and squares; besides the blocks, tests hold some arrays of labelsets × labels.
    assert peak < 16 * len(stats.counts) * 400 / 2


def test_rows_changed_in_place_are_refused_in_blocks_too(monkeypatch):
    data = im.datasets.load_example()
    features = data.features.to_numpy(dtype=float, copy=True)
    monkeypatch.setattr("isingmlc.model.MAX_MEMORY", 2e4)
    res = im.IsingModel(data.labels, features).fit()
    with pytest.warns(im.exceptions.DataWarning):
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
        im.IsingModel.from_statistics(stats).fit(method="ridge").score_test()


def test_statistics_in_blocks_are_saved_whole(tmp_path):
    labels, features = many_labels()
    blocks = in_blocks(labels, features)
    blocks.save(tmp_path / "stats.npz")
    again = im.LabelsetStatistics.load(tmp_path / "stats.npz")
    assert not isinstance(again.feature_sums, SumsInBlocks)
    np.testing.assert_array_equal(again.sums, blocks.sums)
    np.testing.assert_array_equal(again.squares, blocks.squares)


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


def as_tuple(frame):
    return frame[LABELS], frame[FEATURES], frame["w"].to_numpy(), frame[CONTEXT]


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


def test_tuples_hold_covariates_in_the_fourth_place(whole_context):
    tuples = [as_tuple(frame) for frame in IN_CONTEXT]
    assert_same_cells(im.LabelsetStatistics.from_batches(tuples), whole_context)
    numbers = [
        (labels, features, None, context[["age", "smoker"]].to_numpy(dtype=float))
        for labels, features, _, context in tuples
    ]
    rows = pd.concat(IN_CONTEXT, ignore_index=True)
    expected = im.LabelsetStatistics.from_arrays(
        rows[LABELS], rows[FEATURES], covariates=rows[["age", "smoker"]].to_numpy(dtype=float)
    )
    assert expected.context.names == ("c1", "c2")
    assert_same_cells(im.LabelsetStatistics.from_batches(numbers), expected)
    alone = im.LabelsetStatistics.from_batches(
        (labels, None, None, context) for labels, _, _, context in tuples
    )
    assert alone.feature_names == ()
    np.testing.assert_array_equal(alone.context.numbers, whole_context.context.numbers)


def test_all_columns_but_covariates_are_features():
    frame = IN_CONTEXT[0].drop(columns="w")
    stats = im.LabelsetStatistics.from_batches([frame], labels=LABELS, covariates=CONTEXT)
    assert stats.feature_names == tuple(FEATURES)
    alone = im.LabelsetStatistics.from_batches(
        [frame.drop(columns=["smoker", "place"])], labels=LABELS, covariates="age"
    )
    assert (alone.feature_names, alone.context.names) == (tuple(FEATURES), ("age",))


def test_the_order_of_parts_with_covariates_does_not_matter(whole_context):
    parts = [count_cells([frame]) for frame in IN_CONTEXT]
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(6)
        assert_same_cells(sum(parts[at] for at in order), whole_context)
        assert_same_cells(count_cells(IN_CONTEXT[at] for at in order), whole_context)


def test_workers_know_the_covariates(whole_context):
    alone, together = count_cells(IN_CONTEXT), count_cells(IN_CONTEXT, n_jobs=2)
    np.testing.assert_array_equal(together.sums, alone.sums)
    assert_same_cells(together, whole_context)


def test_a_checkpoint_knows_the_covariates(tmp_path, whole_context):
    path = tmp_path / "checkpoint.npz"
    count_cells(IN_CONTEXT[:2], checkpoint=path)
    assert im.LabelsetStatistics.load(path).context.names == tuple(CONTEXT)
    with pytest.raises(im.exceptions.DataError, match=r"made with covariates=\['age', 'smoker'"):
        count_cells(IN_CONTEXT, checkpoint=path, covariates=["age"])
    for other in ({"age": 1.0}, {"place": IN_CONTEXT[0]["place"].str.upper()}):
        first = IN_CONTEXT[0].assign(**other)
        with pytest.raises(im.exceptions.DataError, match="begins with another"):
            count_cells([first, *IN_CONTEXT[1:]], checkpoint=path)
    assert_same_cells(count_cells(IN_CONTEXT, checkpoint=path), whole_context)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.filterwarnings(FEW_ROWS)
def test_batches_with_many_cells_are_read_in_blocks(n_jobs):
    rng = np.random.default_rng(3)
    labels, features = rng.random((300, 4)) < 0.4, rng.normal(size=(300, 23))
    covariates = pd.DataFrame({"bmi": rng.normal(size=300), "place": rng.choice(["a", "b"], 300)})
    batches = [
        (labels[rows], features[rows], None, covariates.iloc[rows])
        for rows in np.split(np.arange(300), 6)
    ]
    message = r"within 300 cells would take .* blocks of features"
    with pytest.warns(im.exceptions.DataWarning, match=message):
        stats = im.LabelsetStatistics.from_batches(batches, max_memory=5e4, n_jobs=n_jobs)
    assert isinstance(stats.feature_sums, SumsInBlocks)
    expected = im.LabelsetStatistics.from_arrays(labels, features, covariates=covariates)
    assert_same_cells(stats, expected)
    with pytest.raises(im.exceptions.DataError, match="can be read only once"):
        im.LabelsetStatistics.from_batches(iter(batches), max_memory=5e4)
    with pytest.raises(im.exceptions.DataError, match=r"not have more than 65 cells .*round"):
        im.LabelsetStatistics.from_batches(batches, max_memory=1e4)
    batches[2] = (*batches[2][:3], batches[2][3].assign(place="b"))
    with pytest.raises(im.exceptions.DataError, match="other labels or covariates"):
        im.IsingModel.from_statistics(stats).fit().score_test()


def test_missing_covariates_are_counted_in_their_batch_or_dropped():
    gaps = [frame.astype({"age": float, "place": object}) for frame in IN_CONTEXT]
    gaps[3].loc[[2, 5], "age"] = np.nan
    gaps[3].loc[5, "place"] = None
    message = (
        r"in batch 4: covariates has missing values in 2 row\(s\), .*'age' \(2\), 'place' \(1\)"
    )
    with pytest.raises(im.exceptions.DataError, match=message):
        count_cells(gaps)
    gaps[5]["place"] = None
    with pytest.warns(im.exceptions.DataWarning, match="^62 of 360 rows have missing values"):
        stats = count_cells(gaps, missing="drop")
    kept = [*IN_CONTEXT[:3], IN_CONTEXT[3].drop(index=[2, 5]), IN_CONTEXT[4]]
    assert_same_cells(stats, count_cells(kept))


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


def test_tuples_of_another_length_or_with_other_covariates_are_refused():
    tuples = [as_tuple(frame) for frame in IN_CONTEXT[:2]]
    with pytest.raises(im.exceptions.DataError, match="yielded a tuple of 7"):
        im.LabelsetStatistics.from_batches([(*tuples[0], None, None, None)])
    with pytest.raises(im.exceptions.DataError, match=r"in batch 2: .* and the other none"):
        im.LabelsetStatistics.from_batches([tuples[0], tuples[1][:3]])
    with pytest.raises(im.exceptions.DataError, match="in batch 1: labels has 60 rows and cov"):
        im.LabelsetStatistics.from_batches([(*tuples[0][:3], tuples[0][3][:9])])


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
def test_a_worker_that_dies_leaves_an_error_and_the_checkpoint(tmp_path, whole):
    path = tmp_path / "checkpoint.npz"
    batches = [lambda frame=frame: frame for frame in FRAMES]
    with pytest.raises(im.exceptions.EngineError, match="a worker process died after") as caught:
        count([*batches[:3], _die, *batches[4:]], checkpoint=path, n_jobs=2)
    assert str(path) in str(caught.value)
    assert_same(count(batches, checkpoint=path), whole)
