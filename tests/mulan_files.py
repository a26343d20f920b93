"""Small files for the tests of reading and downloading."""

from xml.sax.saxutils import quoteattr

import numpy as np
from scipy import sparse

XML = '<labels xmlns="http://mulan.sourceforge.net/labels">{}</labels>'
SMALL = """\
% a comment
@relation small

@attribute hue numeric
@attribute beach {0,1}
@attribute urban {0,1}

@data
0.5,1,0
0.25,0,1
"""


def write(folder, text, xml_labels=None, name="small"):
    path = folder / f"{name}.arff"
    path.write_text(text, encoding="utf-8")
    if xml_labels is not None:
        listed = "".join(f'<label name="{label}"/>' for label in xml_labels)
        (folder / f"{name}.xml").write_text(XML.format(listed), encoding="utf-8")
    return path


def dense(features):
    return features.toarray() if sparse.issparse(features) else features.to_numpy()


def write_mulan(labels, features, stem):
    """Write a frame or a sparse matrix of features, and 0/1 labels, as ARFF with its XML list."""
    is_sparse = sparse.issparse(features)
    names = [f"x{at}" for at in range(features.shape[1])] if is_sparse else list(features)
    lines = [f"@relation {stem.name}"]
    lines += [f'@attribute "{name}" numeric' for name in names]
    lines += [f'@attribute "{name}" {{0,1}}' for name in labels]
    cells = np.column_stack([dense(features), labels]).astype(float)
    texts = [
        [str(value).removesuffix(".0").replace("nan", "?") for value in row]
        for row in cells.tolist()
    ]
    if is_sparse:
        rows = [
            "{" + ",".join(f"{at} {text}" for at, text in enumerate(row) if text != "0") + "}"
            for row in texts
        ]
    else:
        rows = [",".join(row) for row in texts]
    arff, xml = stem.parent / f"{stem.name}.arff", stem.parent / f"{stem.name}.xml"
    arff.write_text("\n".join([*lines, "@data", *rows, ""]), encoding="utf-8")
    listed = "".join(f"<label name={quoteattr(name)}/>" for name in labels)
    xml.write_text(XML.format(listed), encoding="utf-8")
    return arff, xml
