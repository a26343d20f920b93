"""``isingmlc describe``: what data sets look like in numbers."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import Any

from isingmlc.commands.inputs import add_input_arguments, read_file
from isingmlc.commands.outputs import add_output_arguments, check_output, write_output

EXAMPLES = """\
examples:
  isingmlc describe data.csv --labels 'y_*'
  isingmlc describe scene-train.arff scene-test.arff --xml scene.xml
  isingmlc describe data.parquet --labels a,b,c --table labels --format csv
"""


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "describe",
        help="count rows, labels and labelsets",
        description="Describe data sets: rows, features, labels, labelsets, how dense and how "
        "even the labels are, and what is missing.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser, several=True, covariates=False, counts_missing=True)
    add_output_arguments(parser, tables=("datasets", "labels"))
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Describe the data sets."""
    from isingmlc.datasets import describe

    check_output(options)
    read = {file: read_file(file, options) for file in options.data}
    description = describe({file: each.data for file, each in read.items()})
    tables = {"datasets": description.datasets, "labels": description.labels}
    if options.table is None:
        text = f"{description}\n\n{description.labels.to_string(float_format='%.3f')}"
        write_output(options, description.datasets, text)
    else:
        write_output(options, tables[options.table])
