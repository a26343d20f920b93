"""How ``sphinx-build -W docs build/docs`` builds the documentation, with or without a network."""

import inspect
import os
import sys
from pathlib import Path

import isingmlc

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from inventories import write_inventories  # noqa: E402

# Notebooks draw inline, whatever the shell says of other programs.
os.environ.pop("MPLBACKEND", None)

project = "isingmlc"
author = "The isingmlc developers"
project_copyright = author
release = version = isingmlc.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx-mathjax-offline",
    "sphinx_gallery.gen_gallery",
]
# Of an example's files the gallery's page is the document, not the notebook to download.
exclude_patterns = ["gallery/*.ipynb", "gallery/*.py", "gallery/*.zip", "gallery/*.json"]
templates_path = ["_templates"]
default_role = "py:obj"
toc_object_entries_show_parents = "hide"

# Pages are notebooks: what they show is what the code gave when the page was built.
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 180
# They may write files; they can import from this folder too.
nb_execution_in_temp = True
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
nb_merge_streams = True

autosummary_generate = True
autodoc_member_order = "groupwise"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {
    **{name: f"isingmlc.{name}" for name in isingmlc.__all__ if name[0].isupper()},
    **{name: f"isingmlc.datasets.{name}" for name in ("Dataset", "Description")},
    **{name: f"isingmlc.exceptions.{name}" for name in isingmlc.exceptions.__all__},
    "IsingDistribution": "isingmlc.simulate.IsingDistribution",
    "Axes": "matplotlib.axes.Axes",
    "DataFrame": "pandas.DataFrame",
    "Figure": "matplotlib.figure.Figure",
    "GLMResults": "statsmodels.genmod.generalized_linear_model.GLMResults",
    "Generator": "numpy.random.Generator",
    "Graph": "networkx.Graph",
    "Path": "pathlib.Path",
    "Series": "pandas.Series",
    "ndarray": "numpy.ndarray",
}

# Other projects' pages are linked by the inventories that are written here: nothing is downloaded.
intersphinx_mapping = write_inventories(
    HERE / "inventories.toml", HERE.parent / "build" / "inventories"
)

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "gallery_order.place",
    "remove_config_comments": True,
    "doc_module": ("isingmlc",),
    "reference_url": {"isingmlc": None},
    "backreferences_dir": "api/backreferences",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "isingmlc"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_show_sourcelink = False
# These pages stand alone: they have no neighbours to list.
html_sidebars = {
    name: []
    for name in (
        "start",
        "coming-from",
        "accuracy",
        "reproducing",
        "developer",
        "contributing",
        "changelog",
    )
}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}


def leave_out(
    app: object, what: str, name: str, member: object, skip: bool, options: object
) -> bool:
    """Leave out what a class inherits from other packages or from Python itself."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    module = getattr(function, "__module__", None)
    if module is None:
        return skip or inspect.isroutine(function)
    return skip or not module.startswith(project)


def setup(app: object) -> None:
    """Tell Sphinx which members to leave out."""
    app.connect("autodoc-skip-member", leave_out)
