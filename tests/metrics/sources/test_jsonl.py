import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from medgen_metrics.sources import jsonl
from medgen_metrics.sources.jsonl import BadLine
from medgen_metrics.sources.jsonl import pieces
from medgen_metrics.sources.jsonl import read_piece


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.lists(st.sampled_from([b'{"a": 1}', b"", b"  ", b"nope", b'{"b": "\xc3\xa9"}\r'])), last=st.booleans()
)
def test_pieces_hold_every_line_once(content: list[bytes], last: bool, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join(content) + b"\n" * last)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "PIECE_LINES", 3)
        read = [(piece, list(read_piece(path, piece.start, piece.first))) for piece in pieces(path)]
    assert [piece.rows for piece, _ in read] == [len(rows) for _, rows in read]
    filled = [(number, line) for number, line in enumerate(content, start=1) if line.strip()]
    rows = [row for _, part in read for row in part]
    assert [number for number, _ in rows] == [number for number, _ in filled]
    for (_, line), (_, row) in zip(filled, rows, strict=True):
        assert isinstance(row, BadLine) if line == b"nope" else row == json.loads(line)


def test_a_byte_order_mark_is_passed_over_and_a_long_line_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE", 20)
    (tmp_path / "x").write_bytes(b'\xef\xbb\xbf{"a": 1}\n{"a": "' + b"x" * 99 + b'"}\n{"a": 3}')
    (piece,) = pieces(tmp_path / "x")
    (_, first), (_, second), (number, third) = read_piece(tmp_path / "x", piece.start, piece.first)
    assert (first, number, third) == ({"a": 1}, 3, {"a": 3})
    assert str(second) == "expected a line of at most 20 bytes, got 109; images belong in files"
