"""Small files for the tests of reading and downloading."""

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
