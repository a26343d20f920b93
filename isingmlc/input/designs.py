"""Designs of patsy as bytes: it keeps what it has learnt from rows, but does not pickle it."""

from __future__ import annotations

import copyreg
import pickle
from importlib import import_module
from io import BytesIO
from types import ModuleType
from typing import Any

import patsy

from isingmlc import exceptions as exc


class _DesignPickler(pickle.Pickler):
    """Pickles objects of patsy by what they hold, and modules that a formula mentions by name."""

    def reducer_override(self, item: Any) -> Any:
        if isinstance(item, ModuleType):
            return import_module, (item.__name__,)
        if hasattr(item, "__patsy_stateful_transform__"):
            # Patsy makes these functions, and names them elsewhere.
            known = vars(patsy.builtins)
            name = next((name for name, each in known.items() if each is item), None)
            return NotImplemented if name is None else (getattr, (patsy.builtins, name))
        if not isinstance(item, type) and type(item).__module__.partition(".")[0] == "patsy":
            return copyreg.__newobj__, (type(item),), vars(item)  # type: ignore[attr-defined]
        return NotImplemented


def dump_design(design: Any) -> bytes:
    """Write objects of patsy as bytes that ``pickle.loads`` reads."""
    written = BytesIO()
    try:
        _DesignPickler(written).dump(design)
    except (pickle.PicklingError, AttributeError, TypeError, NotImplementedError) as error:
        raise exc.ModelError(
            "columns of a formula can be pickled if the functions that it calls can, but one "
            f"cannot: {error}. Define it in a module and import it, or make the column of data "
            "before the formula; results are kept by save(path) in any case."
        ) from error
    return written.getvalue()
