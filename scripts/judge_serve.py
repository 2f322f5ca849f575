"""`medgen-bench judge-serve --print`: the command line that serves the default judge with the limits that it needs."""

import shlex

from medgen_metrics.judge import URL_VARIABLE

from .errors import UsageError

# Text (some 4,000 tokens), pictures of 1,024 tokens each (a side of 1,024 pixels, 32 a token in Qwen3-VL), a reply.
CONTEXT = 32768
IMAGES = 22  # twenty inputs of one question, the most that the release has, a reference and an output


def judge_serve(*, model: str | None = None, port: int = 8000, printed: bool = False) -> None:
    """Print the commands that serve a judge with vLLM and let `score` ask it.

    Args:
        model: Hub id or folder; default the default judge.
        port: of the server.
        printed: whether printing is what the user asked for.

    Raises:
        UsageError: anything else was: vLLM is no dependency of this project, so it starts no server.
    """
    from medgen_metrics.judge.tier import DEFAULT_MODEL

    if not printed:
        raise UsageError(
            "judge-serve: expected --print, got nothing; this command prints how to serve a judge and starts no server"
        )
    name = model or DEFAULT_MODEL
    serve = ["vllm", "serve", name, "--host", "127.0.0.1", "--port", str(port), "--max-model-len", str(CONTEXT)]
    serve += ["--limit-mm-per-prompt", f'{{"image": {IMAGES}, "video": 0}}', "--seed", "0"]
    print(shlex.join(serve))
    print(f"export {URL_VARIABLE}=http://127.0.0.1:{port}/v1")
    chosen = "" if model is None else f" --judge-model {shlex.quote(name)}"
    print(f"medgen-bench judge-check{chosen}")
    print(f"medgen-bench score out/predictions/SYSTEM --tiers judge{chosen}")
