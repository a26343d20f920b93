"""What is saved of bootstrap draws, and how it becomes draws again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isingmlc.base.schema import Array, Flag, Listed, Names, Optional, Record, Text
from isingmlc.base.storage import FileSchema
from isingmlc.fitting.testable import Reason
from isingmlc.networks.feature_draws import NetworksWithTests
from isingmlc.networks.refits import Networks

_REASONS = tuple(Reason)


def take_apart(networks: Networks | NetworksWithTests) -> dict[str, Any]:
    """Give networks as fields that can be saved.

    Parameters
    ----------
    networks : Networks or NetworksWithTests
        The networks.

    Returns
    -------
    dict of str to ndarray
        Their arrays; reasons are numbers among those of `SCHEMA`.
    """
    codes = {reason: code for code, reason in enumerate(_REASONS)}
    reasons = np.array(
        [[codes[each] for each in line] for line in networks.reasons], dtype=np.int64
    )
    fields = {**networks._asdict(), "reasons": reasons.reshape(networks.reasons.shape)}
    return {name: np.ascontiguousarray(array) for name, array in fields.items()}


def put_together(fields: Mapping[str, Any], reasons: list[str]) -> Networks | NetworksWithTests:
    """Give the networks that fields were taken from.

    Parameters
    ----------
    fields : mapping
        What `take_apart` gave.
    reasons : list of str
        What the numbers of reasons stand for.

    Returns
    -------
    Networks or NetworksWithTests
        The networks.
    """
    words = np.array([Reason(each) for each in reasons], dtype=object)
    arrays = {**fields, "reasons": words[fields["reasons"]]}
    return NetworksWithTests(**arrays) if "statistics" in arrays else Networks(**arrays)


def describe_reasons() -> list[str]:
    """Give what the numbers of reasons stand for."""
    return [str(reason) for reason in _REASONS]


def _networks(draws: str) -> Record:
    """Describe networks, with the name of their number."""
    return Record(
        {
            "thresholds": Array(float, (draws, "labels"), finite=False),
            "weights": Array(float, (draws, "labels", "labels"), finite=False),
            "reasons": Array(int, (draws, "labels"), least=0, below="reasons"),
            "statistics": Optional(Array(float, (draws, "features", "labels"), finite=False)),
        }
    )


def _check_draws(fields: Mapping[str, Any]) -> tuple[str, str] | None:
    """Say what is wrong with saved fields that are right one by one."""
    for name in ("sample", "draws"):
        if ("statistics" in fields[name]) != bool(fields["feature_names"]):
            return f"{name}/statistics", "must be there if there are features, and only then"
    if len(fields["sample"]["thresholds"]) != 1:
        return "sample", "must be one network"
    return None


SCHEMA = FileSchema(
    "NetworkBootstrap",
    Record(
        {
            "label_names": Names("labels"),
            "feature_names": Names("features"),
            "parametric": Flag(),
            "adjusted_for": Optional(Names()),
            "known_reasons": Listed(Text(describe_reasons()), "reasons"),
            "sample": _networks("samples"),
            "draws": _networks("draws"),
        },
        rules=(_check_draws,),
    ),
)
