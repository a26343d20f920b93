"""The command line, through a subprocess."""

import os
import subprocess
import sys

import isingmlc as im


def run(*arguments):
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from isingmlc.cli import main; raise SystemExit(main())",
            *arguments,
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )


def test_demo_prints_the_summary_and_the_ranking():
    done = run("demo", "--top", "3")
    assert done.returncode == 0, done.stderr
    assert "simulated" in done.stdout.splitlines()[0]
    assert "Ising Model Results" in done.stdout
    assert "The 3 most important of 30 features" in done.stdout
    data = im.datasets.load_example()
    top = im.IsingModel(data.labels, data.features).fit().rank_features().top(3)
    last = done.stdout.strip().splitlines()[-3:]
    assert tuple(line.split()[0] for line in last) == top
    assert done.stderr == ""


def test_mistakes_are_one_line_and_exit_code_two():
    done = run("demo", "--top", "0")
    assert done.returncode == 2
    assert "--top: must be at least 1, but is 0" in done.stderr
    assert "Traceback" not in done.stderr
    assert run().returncode == 2
    assert run("dance").returncode == 2


def test_version_and_help_answer():
    assert run("--version").stdout.strip() == f"isingmlc {im.__version__}"
    assert "demo" in run("--help").stdout


def test_a_reader_that_stops_early_gets_no_traceback():
    command = "from isingmlc.cli import main; raise SystemExit(main(['demo']))"
    with subprocess.Popen(
        [sys.executable, "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
