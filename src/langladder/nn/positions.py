"""Positional encodings: attention sees a set, these tell it the order.

Sinusoidal (Vaswani et al. 2017, section 3.5), with position p from 0 and pair index i from 0 to D/2 − 1:

    PE(p, 2i) = sin(p / 10000^(2i/D)),   PE(p, 2i+1) = cos(p / 10000^(2i/D))

The first pair turns fastest (wavelength 2π), the last slowest (close to 2π · 10000). Shifting p rotates each pair, so
PE(p+k) is a linear function of PE(p).
"""

import torch


def sinusoidal(length: int, width: int) -> torch.Tensor:
    """(length, width) float32 table; width must be even."""
    assert width % 2 == 0, width
    if torch.get_default_device().type == "meta":  # no numbers there, and torch would load its compiler, for seconds
        return torch.empty(length, width)
    position = torch.arange(length, dtype=torch.float64)[:, None]  # (T, 1)
    frequency = 10000 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)  # (D/2,)
    angle = position * frequency  # (T, D/2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()  # (T, D): sin, cos, sin, cos, …
