"""Texts as other programs save them."""

import json

import pytest

from lopa_core.commands.options import read_text, typed
from lopa_core.decode.settings import SettingsError
from lopa_core.evaluation.benchmarks import BENCHMARKS
from lopa_core.evaluation.documents import read_documents
from lopa_core.evaluation.errors import EvaluationError
from lopa_core.io.reading import EncodingError, decode_text
from lopa_core.model.files import read_object

TEXT = "Mia has 12 shells.\nHow many?"
ROW = {"question": "Mia has 3 pens — how many?", "answer": "She has 3.\n#### 3"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_marks_and_line_ends_are_no_part_of_a_prompt(tmp_path, encoding, ends):
    (tmp_path / "prompt.txt").write_bytes(TEXT.replace("\n", ends).encode(encoding))
    assert read_text(tmp_path / "prompt.txt") == TEXT


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("utf-16", "is in UTF-16: save it in UTF-8"), ("utf-32", "is in UTF-32"), ("utf-16-le", "zero bytes, as UTF-16 has"),
        ("utf-16-be", "zero bytes, as UTF-16 has"), ("cp1252", "is not text in UTF-8"),
    ],
)  # fmt: skip
def test_another_encoding_is_named(tmp_path, encoding, words):
    path = tmp_path / "prompt.txt"
    path.write_bytes(f"{TEXT} Café?".encode(encoding))
    with pytest.raises(SettingsError, match=rf"^{path} .*{words}"):
        read_text(path)
    with pytest.raises(EvaluationError, match=rf"^{path} .*{words}"):
        read_documents(BENCHMARKS["gsm8k"], path)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_questions_with_marks_are_read(tmp_path, ends):
    part = "\ufeff" + json.dumps(ROW, ensure_ascii=False) + ends
    (tmp_path / "data.jsonl").write_bytes((part * 2).encode())  # two files joined: the second mark stands in the middle
    assert read_documents(BENCHMARKS["gsm8k"], tmp_path / "data.jsonl") == [ROW, ROW]


def test_a_mark_in_the_middle_of_a_text_stays():
    assert decode_text("a\ufeffb".encode()) == "a\ufeffb"
    with pytest.raises(EncodingError):
        decode_text(b"caf\xe9")


def test_a_prompt_that_a_shell_read_from_a_file_has_no_mark_either():
    assert typed("\ufeffMia") == "Mia" and typed("caf\udce9") == "caf\udce9"


def test_an_argument_in_utf8_is_read_in_a_locale_of_another_encoding(monkeypatch):
    """As with LANG=C, where Python gives each byte as half a surrogate pair."""
    assert typed("日本語".encode().decode("ascii", "surrogateescape")) == "日本語"


def test_a_configuration_with_a_mark_is_read(tmp_path):
    (tmp_path / "config.json").write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n')
    assert read_object(tmp_path / "config.json", missing="") == {"a": 1}
