"""Names that a page must show as they stand: markup, templates, formulas, other alphabets."""

import numpy as np

import isingmlc as im

FEATURES = [
    "<script>alert(1)</script>",
    "</script><script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "@{statistic}{safe} $x {{ 7*7 }}",
    "$$\\frac{1}{2}$$ \\(x\\)",
    'it\'s "quoted", with commas; & <b>bold</b>',
    "名前 ☃ é",
    "line\nbreak\ttab",
    "x" * 150,
    "constructor",
    "__proto__",
]
LABELS = [
    "<script>alert(2)</script>",
    "</script><img src=x onerror='window.hacked = 2'>",
    "@label{safe}",
    "$$y$$",
    "日本語",
    'a, b and "c"',
]


def hostile_fit():
    """Fit a model whose labels and features have such names; each label has a feature."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(400, len(FEATURES)))
    noise = generator.normal(size=(400, len(LABELS)))
    labels = (features[:, : len(LABELS)] + noise > 0.5).astype(int)
    return im.IsingModel(labels, features, label_names=LABELS, feature_names=FEATURES).fit()
