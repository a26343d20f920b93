"""How many lines of code each folder has: they may fall, and rise only for a stated reason.

    python tests/project/test_size.py                   # write the table of sizes again
    python tests/project/test_size.py --reason "why"    # the same where a number rises

Lines of code are those without docstrings, comments and blank lines; lines of docstrings are
counted apart. The table is ``sizes.csv``.
"""

import argparse
import ast
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("sizes.csv")
COUNTS = ["code", "docstrings"]
# Lines by which a folder may shrink before the table must be written again.
ROOM = 200


def count_lines(text):
    """Return the numbers of lines of code and of docstrings of a module."""
    described = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and (
            ast.get_docstring(node, clean=False) is not None
        ):
            described.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    code = [at for at, line in lines if line and not line.startswith("#") and at not in described]
    return len(code), len(described)


def measure(root):
    """Return the lines of each folder of the package, and of all tests."""
    rows = []
    for path in [*root.glob("isingmlc/**/*.py"), *root.glob("tests/**/*.py")]:
        parts = path.relative_to(root).parts[:-1]
        folder = "/".join(parts[:1] if parts[0] == "tests" else parts[:2])
        rows.append((folder, *count_lines(path.read_text(encoding="utf-8"))))
    return pd.DataFrame(rows, columns=["folder", *COUNTS]).groupby("folder").sum()


def read_table():
    return pd.read_csv(TABLE, index_col="folder", keep_default_na=False)


def update(table, sizes, reason=""):
    """Return the table with other sizes; where a number rises there must be a reason."""
    known = table.reindex(sizes.index)
    rises = (sizes > known[COUNTS].fillna(0)).any(axis=1)
    if rises.any() and not reason:
        folders = ", ".join(sizes.index[rises])
        raise SystemExit(f"These folders have grown: {folders}. Shrink them, or say why: --reason")
    return sizes.assign(reason=known["reason"].fillna("").mask(rises, reason))


def test_no_folder_has_more_lines_than_the_table_says():
    table, sizes = read_table(), measure(ROOT)
    assert list(sizes.index) == list(table.index)
    grown = (sizes > table[COUNTS]).any(axis=1)
    assert not list(sizes.index[grown]), "shrink these folders, or run this file with --reason"
    fallen = (sizes < table[COUNTS] - ROOM).any(axis=1)
    assert not list(sizes.index[fallen]), "run this file, so that these folders stay as small"


def test_a_number_rises_only_with_a_reason():
    table = pd.DataFrame(
        {"code": [10, 20], "docstrings": [5, 5], "reason": ["", "once"]}, index=["a", "b"]
    )
    sizes = pd.DataFrame({"code": [9, 20], "docstrings": [5, 4]}, index=["a", "b"])
    assert update(table, sizes).equals(sizes.assign(reason=["", "once"]))
    sizes.loc["c"] = [1, 0]
    sizes.loc["a", "docstrings"] = 6
    with pytest.raises(SystemExit, match=r"have grown: a, c\."):
        update(table, sizes)
    assert update(table, sizes, "why")["reason"].tolist() == ["why", "once", "why"]


def test_docstrings_comments_and_blank_lines_are_no_code():
    text = '"""One\n\ntwo."""\n\n# no\nX = """a\nb"""\n\n\ndef f():\n    """One."""\n    return X\n'
    assert count_lines(text) == (4, 4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the table of sizes again.")
    parser.add_argument("--reason", default="", help="why a number rises")
    update(read_table(), measure(ROOT), parser.parse_args().reason).to_csv(TABLE)
