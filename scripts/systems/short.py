"""Systems of one model without a file: `python:module:function`, `transformers:PATH`, `folder:DIR`, ….

medgen-bench run python:my_model:answer vqa
medgen-bench run openai-chat:Qwen/Qwen3-VL-8B-Instruct@http://127.0.0.1:8000/v1 vqa
"""

import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from medgen_metrics import schema_faults

from ..errors import UsageError
from .file import ROLES
from .file import SystemFile

FORMS = {
    "python": "python:MODULE:FUNCTION",
    "transformers": "transformers:PATH_OR_HUB_ID",
    "diffusers": "diffusers:PATH_OR_HUB_ID",
    "openai-chat": "openai-chat:MODEL@URL",
    "folder": "folder:DIR",
}
"""Back end -> how it is written."""

SHAPES = {"vqa": "vlm", "edit": "editor", "gen": "unified"}
_IMAGES_ALONE = ("diffusers",)


def is_short(name: str) -> bool:
    """Whether a system is written in a short form."""
    return name.partition(":")[0] in FORMS and ":" in name


def read(name: str, config: str | None = None) -> SystemFile:
    """The system of one model that answers a config, all else as it is by default.

    Args:
        name: in one of `FORMS`. The system goes by what it names: the folder, the model, or module and function.
        config: vqa (a VLM), edit (an editor) or gen (one model for both); default vqa, of image pipelines edit.

    Raises:
        UsageError: not of that form, or a model that can't serve the config.
    """
    backend, _, rest = name.partition(":")
    config = config or ("edit" if backend in _IMAGES_ALONE else "vqa")
    component: dict[str, Any] = {"backend": backend}
    if backend == "openai-chat":
        model, _, component["base_url"] = rest.partition("@")
        component["model"] = model
        if not model or not component["base_url"]:
            raise UsageError(f"{name}: expected {FORMS[backend]}")
        called = model
    elif backend == "python":
        component["function"] = called = rest
    else:
        component["model"] = called = rest
    called = Path(called).expanduser().resolve().name if backend != "python" else called
    shape = SHAPES[config]
    try:
        return SystemFile.model_validate(
            {
                "name": re.sub(r"[^A-Za-z0-9._+-]+", "-", called).strip("-._+") or "system",
                "shape": shape,
                "configs": [config],
                "components": dict.fromkeys(ROLES[shape], component),
            }
        )
    except ValidationError as error:
        faults = "; ".join(schema_faults.faults(error, "system"))
        raise UsageError(f"{name}: expected {FORMS[backend]}: {faults}") from None
