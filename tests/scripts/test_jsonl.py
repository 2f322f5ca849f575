import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from medgen_scripts import jsonl
from medgen_scripts.errors import UsageError
from medgen_scripts.jsonl import Findings
from medgen_scripts.jsonl import JsonLines
from medgen_scripts.jsonl import to_line


def read(path: Path, content: bytes) -> tuple[list[tuple[int, Any]], Findings, JsonLines]:
    path.write_bytes(content)
    findings = Findings(path, "rows")
    lines = JsonLines(path, findings)
    return list(lines), findings, lines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def test_a_byte_order_mark_blank_lines_and_crlf_are_harmless(path: Path) -> None:
    content = b'\xef\xbb\xbf{"a": 1}\r\n\r\n   \n{"a": 2}'
    rows, findings, lines = read(path, content)
    assert rows == [(1, {"a": 1}), (4, {"a": 2})]
    assert findings.count == 0
    assert lines.notices == []
    assert lines.digest == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{nope}", r"rows\.jsonl:2: expected one JSON object, got '\{nope\}' \(Expecting property name"),
        (b"[1, 2]", r"rows\.jsonl:2: expected a JSON object, got \[1, 2\]"),
        (b"null", r"rows\.jsonl:2: expected a JSON object, got None"),
        (b'{"a": "\xff"}', r"rows\.jsonl:2: expected UTF-8, got byte 0xff at position 7"),
        (b"[" * 100_000, r"rows\.jsonl:2: expected one JSON object, .*nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", r"rows\.jsonl:2: expected one JSON object"),
        (b'{"a": {"b": 1, "b\\u0062": 2, "b": 1}}', r"rows\.jsonl:2: expected each key once, got 'b' again"),
        (b'{"a": 1}{"a": 2}', r"rows\.jsonl:2: expected one JSON object, .*Extra data"),
    ],
)
def test_a_broken_line_is_named_and_the_others_are_read(line: bytes, said: str, path: Path) -> None:
    rows, findings, _ = read(path, b'{"a": 1}\n' + line + b'\n{"a": 3}\n')
    assert rows == [(1, {"a": 1}), (3, {"a": 3})]
    with pytest.raises(UsageError, match=said):
        findings.raise_if_any()


@pytest.mark.parametrize("torn", [b'{"a": 2', b'{"a": "\xe8\x83', b"{"])
def test_a_torn_last_line_is_dropped_with_a_notice(torn: bytes, path: Path) -> None:
    rows, findings, lines = read(path, b'{"a": 1}\n' + torn)
    assert rows == [(1, {"a": 1})]
    assert findings.count == 0
    (notice,) = lines.notices
    assert "rows.jsonl:2: the last line is torn and was dropped" in notice


def test_lone_surrogates_are_replaced_and_pairs_kept(path: Path) -> None:
    rows, _, lines = read(path, rb'{"a\udc00": ["x\ud800y", {"b": "\ud83e\ude7b"}], "c": 1}' + b"\n")
    assert rows == [(1, {"a\ufffd": ["x\ufffdy", {"b": "🩻"}], "c": 1})]
    assert lines.notices == [f"{path}: 2 lone surrogates in strings replaced by U+FFFD"]


def test_a_huge_line_is_named_and_never_held_in_memory(path: Path) -> None:
    size = 50 * 2**20
    with path.open("wb") as file:
        file.write(b'{"a": 1}\n{"a": "')
        for _ in range(50):
            file.write(b"x" * 2**20)
        file.write(b'"}\n{"a": 3}\n')
    findings = Findings(path, "rows")
    tracemalloc.start()
    rows = list(JsonLines(path, findings))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == [(1, {"a": 1}), (3, {"a": 3})]
    assert peak < 3 * jsonl.MAX_LINE
    with pytest.raises(
        UsageError, match=f"rows.jsonl:2: expected a line of at most 16,777,216 bytes, got {size + 10:,}"
    ):
        findings.raise_if_any()


def test_another_encoding_and_no_file_are_told_at_once(path: Path) -> None:
    with pytest.raises(UsageError, match="expected UTF-8, got a UTF-16 byte order mark"):
        read(path, '{"a": 1}\n'.encode("utf-16"))
    with pytest.raises(UsageError, match="can't be read: No such file"):
        list(JsonLines(path.with_name("absent"), Findings(path, "rows")))
    with pytest.raises(UsageError, match="can't be read: Is a directory"):
        list(JsonLines(path.parent, Findings(path, "rows")))


def test_the_first_twenty_findings_are_spelled_out_and_the_rest_counted(path: Path) -> None:
    _, findings, _ = read(path, b"nope\n" * 33)
    with pytest.raises(UsageError) as told:
        findings.raise_if_any()
    lines = str(told.value).splitlines()
    assert lines[0] == f"{path}: 33 bad rows in rows"
    assert [line.split(":")[1] for line in lines[1:-1]] == [str(number) for number in range(1, 21)]
    assert lines[-1] == "… and 13 more"


def test_what_a_message_quotes_is_short_and_safe_to_print() -> None:
    assert jsonl.shorten("a\x1b[31m\ud800\n") == r"'a\x1b[31m\ud800\n'"
    assert len(jsonl.shorten("x" * 10**7)) == 60


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(
    content=st.binary(max_size=300)
    | st.lists(st.text(max_size=20)).map(lambda lines: "\n".join(lines).encode("utf-8", "replace"))
)
def test_any_bytes_are_read_or_named(content: bytes, path: Path) -> None:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return
    rows, findings, lines = read(path, content)
    filled = [line for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    assert len(rows) + findings.count + sum("torn" in notice for notice in lines.notices) == len(filled)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers() | st.none())))
def test_what_was_written_comes_back(written: list[dict[str, Any]], path: Path) -> None:
    rows, findings, _ = read(path, b"".join(json.dumps(row).encode() + b"\n" for row in written))
    assert [row for _, row in rows] == written
    assert findings.count == 0


def test_lines_are_strict_json_whatever_a_model_says() -> None:
    row = {"id": "x", "text": "line\u2028break \ud800 \x00 🩻 NaN"}
    line = to_line(row)
    assert line.count(b"\n") == 1
    assert json.loads(line) == row
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_line({"meta": {"seconds": float("nan")}})
