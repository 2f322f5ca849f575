"""Image pipelines of diffusers, in this process: editing by instruction, image to image, inpainting, text to image."""

import asyncio
import inspect
import json
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import anyio.to_thread
import diffusers

from medgen_metrics import model_folders
from medgen_metrics.file_digests import files_digest
from medgen_metrics.serving.batches import Batches
from medgen_metrics.serving.batches import Unready
from medgen_metrics.serving.faults import REJECTED
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import RunStopped
from medgen_metrics.serving.local_weights import commit_of
from medgen_metrics.weights import is_offline

from ..errors import Failure
from ..errors import UsageError
from . import pictures
from .base import REFUSAL
from .base import Ask
from .base import Gave
from .base import Options
from .diffusers_call import OURS
from .diffusers_call import Job
from .diffusers_call import arguments
from .diffusers_call import call_of
from .in_process import InProcess
from .in_process import complete
from .in_process import device_of
from .in_process import encoded
from .in_process import shown
from .in_process import unready

if TYPE_CHECKING:
    from ..systems.file import Component

BATCH = 1  # many editing pipelines take one image at a time
# One image a record, as an image.
_FIXED = ("self", "args", "kwargs", "num_images_per_prompt", "output_type", "return_dict")
# Of `load`: for this module, not for `from_pretrained`.
_PIPELINE, _OFFLOAD, _SEVERAL = "pipeline", "offload", "several_images"


def make(component: "Component", options: Options) -> "DiffusersModel":
    """See `base.make`."""
    return DiffusersModel(component, options)


class DiffusersModel(InProcess):
    """A folder or a Hub id of a diffusers pipeline.

    `parameters` are given to the pipeline's call (`num_inference_steps`, `guidance_scale`, `strength`, …). `load`:
    arguments of `from_pretrained` (`dtype`, `variant`, …), and

    - `pipeline`: class of diffusers; default the checkpoint's own, and where that takes no image though the component
      does, its image-to-image form.
    - `offload`: `model` or `sequential`, weights that wait in the main memory.
    - `several_images`: true for pipelines that take several images for one prompt.

    An inpainting pipeline is given a mask of the whole image, since records have none: it may change everything.

    Each record draws from a generator of its own seed on the CPU, so that its image depends on no order, batch or
    number of processes, but for the last bits of a batch's products.
    """

    gives = frozenset({"image"})

    def __init__(self, component: "Component", options: Options) -> None:
        super().__init__(component, options, batch=BATCH)
        self._load = dict(self.component.load)
        self._wanted = self._load.pop(_PIPELINE, None)
        self._offload = self._load.pop(_OFFLOAD, None)
        self._several = bool(self._load.pop(_SEVERAL, False))
        if self._offload not in (None, "model", "sequential"):
            raise UsageError(
                f"{self.component.label}: load: offload: expected model or sequential, got {self._offload}"
            )
        if self._wanted is not None and not hasattr(diffusers, self._wanted):
            raise UsageError(
                f"{self.component.label}: load: pipeline: diffusers {diffusers.__version__} has no {self._wanted}"
            )
        self._folder: Path | None = None
        self._pipeline: Any = None
        self._batches: Batches[Job, Gave | CallFailed] = Batches(
            self._draw, size=self.batch, name="medgen-pipeline", alike=lambda job: job.form
        )

    def describe(self) -> dict[str, Any]:
        """See `base.Backend`: a commit, or of a folder the files by content; has them downloaded if need be.

        Raises:
            UsageError: neither a folder of a pipeline nor a Hub id, or parameters that its call doesn't have.
            Failure: the weights are not to be had.
        """
        try:
            folder = self._found()
        except ValueError as error:
            raise UsageError(f"{self.component.label}: {error}") from error
        except OSError as error:
            raise Failure(f"{self.component.label}: {error}") from error
        kind = self._kind(folder)
        self._check_parameters(kind)
        is_folder = Path(self.component.model).expanduser().is_dir()
        commit = commit_of(folder)
        return shown(
            self.component,
            model=folder.name if is_folder else self.component.model,
            revision=commit,
            weights=None if commit else files_digest(folder),
            pipeline=kind.__name__,
        )

    def _found(self, offline: bool | None = None) -> Path:
        """The pipeline's folder, downloaded if need be.

        Raises:
            ValueError: neither a folder of a pipeline nor a Hub id.
            OSError: not here and not to be had.
        """
        if self._folder is not None:
            return self._folder
        if Path(self.component.model).expanduser().is_dir() and self.component.revision is not None:
            raise ValueError(f"expected no revision of a folder, got {self.component.revision!r}")

        def on_hub(repo: str, _: str | None) -> Path:
            of_files = {name: self._load[name] for name in ("variant", "use_safetensors") if name in self._load}
            return Path(
                diffusers.DiffusionPipeline.download(
                    repo,
                    revision=self.component.revision,
                    local_files_only=is_offline() if offline is None else offline,
                    **of_files,
                )
            )

        folder = model_folders.find(self.component.model, on_hub)
        if not (folder / "model_index.json").is_file():
            raise ValueError("no model_index.json; expected the folder of a diffusers pipeline")
        self._folder = folder
        return folder

    def _kind(self, folder: Path) -> Any:
        """The class that is loaded."""
        if self._wanted is not None:
            return getattr(diffusers, self._wanted)
        name = json.loads((folder / "model_index.json").read_text(encoding="utf-8")).get("_class_name")
        kind: Any = getattr(diffusers, str(name), None)
        if kind is None:
            raise UsageError(f"{self.component.label}: diffusers {diffusers.__version__} has no pipeline {name}")
        if self.takes_images and "image" not in call_of(kind):
            return diffusers.AutoPipelineForImage2Image
        return kind

    def _check_parameters(self, kind: Any) -> None:
        if kind is diffusers.AutoPipelineForImage2Image:
            return  # which class it makes is known once it has
        known = [name for name in call_of(kind) if name not in (*OURS, *_FIXED)]
        odd = [name for name in self.component.parameters if name not in known]
        if odd:
            raise UsageError(
                f"{self.component.label}: parameters: {kind.__name__} takes {', '.join(known)}; got {', '.join(odd)}"
            )
        if not self.takes_images and call_of(kind).get("image", None) is inspect.Parameter.empty:
            raise UsageError(f"{self.component.label}: {kind.__name__} needs an image; got takes_image: false")

    async def _ask(self, ask: Ask) -> Gave:
        images = await anyio.to_thread.run_sync(lambda: tuple(pictures.rgb(data) for data in ask.images))
        if len(images) > 1 and not self._several:
            raise CallFailed(
                REJECTED,
                f"expected one image, got {len(images)}; max_images: 1 puts them on one sheet, and load: "
                f"{_SEVERAL}: true is for pipelines that take several",
                0,
            )
        try:
            gave = await self._batches.ask(Job(ask, images))
        except (RunStopped, CallFailed):
            raise
        except Exception as error:
            raise unready(self.component.label, error) from error
        if isinstance(gave, CallFailed):
            raise gave
        return complete(gave, ask)

    # --- the thread -------------------------------------------------------------------------------------------------

    def _ready(self) -> Any:
        if self._pipeline is None:
            import torch

            folder = self._found()
            kind = self._kind(folder)
            options = dict(self._load)
            if "dtype" in options:
                options["torch_dtype"] = getattr(torch, options.pop("dtype"))
            pipeline = kind.from_pretrained(folder, local_files_only=True, **options)
            self._check_parameters(type(pipeline))
            device = device_of(self.component) or ("cuda" if torch.cuda.is_available() else "cpu")
            if self._offload == "model":
                pipeline.enable_model_cpu_offload(device=device)
            elif self._offload == "sequential":
                pipeline.enable_sequential_cpu_offload(device=device)
            elif "device_map" not in options:
                pipeline.to(device)
            pipeline.set_progress_bar_config(disable=True)
            self._pipeline = pipeline
        return self._pipeline

    def _draw(self, jobs: Sequence[Job], unwanted: Callable[[int], bool]) -> list[Gave | CallFailed]:
        import torch

        try:
            pipeline = self._ready()
        except Exception as error:
            raise Unready(error) from error
        with torch.inference_mode():
            made = pipeline(**arguments(pipeline, jobs, self.component.parameters, several=self._several))
        withheld = getattr(made, "nsfw_content_detected", None) or [False] * len(jobs)
        return [
            CallFailed(REFUSAL, "the pipeline's safety checker withheld the image")
            if is_withheld
            else Gave(image=encoded(image), usage=self.usage(job.ask, produced=1), model=type(pipeline).__name__)
            for job, image, is_withheld in zip(jobs, made.images, withheld, strict=True)
        ]

    async def check(self, ping: bool = False) -> list[str]:
        """See `base.Backend`; downloads nothing."""
        try:
            await asyncio.to_thread(self._found, True)
            if ping:
                images = (pictures.grey_square(),) if self.takes_images else ()
                await self.ask(Ask("ping", "A grey square.", images, frozenset({"image"})))
        except (OSError, ValueError, RunStopped, CallFailed) as error:
            return [f"model: {error}"]
        finally:
            await self.aclose()
        return []

    async def aclose(self) -> None:
        """See `base.Backend`."""
        await self._batches.aclose()
        self._pipeline = None
