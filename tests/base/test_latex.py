"""Tables of results as LaTeX, compiled by a LaTeX; as Markdown and Excel."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import isingmlc as im
from isingmlc.base.latex import format_number, format_pvalue
from isingmlc.exceptions import DataError

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

pytestmark = pytest.mark.filterwarnings(FEW_ROWS)
HOSTILE = [
    "a_b & 50%",
    "back\\slash{x}",
    "[0.5] *x* ~ ^2 <y> |z| #1 $",
    "VERYLONGNAMEWITHOUTANYPLACETOBREAKITSUCHASAGENEORACOMPOUNDHASITXXXXXXXXXXXXX",
    "questionnaire_item_number_17_severity_in_the_last_four_weeks_or_before",
    "naïve – β × µ²",
    "--x``y''\tz",
]


def draw(n_labels, names=None, n_rows=300):
    rng = np.random.default_rng(n_labels)
    common = rng.normal(size=(n_rows, 1))
    labels = (rng.normal(size=(n_rows, n_labels)) + 0.8 * common > 0.7).astype(int)
    names = names or [f"symptom_{at}_severe" for at in range(n_labels)]
    features = pd.DataFrame(
        {
            "age & sex": rng.normal(size=n_rows) + common[:, 0],
            "x_2": rng.normal(size=n_rows),
            f"{HOSTILE[3]}_2": rng.integers(0, 2, n_rows),
        }
    )
    return pd.DataFrame(labels, columns=names), features


@pytest.fixture(scope="module")
def tables():
    """Return every table of ours as LaTeX, by name."""
    found = {}
    data = im.datasets.load_example()
    for name, (labels, features) in {
        "example": (data.labels, data.features),
        "hostile": draw(len(HOSTILE), HOSTILE),
        "eight": draw(8),
        "twenty": draw(20),
    }.items():
        model = im.IsingModel(labels, features, covariates=features.iloc[:, [1]].add_prefix("c_"))
        res = model.fit(penalty=1.0)
        edges = res.score_test()
        wald = res.wald_test(features.columns[:2])
        ranking = im.rank_features(labels, features)
        net = im.IsingModel(labels).fit_regularized()
        frames = {
            "params": res.params,
            "bse": res.bse,
            "pvalues": res.pvalues,
            "conf_int": res.conf_int(),
            "interactions": res.interactions,
            "to_frame": res.to_frame(),
            "diagnostics": res.diagnostics,
            "predictability": res.predictability(),
            "centrality": res.centrality(),
            "compare_tests": res.compare_tests(features.columns[0]),
            "edges": edges.to_frame(),
            "edge_pvalues": edges.pvalues,
            "feature_tests": edges.feature_tests(),
            "wald": wald.to_frame(),
            "wald_intervals": wald.conf_int(),
            "ranking": ranking.to_frame(),
            "contributions": ranking.contributions,
            "net": net.to_frame(),
            "net_matrix": net.interactions,
            "net_diagnostics": net.diagnostics,
        }
        for kind, frame in frames.items():
            assert isinstance(frame, im.ResultTable), kind
            found[f"{name} {kind}"] = frame.to_latex(caption=f"{kind.replace('_', ' ')}.")
        found[f"{name} edges to_latex"] = edges.to_latex(top=30)
        found[f"{name} wald to_latex"] = wald.to_latex()
        for kind, summary in {
            "res": res.summary(),
            "edges": edges.summary(),
            "ranking": ranking.summary(),
            "net": net.summary(),
        }.items():
            found[f"{name} summary of {kind}"] = summary.as_latex()
    return found


def compile_latex(texts, folder, size, preamble=""):
    """Return what LaTeX complains about, by table."""
    body = "\n\\clearpage\n".join(
        f"\\typeout{{TABLE {name}}}\n{text}" for name, text in texts.items()
    )
    (folder / "all.tex").write_text(
        f"\\documentclass[{size}]{{article}}\n{preamble}\\usepackage{{booktabs,longtable}}\n"
        f"\\begin{{document}}\n{body}\n\\end{{document}}\n",
        encoding="utf-8",
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "all.tex"]
    run = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    current, wrong = "", []
    for line in run.stdout.decode("utf-8", "replace").splitlines():
        if line.startswith("TABLE "):
            current = line
        if line.startswith(("!", "Overfull", "l.")) or "Float too large" in line:
            wrong.append((current, line))
    assert run.returncode == 0, wrong[-3:]
    return wrong


@pytest.mark.latex
@pytest.mark.parametrize(
    ("size", "preamble"), [("10pt", ""), ("12pt", "\\usepackage[T1]{fontenc}\n")]
)
@pytest.mark.filterwarnings(FEW_ROWS)
def test_every_table_compiles_and_stays_on_the_page(tables, tmp_path, size, preamble):
    assert compile_latex(tables, tmp_path, size, preamble) == []


@pytest.mark.parametrize(("name", "n_labels"), [("eight", 8), ("twenty", 20)])
def test_no_label_is_lost(tables, name, n_labels):
    for kind in ("params", "interactions", "edge_pvalues", "to_frame", "contributions"):
        # Names may be broken into lines.
        text = re.sub(r"\\\\(?=[\w\\])", "", tables[f"{name} {kind}"])
        for at in range(n_labels):
            assert f"symptom\\_{at}\\_severe" in text
    if n_labels == 8:
        blocks = re.findall(r"symptom\\_(\d)\\_severe & coef", tables[f"{name} summary of res"])
        assert blocks == list("01234567")


def test_pvalues_are_written_as_papers_do(tables):
    assert format_pvalue(0.0005) == "<0.001"
    assert format_pvalue(0.001) == "0.001"
    assert format_pvalue(0.9999) == "1.000"
    assert "0.000000" not in "".join(tables.values())
    rows = tables["example edges to_latex"].splitlines()
    first = next(row for row in rows if row.startswith("age & hypertension"))
    assert re.fullmatch(r"age & hypertension & \+ & [\d.]+ & \$<\$0.001 & \$<\$0.001 \\\\", first)
    summary = tables["example summary of edges"]
    assert re.search(r"age & hypertension & \$\+1\$ & [\d.]+ & 1 & \$<\$0.001", summary)


def test_numbers_never_show_as_zero_unless_they_are():
    assert format_number(1e-9, 3) == "1.0e-09"
    assert format_number(0.0, 3) == "0.000"
    assert format_number(-np.inf) == "−∞"
    assert format_number(12345678.0, 2) == "1.2e+07"
    frame = im.ResultTable({"coef": [1e-9, -np.inf, np.nan, -2.5], "n": [1, 2, 3, 4]})
    rows = frame.to_latex(digits=1).splitlines()[6:10]
    expected = [r"$1.0\times10^{-9}$ & 1 \\", r"$-$$\infty$ & 2 \\", r"-- & 3 \\", r"$-2.5$ & 4 \\"]
    assert rows == expected


def test_long_tables_have_their_head_on_every_page():
    frame = im.ResultTable({"label": [f"y{at}" for at in range(60)], "coef": np.arange(60) / 7})
    text = frame.to_latex(caption="All.", label="tab:all")
    assert text.startswith("\\begin{longtable}{@{}lr@{}}\n\\caption{All.}\\label{tab:all}\\\\")
    assert text.count("label & coef") == 2
    assert "longtable" not in frame.head(20).to_latex()


def test_files_are_written(tmp_path):
    edges = im.IsingModel(*draw(3)).fit().score_test()
    path = tmp_path / "edges.tex"
    assert edges.to_latex(path, top=2) is None
    assert path.read_text(encoding="utf-8") == edges.to_latex(top=2) + "\n"
    with pytest.raises(DataError, match="digits"):
        edges.to_frame().to_latex(digits=-1)
    with pytest.raises(DataError, match="top"):
        edges.to_latex(top=0)


def test_markdown_and_excel_are_pandas(tmp_path):
    table = im.IsingModel(draw(3)[0]).fit().network_table()
    assert table.to_markdown().startswith("|")
    table.to_excel(tmp_path / "network.xlsx", index=False)
    back = pd.read_excel(tmp_path / "network.xlsx")
    np.testing.assert_allclose(back["weight"], table["weight"])
    np.testing.assert_allclose(back["pvalue"], table["pvalue"])
    assert back["first"].tolist() == table["first"].tolist()


def test_markdown_keeps_names_and_pvalues(tmp_path):
    labels = draw(3)[0].set_axis(["007", "1e5", "a|b"], axis=1)
    res = im.IsingModel(labels).fit()
    rows = res.to_frame().to_markdown().splitlines()
    cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", rows[0])[1:-1]]
    assert cells[:6] == ["label", "term", "coef", "std err", "z", r"P>\|z\|"]
    first = [cell.strip() for cell in re.split(r"(?<!\\)\|", rows[3])[1:-1]]
    assert first[:2] == ["007", "1e5"]
    assert float(first[5]) == pytest.approx(res.pvalues.loc["1e5", "007"], rel=1e-4)
    assert "| 1e5 " in res.pvalues.to_markdown()
    assert "a|b" in res.to_frame().to_markdown(tablefmt="plain")
    path = tmp_path / "table.md"
    res.to_frame().to_markdown(path)
    assert path.read_text(encoding="utf-8").splitlines() == rows
    frame = im.ResultTable({"p": [1e-9]}, index=["007"])
    assert frame.to_markdown().splitlines()[2] == "| 007 | 1e-09 |"


def test_tables_say_what_to_install(monkeypatch, tmp_path):
    table = im.ResultTable({"p": [0.5]})
    absent = ("tabulate", "openpyxl", "xlsxwriter")
    loaded = [name for name in sys.modules if name.startswith("openpyxl.")]
    for name in (*absent, *loaded):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DataError, match=r'needs tabulate.*pip install "isingmlc\[tables\]"'):
        table.to_markdown()
    with pytest.raises(DataError, match=r'needs openpyxl.*pip install "isingmlc\[tables\]"'):
        table.to_excel(tmp_path / "t.xlsx")
