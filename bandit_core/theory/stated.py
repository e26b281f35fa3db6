"""What is said of the bounds: ``stated.toml`` has their names, formulas and words, and the code their numbers."""

from typing import Any

import numpy as np

from bandit_core.model.policy import Bound, Curve
from bandit_core.spec.found import fields_of


def nothing(t: np.ndarray) -> np.ndarray:
    """The curve of a bound that does not apply."""
    return np.zeros_like(t)


def stated(key: str, curve: Curve = nothing, **values: Any) -> Bound:
    """The bound of an entry, with its numbers. Fields of `Bound` among the ``values`` replace those of the entry."""
    own = {name: value for name, value in values.items() if name in Bound.__dataclass_fields__}
    return Bound(**{"curve": curve, **fields_of(__file__, key, **values), **own})
