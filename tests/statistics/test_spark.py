"""The same statistics from Spark, DuckDB, pandas and batches.

A local Spark session with two workers' worth of partitions. It needs ``pip install
"isingmlc[engines,spark]"`` and Java 17 or later.
"""

import numpy as np
import pandas as pd
import pytest

import isingmlc as im

pa = pytest.importorskip("pyarrow", reason='needs pip install "isingmlc[engines]"')
pq = pytest.importorskip("pyarrow.parquet", reason='needs pip install "isingmlc[engines]"')

ibis = pytest.importorskip("ibis", reason='needs pip install "isingmlc[engines]"')
spark_sql = pytest.importorskip("pyspark.sql", reason='needs pip install "isingmlc[spark]"')

pytestmark = [
    pytest.mark.spark,
    # What Spark and Ibis do not yet know of newer versions of pandas and DuckDB.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

LABELS = ["a", "b", "c"]
FEATURES = ["x1", "x2", "x3"]
COVARIATES = ["age", "smoker", "place"]


def make_frame():
    rng = np.random.default_rng(5)
    n = 600
    frame = pd.DataFrame((rng.random((n, 3)) < [0.5, 0.4, 0.3]).astype(np.int8), columns=LABELS)
    frame["a"] = frame["a"].astype(bool)
    frame["x1"] = 1e6 + 1 / 3 + 1e-2 * rng.normal(size=n)
    frame["x2"] = rng.normal(size=n).astype(np.float32)
    frame["x3"] = rng.integers(-(2**31), 2**31 - 1, n, dtype=np.int32)
    frame["w"] = rng.integers(1, 4, n)
    frame["age"] = rng.integers(40, 44, n) / 2
    frame["smoker"] = rng.random(n) < 0.3
    frame["place"] = rng.choice(["north", "mid", "Über"], n)
    # One labelset occurs in one partition only.
    rare = frame[LABELS].all(axis=1) & (frame.index >= 200)
    return frame[~rare].reset_index(drop=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Parquet files, one of them without rows."""
    folder = tmp_path_factory.mktemp("rows")
    table = pa.Table.from_pandas(make_frame(), preserve_index=False)
    for at, rows in enumerate((table[:200], table[:0], table[200:350], table[350:])):
        pq.write_table(rows, folder / f"part{at}.parquet")
    return folder


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    work = tmp_path_factory.mktemp("spark")
    session = (
        spark_sql.SparkSession.builder.master("local[2]")
        .appName("isingmlc")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(work))
        .config("spark.local.dir", str(work))
        .config("spark.sql.shuffle.partitions", "2")
        # Every file makes a partition, the empty one too.
        .config("spark.sql.files.maxPartitionBytes", "100000")
        .config("spark.sql.files.openCostInBytes", "100000")
        .config("spark.sql.adaptive.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def assert_same(stats, other, rtol=1e-12):
    other = other.recenter(stats.shift)
    assert (stats.label_names, stats.feature_names) == (other.label_names, other.feature_names)
    assert stats.n_rows == other.n_rows
    np.testing.assert_array_equal(stats.patterns, other.patterns)
    assert stats.context.equals(other.context)
    np.testing.assert_array_equal(stats.counts, other.counts)
    size = np.sqrt(other.squares * other.counts[:, None])
    assert (np.abs(stats.sums - other.sums) <= rtol * size).all()
    np.testing.assert_allclose(stats.squares, other.squares, rtol=rtol)


@pytest.fixture(scope="module")
def table(session, folder):
    rows = session.read.parquet(str(folder))
    rows.createOrReplaceTempView("rows")
    assert rows.rdd.getNumPartitions() == 4
    inside = rows.select(
        *LABELS, spark_sql.functions.spark_partition_id().alias("partition")
    ).toPandas()
    assert inside["partition"].nunique() == 3
    assert len(set(inside.loc[inside[LABELS].all(axis=1), "partition"])) == 1
    return ibis.pyspark.connect(session).table("rows")


@pytest.mark.parametrize("covariates", [None, COVARIATES])
@pytest.mark.parametrize("weights", [None, "w"])
def test_spark_duckdb_pandas_and_batches_agree(table, folder, weights, covariates):
    frame = make_frame()
    options = {
        "labels": LABELS,
        "features": FEATURES,
        "covariates": covariates,
        "freq_weights": weights,
    }
    spark = im.LabelsetStatistics.from_table(table, **options)
    duckdb = im.scan(folder, **options)
    pandas = im.LabelsetStatistics.from_arrays(
        frame[LABELS],
        frame[FEATURES],
        covariates=None if covariates is None else frame[covariates],
        freq_weights=None if weights is None else frame[weights].to_numpy(),
    )
    batches = im.LabelsetStatistics.from_batches(
        (pq.read_table(path) for path in sorted(folder.iterdir())), **options
    )
    for other in (duckdb, pandas, batches):
        assert_same(spark, other)
        assert_same(duckdb, other)


def test_gaps_and_wrong_labels_are_found_by_spark(table):
    gaps = table.mutate(x1=(table.x2 > 1).ifelse(None, table.x1), x2=table.x2.sqrt())
    options = {"labels": LABELS, "features": FEATURES, "missing": "drop"}
    with pytest.warns(im.exceptions.DataWarning, match="rows have missing values"):
        stats = im.LabelsetStatistics.from_table(gaps, **options)
    frame = make_frame()
    kept = frame[frame["x2"].between(0, 1)]
    # The square root of a number below zero is NaN to Spark, and missing here.
    pandas = im.LabelsetStatistics.from_arrays(
        kept[LABELS], kept[FEATURES].astype(float).assign(x2=np.sqrt(kept["x2"].astype(float)))
    )
    assert_same(stats, pandas)
    odd = table.mutate(b=(table.x2 > 2).ifelse(2, table.b))
    with pytest.raises(im.exceptions.DataError, match="column 'b' holds 2"):
        im.LabelsetStatistics.from_table(odd, labels=LABELS, features=FEATURES)
    lost = table.mutate(place=(table.x2 > 2).ifelse(None, table.place))
    with pytest.raises(im.exceptions.DataError, match=r"covariates has missing .*'place' \(\d+\)"):
        im.LabelsetStatistics.from_table(
            lost, labels=LABELS, features=FEATURES, covariates=COVARIATES
        )
