"""What is written after an option, turned into a value; argparse reports what can not be."""

from __future__ import annotations

import csv
from argparse import ArgumentTypeError
from ast import literal_eval


def count(text: str) -> int:
    """Read a whole number of at least one.

    Parameters
    ----------
    text : str
        What was written.

    Returns
    -------
    int
        The number.

    Raises
    ------
    ArgumentTypeError
        When it is something else.

    Examples
    --------
    >>> count("20")
    20
    """
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"must be a whole number of at least 1, but is {text!r}")
    return number


def jobs(text: str) -> int:
    """Read a number of processes or threads; negative ones count from the number of cores.

    Parameters
    ----------
    text : str
        What was written.

    Returns
    -------
    int
        The number.

    Raises
    ------
    ArgumentTypeError
        When it is not a whole number, or 0.

    Examples
    --------
    >>> jobs("-1")
    -1
    """
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number == 0:
        raise ArgumentTypeError(
            f"must be a whole number other than 0 (-1 for all cores), but is {text!r}"
        )
    return number


def count_or_share(text: str) -> int | float:
    """Read a number of things, or a share of them all where there is a decimal point.

    Parameters
    ----------
    text : str
        What was written.

    Returns
    -------
    int or float
        The number, or the share.

    Raises
    ------
    ArgumentTypeError
        When it is something else.

    Examples
    --------
    >>> count_or_share("50"), count_or_share("0.2")
    (50, 0.2)
    """
    try:
        return int(text) if text.strip().isdecimal() else float(text)
    except ValueError:
        raise ArgumentTypeError(
            f"must be a number such as 50 or a share such as 0.2, but is {text!r}"
        ) from None


def name_list(text: str) -> list[str]:
    """Read names that are separated by commas; quotes hold a name with a comma together.

    Parameters
    ----------
    text : str
        What was written.

    Returns
    -------
    list of str
        The names.

    Raises
    ------
    ArgumentTypeError
        When there is none.

    Examples
    --------
    >>> name_list('beach,"hot, dry",y_*')
    ['beach', 'hot, dry', 'y_*']
    """
    names = [name.strip() for row in csv.reader([text], skipinitialspace=True) for name in row]
    names = [name for name in names if name]
    if not names:
        raise ArgumentTypeError(f"must hold names separated by commas, but is {text!r}")
    return names


def setting(text: str) -> tuple[str, object]:
    """Read an option of a method, written as name=value.

    Parameters
    ----------
    text : str
        What was written.

    Returns
    -------
    name, value
        The value is a number or None where it looks like one, else text.

    Raises
    ------
    ArgumentTypeError
        When it is not of that form.

    Examples
    --------
    >>> setting("keep=0.3"), setting("combine=max")
    (('keep', 0.3), ('combine', 'max'))
    """
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ArgumentTypeError(f"must be of the form name=value, but is {text!r}")
    try:
        return name.strip().replace("-", "_"), literal_eval(value.strip())
    except (ValueError, SyntaxError):
        return name.strip().replace("-", "_"), value.strip()


def separator(text: str) -> str:
    r"""Read the separator of columns; a tab may be written as \\t.

    Parameters
    ----------
    text : str
        What was written.

    Returns
    -------
    str
        The separator.
    """
    return "\t" if text == "\\t" else text
