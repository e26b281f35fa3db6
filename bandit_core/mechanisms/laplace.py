"""Laplace mechanism (Ren et al. 2020, Curator 1, CTL; Dwork et al. 2006)."""

from __future__ import annotations

import math

from bandit_core.kernels.compiled import inlined


@inlined
def laplace_noise(uniform, scale):
    """Laplace(scale) noise by inversion of one uniform in [0, 1) (on a grid of 2^-52, so never infinite)."""
    centred = (uniform - 0.5) + 2.0**-53
    return -scale * math.copysign(math.log(1.0 - 2.0 * abs(centred)), centred)
