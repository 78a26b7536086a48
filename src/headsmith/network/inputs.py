"""What a network is given: real numbers, promoted exactly to its dtype, in the arithmetic that it was made for.

A narrower input is promoted, which is exact; a wider one is refused, never rounded in silence. Autocast, TF32 and
torch.compile compute in another way than a theorem about rounding assumes: they are refused too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.refusal import Refusal


def accept(x: Any, dtype: torch.dtype, device: torch.device) -> Tensor:
    """The input, promoted exactly to the network's dtype; wider, complex or non-finite input is refused."""
    _check_arithmetic(dtype, device)
    if isinstance(x, np.ndarray | np.generic):
        try:
            x = torch.as_tensor(x)  # keeps its dtype, so that a wider one is noticed
        except TypeError:
            raise Refusal(f"the input is {x.dtype}, which torch does not hold: give float64 numbers") from None
    given = x if isinstance(x, Tensor) else _exactly(x, dtype)
    if given.is_complex() or given.dtype == torch.bool:
        raise Refusal(f"the input is {dtype_name(given.dtype)}; give real numbers")
    if given.is_floating_point() and torch.promote_types(given.dtype, dtype) != dtype:
        other = f", or compile with dtype='{dtype_name(given.dtype)}'" if dtype == torch.float32 else ""
        raise Refusal(
            f"the input is {dtype_name(given.dtype)} but the network holds {dtype_name(dtype)}: round it yourself with "
            f".to(torch.{dtype_name(dtype)}){other}"
        )
    promoted = given.to(device=device, dtype=dtype)
    if not given.is_floating_point() and not torch.equal(promoted.to(given.dtype).cpu(), given.cpu()):
        raise Refusal(f"the input holds integers that {dtype_name(dtype)} cannot represent exactly")
    if promoted.numel() and not bool(torch.isfinite(promoted.detach()).all()):
        raise Refusal("the input holds NaN or infinity; every input must be a finite number in the domain")
    return promoted


def _check_arithmetic(dtype: torch.dtype, device: torch.device) -> None:
    """Refuses whatever makes torch compute in another way than the rounding theorem assumes."""
    other, instead = "", "call outside of it"
    if torch.is_autocast_enabled(device.type):
        other = "autocast"
    elif _compiled_by_torch():
        other, instead = "torch.compile", "leave the network out of it, as torch.compiler.disable(net) does"
    elif dtype == torch.float32 and not _full_products():
        other, instead = "TF32 or bfloat16 products", 'call torch.set_float32_matmul_precision("highest")'
    if other:
        raise Refusal(f"{other} would change the arithmetic that the certificate is about: {instead}")


def _compiled_by_torch() -> bool:
    """Whether this very call runs under torch.compile."""
    ask = getattr(torch._C._dynamo.eval_frame, "get_eval_frame_callback", None)  # which not every torch has
    return torch.compiler.is_compiling() or (ask is not None and ask() is not None)


def _full_products() -> bool:
    """Whether torch multiplies float32 matrices in float32."""
    try:
        return torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # set for one backend alone
        return False


def _exactly(x: Any, dtype: torch.dtype) -> Tensor:
    """Python numbers as a tensor of the dtype; one that the dtype does not hold is refused, not rounded in silence."""
    try:
        wide = torch.as_tensor(x, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise Refusal(f"the input must be numbers or a tensor, not {type(x).__name__}") from None
    narrow = wide.to(dtype)
    same = (narrow.double() == wide) | wide.isnan()
    if not bool(same.all()):
        bad, name = float(wide[~same].flatten()[0]), dtype_name(dtype)
        raise Refusal(f"{bad!r} is not a {name} number: round it yourself, torch.tensor({bad!r}, dtype=torch.{name})")
    return narrow


def dtype_name(dtype: torch.dtype) -> str:
    """float64 of torch.float64."""
    return str(dtype).removeprefix("torch.")
