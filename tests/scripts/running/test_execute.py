import hashlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from medgen_metrics.serving.faults import RunStopped
from medgen_scripts.backends.base import Ask
from medgen_scripts.backends.base import Gave
from medgen_scripts.errors import Failure
from medgen_scripts.errors import UsageError
from medgen_scripts.predictions import read_predictions
from medgen_scripts.records import Records
from medgen_scripts.records import load_records
from medgen_scripts.run import run
from medgen_scripts.running import images

from ...builders import encoded
from .fakes import Fakes
from .fakes import answer
from .fakes import by_id
from .fakes import picture
from .fakes import rows_of
from .fakes import system


@pytest.mark.parametrize(
    ("shape", "config"),
    [
        ("vlm", "vqa"),
        ("editor", "edit"),
        ("unified", "vqa"),
        ("unified", "edit"),
        ("unified", "gen"),
        ("compositional", "edit"),
        ("compositional", "gen"),
    ],
)
def test_every_shape_gives_what_its_configs_ask_for(shape: str, config: str, fakes: Fakes, tmp_path: Path) -> None:
    path = run(system(tmp_path, shape), config, edition="sample", out=tmp_path)
    records = load_records(config, "sample")
    read = read_predictions(path, records)
    assert [row["id"] for row in rows_of(path)] == records.ids
    for prediction in read.by_id.values():
        assert (prediction.text is not None) == (config != "edit")
        assert (prediction.image is not None) == (config != "vqa")
        assert prediction.error is None
    for row in rows_of(path):
        if row["image"]:
            written = (path.parent / row["image"]).read_bytes()
            assert row["meta"]["image_sha256"] == hashlib.sha256(written).hexdigest()
    assert all(not backend.is_open for made in fakes.made.values() for backend in made)


def test_the_image_model_gets_the_prompt_and_the_input_and_the_text_is_the_answer(
    fakes: Fakes, gen: Records, tmp_path: Path
) -> None:
    path = run(system(tmp_path, "compositional"), "gen", edition="sample", out=tmp_path, limit=3)
    for row in rows_of(path):
        assert row["text"] == f"output_text {row['id']}"
        assert row["meta"]["image_prompt"] == f"image_prompt {row['id']}"
    writer, painter = fakes.made["writer"][0], fakes.made["painter"][0]
    by_record = {ask.id: ask for ask in painter.asked}
    for ask in writer.asked:
        record = gen[gen.index[ask.id]]
        assert record.instruction in ask.prompt
        drawn = by_record[ask.id]
        assert drawn.prompt == f"image_prompt {ask.id}"
        assert drawn.images == ask.images == tuple(picture.data for picture in record.input_images)
        assert drawn.seed == ask.seed
    assert len({ask.seed for ask in writer.asked}) == 3


def test_an_image_model_without_the_input_is_told_to_be_text_only(fakes: Fakes, tmp_path: Path) -> None:
    painter = {"backend": "openai-images", "model": "painter", "takes_image": False}
    file = system(
        tmp_path, "compositional", components={"vlm": {"backend": "gemini", "model": "writer"}, "image": painter}
    )
    path = run(file, "edit", edition="sample", out=tmp_path, limit=2)
    assert all(ask.images == () for ask in fakes.made["painter"][0].asked)
    assert all("sees no image" in ask.prompt for ask in fakes.made["writer"][0].asked)
    manifest = json.loads((path.parent / "manifest.json").read_text())
    assert manifest["track"] == "text-to-image"
    assert manifest["components"] == {"vlm": "writer", "image": "painter"}


def test_a_writer_without_json_is_asked_for_each_text_alone(fakes: Fakes, tmp_path: Path) -> None:
    writer = {"backend": "openai-chat", "model": "writer", "json": False}
    painter = {"backend": "openai-images", "model": "painter"}
    file = system(tmp_path, "compositional", components={"vlm": writer, "image": painter})
    rows = rows_of(run(file, "gen", edition="sample", out=tmp_path, limit=2))
    asks = fakes.made["writer"][0].asked
    assert len(asks) == 4
    assert all(ask.schema is None for ask in asks)
    assert all(row["text"] == row["meta"]["image_prompt"] == f"answer {row['id']}" for row in rows)


def test_a_reply_that_cannot_be_read_is_asked_for_once_more(fakes: Fakes, tmp_path: Path) -> None:
    def give(ask: Ask) -> Gave:
        return answer(ask) if "could not be read" in ask.prompt else Gave(text="Certainly.", finish_reason="stop")

    fakes.give["writer"] = give
    rows = rows_of(run(system(tmp_path, "compositional"), "gen", edition="sample", out=tmp_path, limit=2))
    assert all(row["text"] == f"output_text {row['id']}" for row in rows)
    fakes.give["writer"] = lambda ask: Gave(text="Certainly.", finish_reason="stop")
    with pytest.raises(Failure, match="2 of 2 records failed"):
        run(system(tmp_path, "compositional", "other"), "gen", edition="sample", out=tmp_path, limit=2)
    rows = rows_of(tmp_path / "predictions" / "other" / "gen.jsonl")
    assert {row["error"]["kind"] for row in rows} == {"unparsable"}
    assert all(row["text"] is None for row in rows)


def test_a_config_that_a_system_cannot_serve_is_refused_before_anything_is_made(
    fakes: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"mine \(vlm\) serves vqa; got config gen"):
        run(system(tmp_path, "vlm"), "gen", edition="sample", out=tmp_path)
    with pytest.raises(UsageError, match="--blind: expected a vlm or unified system, got mine"):
        run(system(tmp_path, "editor"), "edit", edition="sample", out=tmp_path, blind=True)
    keyed = {"vlm": {"backend": "openai-chat", "model": "writer", "key_env": "NO_SUCH_KEY"}}
    with pytest.raises(UsageError, match=r"\$NO_SUCH_KEY not set"):
        run(system(tmp_path, "vlm", components=keyed), "vqa", edition="sample", out=tmp_path)
    prices = tmp_path / "prices.yaml"
    prices.write_text("other: {input: 1}\n")
    with pytest.raises(UsageError, match="no price of model 'writer'"):
        run(system(tmp_path, "vlm"), "vqa", edition="sample", out=tmp_path, prices=prices, max_cost=1)
    assert fakes.made == {}
    assert not (tmp_path / "predictions").exists()


def test_blind_models_get_no_image_and_a_name_of_their_own(fakes: Fakes, tmp_path: Path) -> None:
    file = system(tmp_path, "unified")
    path = run(file, "vqa", edition="sample", out=tmp_path, limit=3, blind=True)
    assert path.parent.name == "mine-blind"
    assert all(ask.images == () and "is not shown to you" in ask.prompt for ask in fakes.made["both"][0].asked)
    manifest = json.loads((path.parent / "manifest.json").read_text())
    assert (manifest["blind"], manifest["takes"]) == (True, ["text"])
    run(file, "vqa", edition="sample", out=tmp_path, limit=3)
    assert all(len(ask.images) for ask in fakes.made["both"][1].asked)


def test_the_log_holds_prompts_and_replies_and_images_by_digest(fakes: Fakes, tmp_path: Path) -> None:
    file = system(tmp_path, "unified")
    path = run(file, "edit", edition="sample", out=tmp_path, limit=2)
    assert not list(path.parent.glob("*requests*"))
    run(file, "edit", edition="sample", out=tmp_path, limit=4, log_requests=True)
    lines = rows_of(path.parent / "edit.requests.jsonl")
    assert len(lines) == 2
    asked = {ask.id: ask for ask in fakes.made["both"][1].asked}
    for line in lines:
        ask = asked[line["id"]]
        assert line["prompt"] == ask.prompt
        assert line["images"] == [f"sha256:{hashlib.sha256(image).hexdigest()}" for image in ask.images]
        assert line["reply"]["image"].startswith("sha256:")


def test_output_images_are_kept_without_loss_and_looked_at(fakes: Fakes, tmp_path: Path) -> None:
    records = load_records("edit", "sample")
    first, second, third = records.ids[:3]

    def give(ask: Ask) -> Gave:
        if ask.id == first:
            return Gave(image=ask.images[0])
        return Gave(image=picture(5, format="JPEG") if ask.id == second else _uniform())

    fakes.give["painter"] = give
    path = run(system(tmp_path, "editor"), "edit", edition="sample", out=tmp_path, ids=(first, second, third))
    rows = by_id(rows_of(path))
    assert rows[first]["meta"]["flags"] == ["unchanged"]
    assert "flags" not in rows[second]["meta"]
    assert (rows[second]["meta"]["image_format"], rows[second]["meta"]["image_size"]) == ("JPEG", [12, 9])
    assert rows[third]["meta"]["flags"] == ["uniform"]
    with Image.open(path.parent / rows[second]["image"]) as image:
        assert image.format == "PNG"


def test_an_endpoint_that_serves_nobody_ends_the_run(fakes: Fakes, tmp_path: Path) -> None:
    def give(ask: Ask) -> Gave:
        raise RunStopped("auth", "no endpoint serves us")

    fakes.give["writer"] = give
    with pytest.raises(Failure, match="no endpoint serves us"):
        run(system(tmp_path, "vlm"), "vqa", edition="sample", out=tmp_path)
    assert len(fakes.asked("writer")) <= 4
    assert rows_of(tmp_path / "predictions" / "mine" / "vqa.jsonl") == []


def test_a_dry_run_says_what_it_would_cost_and_writes_nothing(
    fakes: Fakes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("writer: {input: 1, output: 10}\npainter: {image: 0.25}\n")
    run(system(tmp_path, "compositional"), "gen", edition="sample", out=tmp_path, dry_run=True, prices=prices)
    said = capsys.readouterr().out
    assert "22 records selected" in said
    assert "painter: 22 requests, 22 images sent, 22 made" in said
    assert "at most $5.50" in said
    assert "Nothing was sent." in said
    assert fakes.made == {}
    assert not (tmp_path / "predictions").exists()


def _uniform() -> bytes:
    return encoded(Image.new("L", (4, 4), 9))


def test_models_named_by_the_environment_go_by_their_own_names(
    fakes: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_MODEL", "a-model")
    named = {"vlm": {"backend": "openai-chat", "model": "${MY_MODEL}"}}
    file = system(tmp_path, "vlm", components=named)
    prices = tmp_path / "prices.yaml"
    prices.write_text("a-model: {request: 1}\n")
    run(file, "vqa", edition="sample", out=tmp_path, limit=2, dry_run=True, prices=prices)
    assert "a-model: 2 requests" in (said := capsys.readouterr().out)
    assert "at most $2.00" in said
    path = run(file, "vqa", edition="sample", out=tmp_path, limit=2)
    assert json.loads((path.parent / "manifest.json").read_text())["components"] == {"vlm": "a-model"}


def test_pictures_are_made_beside_the_event_loop(fakes: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scaling one down or drawing a sheet takes a tenth of a second, in which no other request should stand still."""
    making, asking = set(), set()
    sent = images.sent

    def noted(*args: Any) -> Any:
        making.add(threading.current_thread().name)
        return sent(*args)

    def give(ask: Ask) -> Gave:
        asking.add(threading.current_thread().name)
        return answer(ask)

    monkeypatch.setattr(images, "sent", noted)
    fakes.give = dict.fromkeys(("writer", "painter"), give)
    for shape, config in (("vlm", "vqa"), ("compositional", "gen")):
        run(system(tmp_path, shape, name=shape), config, edition="sample", out=tmp_path, limit=3)
    assert asking == {"medgen-run"}
    assert making
    assert "medgen-run" not in making
