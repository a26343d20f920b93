"""Count the small errors in the numerical code that the tests find.

    python benchmarks/mutants.py choose            # writes mutants.json anew
    python benchmarks/mutants.py run tests/contract tests/fitting tests/inference

Each mutant is one edit of one statement of ``fitting`` or ``inference``: another sign, comparison
or constant, a term or a branch left out. They are a systematic sample of all such edits, and are
addressed by the text of the statement, so that they survive unrelated changes. Each is made in a
copy of the tree, and the tests that execute the statement run until the first of them fails.
"""

import argparse
import ast
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

TABLE = Path(__file__).with_name("mutants.json")
FOLDERS = ("isingmlc/fitting", "isingmlc/inference")
SWAPPED = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
}
# Statements of which a change alters speed, memory or messages, but no number.
NOT_NUMBERS = ("BYTES", "chunks", "raise ", "warn", 'f"', "is None", "is not None", "isinstance")
TIMEOUT = 1800
SEED = "--hypothesis-seed=0"
# What children find imported: everything but the package itself.
LIBRARIES = ("matplotlib.pyplot", "sklearn.linear_model", "statsmodels.formula.api")
PROBE = """
import os

seen = set()


def hit(number):
    test = os.environ.get("PYTEST_CURRENT_TEST")
    if test and (number, test) not in seen:
        seen.add((number, test))
        with open("{hits}", "a") as file:
            print(number, test, file=file)
"""


def edits_of(node):
    """Yield what may stand in the place of an expression."""
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        yield ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)
        if isinstance(node.op, ast.Add | ast.Sub):
            yield node.left
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SWAPPED:
        yield ast.Compare(node.left, [SWAPPED[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value > 1e-3:
        yield ast.Constant(node.value * 1.25 if type(node.value) is float else node.value + 1)


def mutants_of(path):
    """Yield every edit of a module as its statement before and after."""
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    inside = {
        statement
        for each in ast.walk(ast.parse(text))
        if isinstance(each, ast.FunctionDef)
        for statement in ast.walk(each)
    }
    for statement in sorted(
        (each for each in inside if isinstance(each, ast.stmt)), key=lambda each: each.lineno
    ):
        branch = isinstance(statement, ast.If | ast.While)
        if not branch and not isinstance(statement, ast.Assign | ast.AugAssign | ast.Return):
            continue
        last = statement.test.end_lineno if branch else statement.end_lineno
        old = "".join(lines[statement.lineno - 1 : last])
        does = "".join(lines[statement.lineno - 1 : statement.end_lineno])
        skipped = any(word in (does if branch else old) for word in NOT_NUMBERS)
        if skipped or text.count(old) != 1:
            continue
        for node in ast.walk(statement.test if branch else statement):
            indices = isinstance(node, ast.Subscript | ast.keyword | ast.Slice)
            for child in ast.iter_child_nodes(node):
                child.skipped = indices or getattr(node, "skipped", False)
            if getattr(node, "skipped", False) or not isinstance(node, ast.expr):
                continue
            for edit in edits_of(node):
                first, end = node.lineno - 1, node.end_lineno - 1
                before = "".join(lines[statement.lineno - 1 : first])
                before += lines[first].encode()[: node.col_offset].decode()
                after = lines[end].encode()[node.end_col_offset :].decode()
                after += "".join(lines[end + 1 : last])
                yield old, before + "(" + ast.unparse(ast.fix_missing_locations(edit)) + ")" + after
        if isinstance(statement, ast.If):
            indent = " " * statement.col_offset
            yield old, f"{indent}if False:\n" if not old.lstrip().startswith("el") else old
        if isinstance(statement, ast.AugAssign) and type(statement.op) in SWAPPED:
            yield old, old.replace("-=" if "-=" in old else "+=", "=", 1)


def choose(root, n_mutants):
    """Return a systematic sample of all mutants."""
    found = [
        {"module": str(path.relative_to(root)), "old": old, "new": new}
        for folder in FOLDERS
        for path in sorted((root / folder).glob("*.py"))
        for old, new in mutants_of(path)
        if old != new
    ]
    print(f"{len(found)} mutants")
    step = len(found) / n_mutants
    return [found[int((at + 0.5) * step)] for at in range(n_mutants)]


def start(tree, command):
    """Run pytest in a child that has the libraries but not the package; return status and text."""
    told = tree / "told.txt"
    # What failed with one mutant is not tried first with the next.
    shutil.rmtree(tree / ".hypothesis", ignore_errors=True)
    child = os.fork()
    if not child:
        os.chdir(tree)
        sys.path.insert(0, str(tree))
        with told.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        status = 1
        try:
            status = pytest.main(["-q", "-p", "no:cacheprovider", "-m", "not slow", SEED, *command])
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(status))
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status, told.read_text()
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1, "FAILED timeout"


def failures(text):
    """Return the tests that failed."""
    lines = [line.split(" - ")[0] for line in text.splitlines()]
    return [line.split(" ", 1)[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]


def probe(tree, mutants, selection):
    """Find the tests that execute each mutated statement, and those that fail without any."""
    hits, texts = tree / "hits.txt", {}
    (tree / "probe.py").write_text(PROBE.format(hits=hits))
    for number, mutant in enumerate(mutants):
        path = tree / mutant["module"]
        text = path.read_text() if path.exists() else ""
        texts.setdefault(path, text)
        if text.count(mutant["old"]) == 1:
            indent = mutant["old"][: -len(mutant["old"].lstrip())]
            said = f"{indent}__import__('probe').hit({number})\n"
            path.write_text(text.replace(mutant["old"], said + mutant["old"]))
    text = start(tree, selection)[1]
    for path, original in texts.items():
        if original:
            path.write_text(original)
    executed = {}
    for line in hits.read_text().splitlines():
        number, test = line.split(" ", 1)
        executed.setdefault(int(number), {})[test.rsplit(" (", 1)[0]] = None
    return {number: list(tests) for number, tests in executed.items()}, failures(text), text


def try_mutant(tree, tests, broken):
    """Run the tests that execute a mutant, at first some of them."""
    tests = [test for test in tests if test not in broken]
    if not tests:
        return "survived", "never executed"
    # First some, then all: those that take seconds come last.
    tests.sort(key=lambda test: "test_record" in test)
    for chosen in (tests[:: len(tests) // 12 + 1], tests):
        (tree / "chosen.txt").write_text("\n".join(chosen))
        status, text = start(tree, ["-x", "@chosen.txt"])
        if status:
            return "killed", next(iter(failures(text)), text[-200:])[:150]
    return "survived", f"{len(tests)} tests"


def run(root, selection, mutants, out, left_out):
    """Print for each mutant whether a test fails, and how many do not survive."""
    results = Counter()
    for name in LIBRARIES:
        import_module(name)
    os.environ.setdefault("ISINGMLC_DATA", str(root.parent / "shared" / "data"))
    with tempfile.TemporaryDirectory() as folder, out.open("w") as told:
        tree = Path(folder) / "tree"
        ignored = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "docs")
        shutil.copytree(root, tree, ignore=ignored)
        executed, broken, text = probe(
            tree, mutants, [*selection, *(f"--deselect={test}" for test in left_out)]
        )
        out.with_suffix(".probe.txt").write_text(text)
        print(text.splitlines()[-1], file=told, flush=True)
        for number, mutant in enumerate(mutants):
            path, begun = tree / mutant["module"], time.monotonic()
            text = path.read_text() if path.exists() else ""
            result, why = "gone", ""
            if text.count(mutant["old"]) == 1:
                path.write_text(text.replace(mutant["old"], mutant["new"]))
                result, why = try_mutant(tree, executed.get(number, []), broken)
                path.write_text(text)
            results[result] += 1
            line = f"{number + 1:3d} {result:9s} {time.monotonic() - begun:5.0f} s"
            print(f"{line}  {mutant['module']:40s} {why}", file=told, flush=True)
        print(dict(results), file=told)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    chosen = commands.add_parser("choose")
    chosen.add_argument("--number", type=int, default=40)
    ran = commands.add_parser("run")
    ran.add_argument("tests", nargs="+")
    ran.add_argument("--leave-out", type=Path, help="a file with tests that are not run")
    ran.add_argument("--out", type=Path, default=Path("/dev/stdout"))
    for each in (chosen, ran):
        each.add_argument("--tree", type=Path, default=Path(__file__).parents[1])
    options = parser.parse_args()
    root = options.tree.resolve()
    if options.command == "choose":
        TABLE.write_text(json.dumps(choose(root, options.number), indent=1) + "\n")
    else:
        left_out = options.leave_out.read_text().splitlines() if options.leave_out else []
        run(root, options.tests, json.loads(TABLE.read_text()), options.out, left_out)


if __name__ == "__main__":
    main()
