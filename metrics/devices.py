"""Where networks run and in which types, and that single precision is full, whatever the caller's settings are."""

from collections.abc import Iterator
from contextlib import ExitStack
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "bfloat16", "float16")
"""Of weights and layers; what comes out is float32 in any case."""


def default_device() -> "torch.device":
    """The current GPU where there is one, else the processor (other accelerators lack float64)."""
    import torch

    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")


@contextmanager
def inference(device: "torch.device") -> Iterator[None]:
    """Inference without autocast, TF32 or kernels that differ from run to run."""
    import torch

    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        stack.enter_context(torch.autocast(device.type, enabled=False))
        if device.type == "cuda":
            stack.enter_context(torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False))
            precision = torch.get_float32_matmul_precision()
            stack.callback(torch.set_float32_matmul_precision, precision)
            torch.set_float32_matmul_precision("highest")
        yield
