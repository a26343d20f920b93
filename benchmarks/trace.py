"""Which files of the package a number passes on its way from a model to p-values, and how often.

    python benchmarks/trace.py            # files, with calls into each from other files
    python benchmarks/trace.py --callers  # the calls themselves, the most frequent first

Counted are Python functions of one file of ``isingmlc`` that are called from another, also where
code of other packages stands between the two. A generator that goes on is not called again. Imports
are done before.
"""

import argparse
import inspect
import sys
from collections import Counter
from pathlib import Path

import isingmlc as im

FOLDER = str(Path(im.__file__).parent)


def run(data):
    return im.IsingModel(data.labels, data.features).fit().score_test().pvalues


def caller_of(frame):
    """Return the nearest frame of the package above this one."""
    above = frame.f_back
    while above is not None and not above.f_code.co_filename.startswith(FOLDER):
        above = above.f_back
    return above


def trace(function, *arguments):
    """Count the calls into each function of the package from each other file of it."""
    calls, files, generators = Counter(), set(), set()

    def note(frame, event, argument):
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(FOLDER):
            return
        if frame.f_code.co_flags & inspect.CO_GENERATOR:
            if frame in generators:
                return
            generators.add(frame)
        files.add(file)
        above = caller_of(frame)
        if above is not None and above.f_code.co_filename != file:
            calls[above.f_code.co_filename, above.f_code.co_name, file, frame.f_code.co_name] += 1

    sys.setprofile(note)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return files, calls


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--callers", action="store_true", help="list the calls themselves")
    options = parser.parse_args()
    data = im.datasets.load_example()
    run(data)  # so that nothing is imported while calls are counted
    files, calls = trace(run, data)
    if options.callers:
        for (source, caller, target, called), number in calls.most_common():
            names = [str(Path(file).relative_to(FOLDER)) for file in (source, target)]
            print(f"{number:6d}  {names[0]}:{caller} -> {names[1]}:{called}")
    into = Counter()
    for (_, _, target, _), number in calls.items():
        into[target] += number
    for file in sorted(files, key=lambda file: (-into[file], file)):
        print(f"{into[file]:6d}  {Path(file).relative_to(FOLDER)}")
    print(f"{len(files)} files, {sum(calls.values())} calls between files")


if __name__ == "__main__":
    main()
