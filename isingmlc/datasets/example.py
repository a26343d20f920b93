"""The bundled example: a simulated survey of chronic conditions, with its planted truth."""

from __future__ import annotations

from importlib import resources
from textwrap import fill

import pandas as pd

from isingmlc.input.tables import Dataset

FILE_NAME = "multimorbidity.csv.gz"
LABELS = ("hypertension", "diabetes", "arthritis", "depression", "asthma", "heart_disease")

# The truth that the data were drawn from. Thresholds and interactions are those of a person at the
# reference values; what is not named is zero.
THRESHOLDS = {
    "hypertension": -1.1,
    "diabetes": -2.8,
    "arthritis": -1.6,
    "depression": -2.1,
    "asthma": -2.4,
    "heart_disease": -3.4,
}
INTERACTIONS = {
    ("hypertension", "diabetes"): 0.8,
    ("hypertension", "arthritis"): 0.3,
    ("hypertension", "depression"): 0.2,
    ("hypertension", "heart_disease"): 0.7,
    ("diabetes", "depression"): 0.3,
    ("diabetes", "heart_disease"): 0.6,
    ("arthritis", "depression"): 0.6,
    ("arthritis", "asthma"): 0.2,
    ("arthritis", "heart_disease"): 0.3,
    ("depression", "heart_disease"): 0.3,
    ("asthma", "heart_disease"): 0.4,
}
# What one unit more of a characteristic adds to the threshold of a condition.
EFFECTS = {
    "age": {"hypertension": 0.035, "diabetes": 0.02, "arthritis": 0.035, "heart_disease": 0.045},
    "female": {"arthritis": 0.6, "depression": 0.7},
    "bmi": {"hypertension": 0.08, "diabetes": 0.11, "arthritis": 0.05},
    "smoker": {"asthma": 0.7, "heart_disease": 1.0},
    "exercise_hours": {"depression": -0.18, "heart_disease": -0.16},
    "stressful_events": {"depression": 0.45},
    "parent_diabetes": {"diabetes": 1.1},
    "hay_fever": {"asthma": 1.2},
}
# The one characteristic that moves no threshold, but the interaction of two conditions.
INTERACTION_EFFECTS = {("depression", "asthma"): {"deprivation_decile": 0.4}}
REFERENCE = {
    "age": 50.0,
    "female": 0.5,
    "bmi": 27.0,
    "smoker": 0.2,
    "exercise_hours": 3.0,
    "stressful_events": 1.0,
    "parent_diabetes": 0.2,
    "hay_fever": 0.2,
    "deprivation_decile": 5.5,
}
RELEVANT = tuple(REFERENCE)

DESCR = """\
Multimorbidity: a simulated survey of 1500 people

These people do not exist. Labels are six chronic conditions (1: has it), features are 30
characteristics on their natural scales. Cups, portions, water and the hours of sleep and screen
are a day's, units of alcohol, meals of fish and hours of exercise a week's, night shifts a month's,
stressful events a year's; 1 is yes and 0 no where there is nothing to count. The characteristics
were drawn independently of one another; given them, the conditions were drawn exactly from an
Ising distribution, at the values as they stand in the file.

What acts, and how much one unit more adds to the threshold of a condition or, in the last line, to
the interaction of two:

{effects}

The other {n_idle} characteristics do nothing.

Interactions between the conditions at the reference values (the pairs left out have none):

{interactions}

{reference}

{thresholds}

The draw was chosen among thirty, for the sake of the example: at most seeds a characteristic that
acts on an interaction also shows, more weakly, on the two conditions themselves; here it does not.

The data can be drawn anew with `tests/reference/make_example.py`.
"""


def load_example() -> Dataset:
    """Load the bundled example, a simulated survey of chronic conditions.

    Nobody was asked: the data are simulated, so that the truth is known. They hold 1500 people,
    six conditions as labels, and 30 characteristics as features, of which eight act on single
    conditions, one on nothing but the interaction of two of them, and 21 do nothing. The draw was
    chosen among thirty: at most seeds that one characteristic also shows weakly on the two
    conditions themselves, here it does not.

    Returns
    -------
    Dataset
        Labels, features, names of the characteristics that matter (`relevant`), and what each of
        them acts on, as data in `truth` and in words in `DESCR`.

    Examples
    --------
    >>> from isingmlc import datasets
    >>> data = datasets.load_example()
    >>> data
    Dataset('simulated multimorbidity': 1500 rows, 6 labels, 30 features)
    >>> data.relevant[:3]
    ('age', 'female', 'bmi')
    """
    file = resources.files("isingmlc.datasets").joinpath(FILE_NAME)
    with resources.as_file(file) as path:
        table = pd.read_csv(path)
    features = table.drop(columns=list(LABELS))
    return Dataset(
        labels=table[list(LABELS)],
        features=features,
        feature_names=tuple(features.columns),
        relevant=RELEVANT,
        truth={
            "thresholds": THRESHOLDS,
            "interactions": INTERACTIONS,
            "effects": EFFECTS,
            "interaction_effects": INTERACTION_EFFECTS,
            "reference": REFERENCE,
        },
        name="simulated multimorbidity",
        DESCR=_describe(n_idle=features.shape[1] - len(RELEVANT)),
    )


def _describe(n_idle: int) -> str:
    """Fill the description with the truth."""
    effects = [
        (feature, label, value) for feature, on in EFFECTS.items() for label, value in on.items()
    ]
    effects += [
        (feature, f"{first} × {second}", value)
        for (first, second), by in INTERACTION_EFFECTS.items()
        for feature, value in by.items()
    ]
    return DESCR.format(
        effects="\n".join(f"  {name:<20}{on:<24}{value:+.3f}" for name, on, value in effects),
        n_idle=n_idle,
        interactions="\n".join(
            f"  {first + ' × ' + second:<44}{value:+.3f}"
            for (first, second), value in INTERACTIONS.items()
        ),
        reference=_listed("Reference values", REFERENCE),
        thresholds=_listed("Thresholds at the reference values", THRESHOLDS),
    )


def _listed(title: str, values: dict[str, float]) -> str:
    """Write out numbers by name, in lines of the width of the others."""
    listed = ", ".join(f"{name} {value:g}" for name, value in values.items())
    return fill(f"{title}: {listed}.", width=100)
