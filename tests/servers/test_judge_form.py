"""The judge's forms before a server that checks schemas as OpenAI does, and the server's verdicts before the judge."""

import json
from itertools import product

import pytest

from medgen_metrics.judge.rubric import VIEWS
from medgen_metrics.judge.rubric import rubric

from . import filling
from .openai_requests import read_chat

TASKS = (("vqa", "disease-diagnosis"), ("edit", "noise-reconstruction"), ("gen", "report-generation"))


@pytest.mark.parametrize(("version", "scale"), [("v1", 10), ("v2", 5), ("v2", 10)])
def test_schema_and_described_form_are_taken_and_filled_alike(version: str, scale: int) -> None:
    sheet = rubric(version, "paper", scale)
    for (config, task), view in product(TASKS, VIEWS):
        schema, model = sheet.schema(config, task, view), sheet.model(config, task, view)
        form = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}
        chat = [{"role": "user", "content": "Judge."}]
        read_chat(json.dumps({"model": "m", "messages": chat, "response_format": form}).encode())
        filled = filling.fill(schema, "key")
        described = filling.described(sheet.describe(config, task, view), "key")
        assert described is not None
        assert list(filled) == list(described) == list(model.model_fields)
        scores = [model.model_validate(each).overall_score for each in (filled, described)]  # type: ignore[attr-defined]
        assert scores[0] == scores[1]
