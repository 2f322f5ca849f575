from pathlib import Path

import pytest

from medgen_scripts.errors import UsageError
from medgen_scripts.image_roots import ImageRoots
from medgen_scripts.image_roots import PathRefused


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A predictions file two folders deep, with images beside it, in its parent and elsewhere."""
    for name in ("home/results/images/a.png", "home/output/b.png", "elsewhere/c.png", "home/results/mine.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    return tmp_path / "home/results/mine.jsonl"


def test_the_files_folder_comes_first_and_then_its_parent(file: Path) -> None:
    roots = ImageRoots.of(file)
    assert roots.find("images/a.png") == file.parent / "images/a.png"
    assert roots.find("output/b.png") == file.parent.parent / "output/b.png"
    assert roots.find("elsewhere/c.png") is None
    (file.parent / "output").mkdir()
    (file.parent / "output/b.png").write_bytes(b"nearer")
    assert roots.find("output/b.png") == file.parent / "output/b.png"


def test_given_roots_replace_the_default(file: Path, tmp_path: Path) -> None:
    roots = ImageRoots.of(file, [tmp_path / "elsewhere"])
    assert roots.find("c.png") == tmp_path / "elsewhere/c.png"
    assert roots.find("images/a.png") is None
    with pytest.raises(UsageError, match="--image-root expects a folder, got '/no/such'"):
        ImageRoots.of(file, ["/no/such"])


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../results/images/a.png", "images/../images/a.png", "C:\\a.png", "C:a.png", "\\\\host\\a.png"],
)
def test_absolute_paths_and_parents_are_refused(name: str, file: Path) -> None:
    with pytest.raises(PathRefused, match="--image-root"):
        ImageRoots.of(file).find(name)


def test_links_are_followed_only_into_allowed_roots(file: Path, tmp_path: Path) -> None:
    (file.parent / "inside.png").symlink_to(file.parent.parent / "output/b.png")
    (file.parent / "outside.png").symlink_to(tmp_path / "elsewhere/c.png")
    (file.parent / "folder").symlink_to(tmp_path / "elsewhere")
    (file.parent / "loop.png").symlink_to(file.parent / "loop.png")
    roots = ImageRoots.of(file)
    assert roots.find("inside.png") == file.parent / "inside.png"
    assert roots.find("loop.png") is None
    for name in ("outside.png", "folder/c.png"):
        with pytest.raises(PathRefused, match="outside the allowed folders"):
            roots.find(name)
    allowed = ImageRoots.of(file, [file.parent, tmp_path / "elsewhere"])
    assert allowed.find("folder/c.png") == file.parent / "folder/c.png"


@pytest.mark.parametrize("name", ["two words.png", "line\nbreak.png", "Röntgen-胸.png", "x" * 251 + ".png", "..a.png"])
def test_odd_names_are_files_like_any_other(name: str, file: Path) -> None:
    (file.parent / name).write_bytes(b"x")
    assert ImageRoots.of(file).find(name) == file.parent / name


@pytest.mark.parametrize("name", ["x" * 300 + ".png", "images", "a.png/b.png", "\ud800.png"])
def test_what_no_file_can_be_called_is_absent(name: str, file: Path) -> None:
    assert ImageRoots.of(file).find(name) is None


@pytest.mark.parametrize("name", ["", "a\0b.png"])
def test_what_is_no_path_is_refused(name: str, file: Path) -> None:
    with pytest.raises(PathRefused, match="expected a relative path"):
        ImageRoots.of(file).find(name)


def test_in_a_hub_cache_links_lead_to_its_contents_and_roots_end_at_the_revision(tmp_path: Path) -> None:
    repository = tmp_path / "hub/datasets--me--mine"
    snapshot = repository / "snapshots" / ("a" * 40)
    (snapshot / "images").mkdir(parents=True)
    (repository / "blobs").mkdir()
    (repository / "refs").mkdir()
    (repository / "refs/main").write_text("secret")
    for name, blob in (("edit.jsonl", "1"), ("images/a.png", "2")):
        (repository / "blobs" / blob).write_bytes(b"x")
        (snapshot / name).symlink_to(repository / "blobs" / blob)
    (snapshot / "main.png").symlink_to(repository / "refs/main")
    roots = ImageRoots.of(snapshot / "edit.jsonl")
    assert roots.roots == (snapshot,)
    assert roots.find("images/a.png") == snapshot / "images/a.png"
    with pytest.raises(PathRefused, match="outside the allowed folders"):
        roots.find("main.png")
    # A folder that only is called so allows no more than any other.
    (repository / "blobs").rename(repository / "other")
    (snapshot / "images/b.png").symlink_to(repository / "other/2")
    with pytest.raises(PathRefused, match="outside the allowed folders"):
        ImageRoots.of(snapshot / "images").find("b.png")
