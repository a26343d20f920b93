"""
A million rows with DuckDB
==========================

All that the tests need to know about the rows is their number, and the sums and sums of squares of
the features, in each labelset. A database adds these up without the rows ever coming into Python.
Here a million rows lie in Parquet files, and :func:`isingmlc.scan` has DuckDB read them. This needs
the extra ``engines``, which brings DuckDB and Ibis.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import isingmlc as im

try:
    import duckdb
    import ibis  # noqa: F401  (what im.scan works with)
except ImportError as error:
    raise ImportError(
        f"this example needs DuckDB and Ibis, but they are not installed ({error}). Install the "
        'extra: pip install "isingmlc[engines]".'
    ) from error

# %%
# Rows that the database makes
# ----------------------------
#
# Five labels follow an Ising network. Its 32 labelsets with their probabilities go into the
# database, which draws a labelset for each row and shifts features by what their row carries.
# The shifts are small, a few hundredths of a standard deviation, too small for a thousand rows.

LABELS = ["diabetes", "hypertension", "depression", "asthma", "arthritis"]
SHIFTS = {
    "x1": "0.02 * diabetes + 0.03 * hypertension",
    "x2": "0.02 * depression - 0.03 * asthma",
    "x3": "0.01 * arthritis",
    "x4": "0.04 * diabetes",
    "x5": "-0.02 * hypertension",
    "x6": "0",
    "x7": "0",
    "x8": "0",
}
network = im.simulate.IsingDistribution(np.full(5, -1.5), 0.6 * (1 - np.eye(5)))
labelsets = pd.DataFrame(np.indices((2,) * 5).reshape(5, -1).T.astype("int8"), columns=LABELS)
labelsets["up_to"] = np.cumsum(network.pmf())
normal = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
columns = ", ".join(f"{shift} + {normal} AS {name}" for name, shift in SHIFTS.items())
query = f"""
    SELECT labelsets.* EXCLUDE up_to, {columns}
    FROM (SELECT random() AS draw FROM range(250_000)) ASOF JOIN labelsets ON draw < up_to
"""


def write_rows(folder):
    """Write four Parquet files; on one thread the random numbers are the same every time."""
    with duckdb.connect(config={"threads": 1}) as database:
        database.execute("SELECT setseed(0.1)")
        for part in range(4):
            database.execute(f"COPY ({query}) TO '{folder}/part{part}.parquet'")


def scan_and_measure(files):
    """Scan, and print how long it took and by how much the memory of this process grew."""
    # Linux counts the peak of memory, and forgets it when a 5 is written here.
    peak = Path("/proc/self/clear_refs")
    if peak.exists():
        peak.write_text("5")
        before = memory("VmRSS")
    start = time.perf_counter()
    stats = im.scan(files, labels=LABELS)
    seconds = time.perf_counter() - start
    grown = f"{memory('VmHWM') - before:.0f} MB" if peak.exists() else "(not measured here)"
    print(f"{stats.n_rows} rows: {seconds:.1f} s, at most {grown} of memory more than before")
    return stats


def memory(what):
    """Give the megabytes that this process holds now (VmRSS) or has held at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(what))


# %%
# Scan
# ----
#
# The folder is temporary and goes away with its files. The statistics stay: four arrays, whatever
# the number of rows. Four times the rows take hardly more memory.

with tempfile.TemporaryDirectory() as folder:
    write_rows(folder)
    size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 2**20
    im.scan(f"{folder}/part0.parquet", labels=LABELS)  # the first one loads the engine
    quarter = scan_and_measure(f"{folder}/part0.parquet")
    stats = scan_and_measure(f"{folder}/*.parquet")
print(f"{size:.0f} MB of Parquet became")
print(stats)

# %%
# From here on nothing depends on the number of rows.

model = im.IsingModel.from_statistics(stats)
start = time.perf_counter()
res = model.fit()
edges = res.score_test()
seconds = time.perf_counter() - start
print(f"fit and {edges.statistics.size} tests: {1000 * seconds:.0f} ms")

# %%
# What a million rows show
# ------------------------

axes = res.plot_networks(["x1", "x2"])

# %%
# All shifts are found, with their signs. x6, x7 and x8 do nothing, and nothing is found there.

ax = edges.plot_heatmap(order="given")
