"""Random data of every ugly kind against an oracle that shares no formula with the package.

    python tests/fuzz.py --seconds 60              # a new seed, which is printed
    python tests/fuzz.py --seed 7 --case 1234      # one case again

The package computes from sums within labelsets; the oracle (`oracle.py`) writes every model out by
rows. Besides, results must not change when the data are written in another way. Anything but
agreement is a failure: an exception that is not of `isingmlc.exceptions`, a warning that is not
ours, NaN with the reason ``ok``. What the oracle itself cannot decide, as the data are degenerate
to within rounding, is counted and not compared.
"""

import argparse
import itertools
import os
import re
import secrets
import sys
import time
import traceback
import warnings
from collections import Counter

import numpy as np
from fuzz_cases import draw_case, fresh
from fuzz_checks import CHECKS, EVERY, DifferentError
from oracle import UndecidedError

from isingmlc.exceptions import ConvergenceWarning, IsingError, IsingWarning


def run_check(check, case, counts):
    """Give what is wrong with a case, or None."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            check(case, counts)
        for warning in caught:
            if not issubclass(warning.category, IsingWarning):
                return f"{warning.category.__name__}: {warning.message} ({warning.filename})"
    except IsingError as error:
        if "no label varies" not in str(error):
            said = re.sub(r"'[^']*'|\d+", "…", str(error))
            counts[f"{type(error).__name__}: {said[:60]}"] += 1
    except UndecidedError:
        counts["undecided"] += 1
    except DifferentError as error:
        warned = any(issubclass(each.category, ConvergenceWarning) for each in caught)
        if not warned and case.results.converged:
            return str(error)
        # It was said that the numbers are approximate.
        counts["not converged"] += 1
    except AssertionError as error:
        return str(error) or "assertion"
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [each for each in frames if "isingmlc/" in each.filename.replace(os.sep, "/")]
        last = (ours or frames)[-1]
        return f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
    return None


def shrink(check, case, patience):
    """Leave out rows, features, labels and covariates as long as the like of it is wrong."""
    end = time.monotonic() + patience

    def attempts():
        for at in range(case.features.shape[1] if case.features.shape[1] > 1 else 0):
            yield fresh(case, features=np.delete(case.features, at, axis=1))
        for at in range(case.labels.shape[1] if case.labels.shape[1] > 1 else 0):
            yield fresh(case, labels=np.delete(case.labels, at, axis=1))
        if case.covariates is not None:
            yield fresh(case, covariates=None)
            for name in case.covariates if case.covariates.shape[1] > 1 else ():
                yield fresh(case, covariates=case.covariates.drop(columns=name))
        if case.weights is not None:
            yield fresh(case, weights=None)
        for size in (8, 4, 2, 1):
            for at in range(0, case.n_rows, size):
                left = np.delete(np.arange(case.n_rows), np.s_[at : at + size])
                if len(left) > 1:
                    yield fresh(case, left)

    kind, smaller = run_check(check, case, Counter())[:12], True
    while smaller:
        smaller = False
        for candidate in attempts():
            if time.monotonic() > end:
                return case
            if (run_check(check, candidate, Counter()) or "").startswith(kind):
                case, smaller = candidate, True
                break
    return case


def report(seed, number, name, problem, case, patience):
    print(f"\nFAILURE in case {number}, {name}: {problem}")
    print(f"  again: python tests/fuzz.py --seed {seed} --case {number}")
    print(f"  kinds: {', '.join(case.kinds)}")
    small = shrink(CHECKS[name], case, patience)
    print(f"  left of it: {run_check(CHECKS[name], small, Counter())}")
    if small.labels.size + small.features.size <= 120:
        print(f"  labels = np.array({small.labels.tolist()})")
        print(f"  features = np.array({small.features.tolist()})")
        if small.covariates is not None:
            print(f"  covariates = pd.DataFrame({small.covariates.to_dict('list')})")
        weights = None if small.weights is None else small.weights.tolist()
        print(f"  weights = {weights}; intercept = {small.intercept}", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--case", type=int, help="this case alone")
    parser.add_argument("--kinds", nargs="+", default=[], help="cases of these kinds alone")
    parser.add_argument("--without", nargs="+", default=[], help="leave out cases of these kinds")
    parser.add_argument("--only", choices=list(CHECKS), help="this check alone")
    parser.add_argument("--failures", type=int, default=5, help="stop after so many")
    parser.add_argument("--patience", type=float, default=5.0, help="seconds to make one small")
    options = parser.parse_args(arguments)
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    warnings.simplefilter("ignore")
    end = time.monotonic() + options.seconds
    numbers = itertools.count() if options.case is None else [options.case]
    done, failed = Counter(), 0
    told = {name: Counter() for name in CHECKS}
    for number in numbers:
        if time.monotonic() > end and options.case is None:
            break
        case = draw_case(seed, number)
        kinds = {kind.removeprefix("covariate: ") for kind in map(str, case.kinds)}
        if kinds & set(options.without) or (options.kinds and not kinds & set(options.kinds)):
            continue
        for name, check in CHECKS.items():
            if options.only not in (None, name):
                continue
            if options.only is None and options.case is None and number % EVERY.get(name, 1):
                continue
            problem = run_check(check, case, told[name])
            done[name] += 1
            if problem:
                failed += 1
                report(seed, number, name, problem, fresh(case), options.patience)
        if failed >= options.failures:
            break
    for name in done:
        remarks = ", ".join(f"{count} {what}" for what, count in told[name].items())
        print(f"{done[name]:7d} cases  {name}" + (f" ({remarks})" if remarks else ""))
    print(f"{failed} failures, seed {seed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
