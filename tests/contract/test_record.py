"""No public number changes unless the change is written down."""

import math

import pytest
import record

# Other processors add in another order. Near zero, errors are measured by the largest entry.
RELATIVE, NEAR_ZERO = 1e-6, 1e-9
ANEW = """
{count} of {total} tables differ from {file}. If that is meant, write them down anew with

    python tests/contract/record.py

and say in the message of the commit which numbers changed, and why. They are

{changed}
"""


def as_number(word):
    try:
        return float(word)
    except ValueError:
        return None


def difference(found, expected):
    """Say where two lines differ, or None."""
    found, expected = found.split(), expected.split()
    if found[0] != expected[0] or len(found) != len(expected):
        return f"has the shape {found[0]}, not {expected[0]}"
    numbers = [as_number(word) for word in expected]
    largest = max((abs(n) for n in numbers if n is not None and math.isfinite(n)), default=0.0)
    for at, (word, old, number) in enumerate(zip(found, expected, numbers, strict=True)):
        new = as_number(word)
        if word == old:
            continue
        if new is None or number is None or not (math.isfinite(new) and math.isfinite(number)):
            return f"entry {at}: {word}, was {old}"
        if abs(new - number) > RELATIVE * abs(number) + NEAR_ZERO * largest:
            return f"entry {at}: {word}, was {old}"
    return None


@pytest.mark.parametrize(
    ("file", "part"), [(file, part) for file, parts in record.PARTS.items() for part in parts]
)
def test_numbers_are_as_they_were_written_down(file, part):
    if file == "mulan" and not (record.DATA / part).is_dir():
        pytest.skip(f"{part} is not in {record.DATA}")
    text = (record.HERE / f"{file}.txt").read_text()
    expected = dict(line.split(" ", 1) for line in text.splitlines())
    expected = {key: line for key, line in expected.items() if key.startswith(f"{part}/")}
    found = record.lines(record.PARTS[file][part]())
    changed = [f"{key} is new" for key in found.keys() - expected.keys()]
    changed += [f"{key} is gone" for key in expected.keys() - found.keys()]
    for key in found.keys() & expected.keys():
        what = difference(found[key], expected[key])
        if what:
            changed.append(f"{key} {what}")
    if changed:
        shown = "\n".join(sorted(changed)[:60])
        counts = {"count": len(changed), "total": len(expected), "file": f"{file}.txt"}
        pytest.fail(ANEW.format(**counts, changed=shown), pytrace=False)


def test_a_changed_number_is_seen_and_rounding_is_not():
    assert difference("3 1.0000001 ok 0", "3 1 ok 1e-12") is None
    assert difference("3 1.00001 ok inf", "3 1 ok inf") == "entry 1: 1.00001, was 1"
    assert difference("3 1 ok inf", "3 1 ok nan") == "entry 3: inf, was nan"
    assert difference("3 1 ok inf", "3 1 too-rare inf") == "entry 2: ok, was too-rare"
    assert difference("2 1 2", "3 1 2 3") == "has the shape 2, not 3"
