"""Files of questions: SQuAD's JSON and a question a line give the same; what is wrong is named with file and line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from langladder.ground.errors import InputError
from langladder.text.labelled.questions import (
    Answer,
    Question,
    QuestionSource,
    read_question_files,
    read_questions,
    write_questions,
)
from langladder.text.storage.shards import SPLITS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from pipeline import ROOT
from tests.text.refusing import refused

GOOD = {"context": "anna lives in paris .", "question": "where ?", "answers": [{"text": "paris", "start": 14}]}
MORE: list[dict[str, Any]] = [
    GOOD | {"context": f"{number} {GOOD['context']}", "answers": [{"text": "paris", "start": len(str(number)) + 15}]}
    for number in range(30)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "given").mkdir()
    return tmp_path / "given"


def read(folder: Path, **settings: Any) -> dict[str, list[Question]]:
    out = folder.parent / "raw"
    read_question_files(QuestionSource.model_validate({"path": str(folder), "files": "**/*"} | settings), out)
    return {split: read_questions(out / f"{split}.parquet") for split in SPLITS}


def lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def squad(rows: list[dict[str, Any]]) -> str:
    paragraphs = [
        {
            "context": row["context"],
            "qas": [
                {
                    "id": str(number),
                    "question": row["question"],
                    "answers": [{"text": answer["text"], "answer_start": answer["start"]} for answer in row["answers"]],
                }
            ],
        }
        for number, row in enumerate(rows)
    ]
    return json.dumps({"version": "2.0", "data": [{"title": "a", "paragraphs": paragraphs}]}, indent=1)


def test_both_forms_give_the_same_questions_and_paragraphs_stand_in_one_split(folder: Path) -> None:
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(lines([*MORE, *MORE]).encode()))
    first = read(folder)
    assert sum(map(len, first.values())) == 30  # what comes twice is kept once
    (folder / "rows.jsonl.gz").unlink()
    (folder / "squad.json").write_text(squad(MORE))
    second = read(folder)
    contexts = [{item.context for item in second[split]} for split in SPLITS]
    assert min(map(len, contexts)) >= 1 and sum(map(len, contexts)) == 30
    for split in SPLITS:
        assert {item._replace(id="") for item in second[split]} == set(first[split])
    assert {item.gold()[0] for item in second["train"]} == {"paris"}


def test_own_splits_and_what_of_them_is_held_out(folder: Path) -> None:
    (folder / "train.jsonl").write_text(lines([*MORE, GOOD]))
    (folder / "dev.jsonl").write_text(lines([GOOD | {"question": "who ?", "answers": []}]))
    result = read(folder, files={"train": "train*", "validation": "dev*"})
    assert result["validation"] == [Question(GOOD["context"], "who ?")]  # type: ignore[arg-type]
    assert all(item.context != GOOD["context"] for item in result["train"])  # it is a held-out paragraph
    assert result["test"] and len(result["train"]) + len(result["test"]) == 30


def test_empty_files_and_another_encoding(folder: Path) -> None:
    row = {"context": "安娜 住在 巴黎 。", "question": "哪里 ?", "answers": [{"text": "巴黎", "start": 6}]}
    text = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in [*MORE, row])
    (folder / "a.jsonl").write_bytes(text.encode("gb18030"))
    (folder / "b.json").touch()
    result = read(folder, encoding="gb18030")
    assert row["context"] in {item.context for split in result.values() for item in split}
    with pytest.raises(InputError, match=r"a\.jsonl:31: invalid UTF-8 .*set encoding: gb18030"):
        read(folder)
    (folder / "a.jsonl").write_text("")
    with pytest.raises(InputError, match=r"holds no question \(empty: a\.jsonl, b\.json\)"):
        read(folder)


def test_forms_of_answers(folder: Path) -> None:
    lists = {"text": ["paris", "in paris"], "answer_start": [14, 11]}
    impossible = GOOD | {"question": "what ?", "is_impossible": True, "answers": [{"text": "no", "start": 0}]}
    options = GOOD | {"question": "or ?", "options": ["paris", "", "rome"], "id": 7}
    (folder / "a.jsonl").write_text(lines([*MORE, GOOD | {"answers": lists}, impossible, options]))
    result = {
        item.question: item for split in read(folder).values() for item in split if item.context == GOOD["context"]
    }
    assert result["where ?"].answers == (Answer("paris", 14), Answer("in paris", 11))
    assert result["what ?"].answers == () and result["what ?"].gold() == [""]
    assert result["or ?"].options == ("paris", "", "rome") and result["or ?"].id == "7"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            GOOD | {"answers": [{"text": "paris", "start": 13}]},
            "not at character 13 .* 'aris|the text is ' pari'; the first",
        ),
        (GOOD | {"answers": [{"text": "rome", "start": 3}]}, "the context does not have it"),
        (GOOD | {"answers": [{"text": "paris", "start": -7}]}, "not at character -7"),
        (GOOD | {"answers": [{"text": "paris"}]}, "no whole number `start`"),
        (GOOD | {"answers": [{"text": "paris", "start": 14.0}]}, "no whole number `start`"),
        (GOOD | {"answers": [{"text": " ", "start": 4}]}, "an answer is empty"),
        (GOOD | {"answers": {"text": ["paris"], "start": []}}, "two lists of one length"),
        (GOOD | {"answers": "paris"}, "answers is not a list"),
        ({"context": "a b", "question": "who ?"}, "no field 'answers'"),
        (GOOD | {"context": "  ", "answers": []}, "the context is empty"),
        (GOOD | {"question": ""}, "the question is empty"),
        (GOOD | {"question": 3}, "field 'question' is of type int"),
        (GOOD | {"options": ["rome", "berlin"]}, "0 of .* are answers"),
        (GOOD | {"options": ["paris", "paris"]}, "two or more different"),
        (GOOD | {"options": "paris"}, "options is not a list of texts"),
        (["a list"], "has no field 'context'"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(folder: Path, row: Any, message: str) -> None:
    (folder / "a.jsonl").write_text(lines([*MORE[:3], row]))
    with pytest.raises(InputError, match=message) as error:
        read(folder)
    assert str(error.value).startswith(f"{folder / 'a.jsonl'}:4: ") and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"data": [\n{"paragraphs": oops}]}', r"a\.json:2: not JSON"),
        ("[1]", "has no list 'data'"),
        ('{"data": [{"title": "x"}]}', r"data\[0\]: has no list 'paragraphs'"),
        ('{"data": [{"paragraphs": [{"context": "a", "qas": [3]}]}]}', r"paragraphs\[0\]\.qas\[0\]: not an object"),
        (
            squad([GOOD | {"answers": [{"text": "rome", "start": 0}]}]),
            r"data\[0\]\.paragraphs\[0\]\.qas\[0\]: the answer",
        ),
        ("[" * 100_000, "not JSON"),
        ('{"data": []}', "holds no question"),
    ],
    ids=range(7),
)
def test_what_is_wrong_in_squad_s_json_is_named_with_its_line(folder: Path, text: str, message: str) -> None:
    (folder / "a.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read(folder)


def test_too_few_paragraphs_and_paths_that_are_not_there(folder: Path) -> None:
    refused(lambda: read(folder / "nowhere"), folder, "does not exist")
    (folder / "a.jsonl").write_text(lines([GOOD]))
    refused(lambda: read(folder), folder, "1 different paragraphs, too few")
    with pytest.raises(ValueError, match=r"questions are read from \.json and \.jsonl"):
        QuestionSource.model_validate({"path": "a", "format": "parquet"})


def test_the_shipped_settings_are_those_of_the_reader() -> None:
    settings = yaml.safe_load((ROOT / "conf" / "questions" / "squad.yaml").read_text())["source"]
    QuestionSource.model_validate(settings | {"seed": 1})


def test_damaged_tables_are_refused(tmp_path: Path) -> None:
    write_questions(tmp_path / "a.parquet", [Question("a b", "who ?", (Answer("b", 1),))])
    with pytest.raises(InputError, match=r"a\.parquet, row 0: the answer 'b' is not at character 1"):
        read_questions(tmp_path / "a.parquet")


@pytest.mark.parametrize("kind", ["bpe_bytes", "bpe_words", "wordpiece", "unigram", "word", "character"])
def test_tokens_say_which_characters_they_stand_for(kind: Any) -> None:
    """Every character that is no space belongs to a token, ids are those of `encode`, and no token ends in a space."""
    size = None if kind in ("word", "character") else 300
    tokenizer = train_tokenizer(
        ["the cats see a dög", "the dogs sleep"] * 3, TokenizerConfig(kind=kind, vocab_size=size)
    )
    for text in ("the  cats\tsleep ", "a dög 猫 unseen", "", " "):
        ids, spans = tokenizer.encode_with_spans(text)
        assert ids.tolist() == tokenizer.encode(text).tolist() and spans.shape == (len(ids), 2)
        covered = {at for start, end in spans for at in range(start, end)}
        assert covered >= {at for at, letter in enumerate(text) if not letter.isspace()}
        assert all(text[start:end] == text[start:end].strip() for start, end in spans)
        assert (spans[:, 0] <= spans[:, 1]).all()
