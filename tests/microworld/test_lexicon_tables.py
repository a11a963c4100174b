"""The tables of words: their number, forms and roots that may be equal, references between tables."""

import csv
import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "src" / "microworld" / "lexicon"
SUBJECTS = ("farm", "kitchen", "sea", "music", "garden", "castle")
MOODS = ("happy", "sad", "angry", "afraid")
HEADERS = {
    "nouns": ["subject", "singular", "plural", "root", "verbs", "acts", "places", "plain"],
    "verbs": ["subject", "past", "infinitive", "root"],
    "acts": ["subject", "plural", "singular", "root"],
    "places": ["subject", "word", "root"],
    "jobs": ["subject", "word", "root"],
    "looks": ["mood", "word", "root"],
    "feelings": ["mood", "word", "root"],
    "deeds": ["mood", "past", "root"],
    "takes": ["mood", "past", "root"],
    "manners": ["mood", "word", "root"],
    "plain": ["word", "comparative", "root"],
    "roles": ["subject", "male", "female", "root", "female_root", "verbs"],
    "role_verbs": ["past", "root", "things"],
    "role_things": ["word", "root"],
    "names": ["sex", "word", "esperanto"],
    "lands": ["town", "country", "language", "town_root", "country_root", "language_root"],
    "likes": ["word", "esperanto"],
    "sayings": ["word", "root"],
}
LISTS = ("verbs", "acts", "places", "plain", "things")  # columns of several words, with commas between them
ESPERANTO = ("root", "female_root", "esperanto", "town_root", "country_root", "language_root")
EACH = {"nouns": 14, "verbs": 6, "acts": 6, "places": 6, "jobs": 5}  # words of a subject
EACH_MOOD = {"looks": 12, "feelings": 6, "deeds": 5, "takes": 6, "manners": 4}
ALL = {"plain": 10, "roles": 14, "role_verbs": 24, "role_things": 36, "lands": 20, "likes": 14, "sayings": 24}
TWO_TABLES = {  # words of two parts of speech, on purpose; all other forms stand in one table and once there
    ("nouns", "acts"): "sail sails swing swings fly flies roll rolls",
    ("looks", "deeds"): "abandoned cursed dreaded",
    ("looks", "takes"): "admired lost",
    ("verbs", "jobs"): "cook",
}
APART = [{"looks", "plain", "nouns", "jobs", "roles"}, {"verbs", "takes", "deeds"}, {"acts", "looks", "manners"}]


def table(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


TABLES = {name: table(name) for name in HEADERS}


def words(name: str) -> list[str]:
    """The English forms of a table."""
    columns = [c for c in HEADERS[name] if c not in ("subject", "mood", "sex", *ESPERANTO)]
    columns = [c for c in columns if c not in LISTS]
    return [row[column] for row in TABLES[name] for column in columns]


def listed(row: dict[str, str], column: str) -> list[str]:
    return row[column].split(",")


def test_there_are_no_other_tables():
    names = [*HEADERS, "function_words"]
    assert sorted(path.name for path in FOLDER.glob("*.tsv")) == sorted(f"{name}.tsv" for name in names)


@pytest.mark.parametrize("name", HEADERS)
def test_a_table_has_its_columns_in_each_line(name: str):
    text = (FOLDER / f"{name}.tsv").read_bytes().decode()
    assert "\r" not in text
    assert text.endswith("\n")
    lines = text.splitlines()
    comments = sum(line.startswith("#") for line in lines)
    assert all(line.startswith("#") for line in lines[:comments])  # at the top alone
    assert lines[comments].split("\t") == HEADERS[name]
    for line in lines[comments + 1 :]:
        assert len(line.split("\t")) == len(HEADERS[name]), line
        assert all(re.fullmatch(r"\S+", cell) for cell in line.split("\t")), line


def test_each_subject_and_mood_and_sex_has_its_number_of_words():
    for name, size in EACH.items():
        assert [row["subject"] for row in TABLES[name]] == [s for s in SUBJECTS for _ in range(size)], name
    for name, size in EACH_MOOD.items():
        assert [row["mood"] for row in TABLES[name]] == [m for m in MOODS for _ in range(size)], name
    for name, size in ALL.items():
        assert len(TABLES[name]) == size, name
    assert [row["sex"] for row in TABLES["names"]] == ["m"] * 12 + ["f"] * 12


@pytest.mark.parametrize("name", HEADERS)
def test_words_are_of_small_letters_and_esperanto_of_its_alphabet(name: str):
    for row in TABLES[name]:
        for column, cell in row.items():
            assert re.fullmatch("[a-z]+(,[a-z]+)*" if column in LISTS else "[a-zĉĝĥĵŝŭ]+", cell), cell
            if column in ESPERANTO and name != "names":
                assert not re.search("[qwxy]", cell), cell
    assert all(re.fullmatch("[a-z]+", word) for word in words(name))
    if name == "names":  # the same in both languages
        assert all(row["word"] == row["esperanto"] for row in TABLES[name])


def test_a_form_stands_in_one_table_once_but_for_words_of_two_parts_of_speech():
    tables: dict[str, tuple[str, ...]] = {}
    for name in HEADERS:
        for word in words(name):
            tables[word] = (*tables.get(word, ()), name)
    shared = {word: names for word, names in tables.items() if len(names) > 1}
    assert shared == {word: names for names, both in TWO_TABLES.items() for word in both.split()}
    assert all(len(group.intersection(names)) < 2 for names in TWO_TABLES for group in APART)


def test_the_two_forms_of_a_word_differ():
    for name, item, other in [
        ("nouns", "singular", "plural"),
        ("verbs", "past", "infinitive"),
        ("acts", "plural", "singular"),
    ]:
        assert all(row[item] != row[other] for row in TABLES[name]), name
    assert all(row["male"] != row["female"] for row in TABLES["roles"])
    assert all(row["singular"].endswith("s") and not row["plural"].endswith("s") for row in TABLES["acts"])


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_noun_has_company_of_its_own_subject(subject: str):
    nouns = [row for row in TABLES["nouns"] if row["subject"] == subject]
    for column, key in [("verbs", "past"), ("acts", "plural"), ("places", "word")]:
        known = [row[key] for row in TABLES[column] if row["subject"] == subject]
        for row in nouns:
            company = listed(row, column)
            assert len(company) == 2, row
            assert company == sorted(set(company), key=known.index), row  # known, different, the more frequent first
        used = Counter(word for row in nouns for word in listed(row, column))
        assert min(used[word] for word in known) >= 2, used


def test_a_noun_has_two_plain_adjectives_and_each_of_them_fits_nouns_of_several_subjects():
    known = [row["word"] for row in TABLES["plain"]]
    subjects: dict[str, set[str]] = {}
    for row in TABLES["nouns"]:
        company = listed(row, "plain")
        assert len(company) == 2, row
        assert company == sorted(set(company), key=known.index), row
        for word in company:
            subjects.setdefault(word, set()).add(row["subject"])
    assert all(len(subjects[word]) >= 4 for word in known), subjects


@pytest.mark.parametrize("subject", SUBJECTS)
def test_two_nouns_of_a_subject_share_one_of_verbs_acts_and_places_at_most(subject: str):
    nouns = [row for row in TABLES["nouns"] if row["subject"] == subject]
    for a, b in combinations(nouns, 2):
        same = [column for column in ("verbs", "acts", "places") if a[column] == b[column]]
        assert len(same) <= 1, (a["singular"], b["singular"], same)


def test_two_pairs_of_persons_share_one_verb_at_most():
    verbs = {row["past"] for row in TABLES["role_verbs"]}
    for row in TABLES["roles"]:
        assert row["subject"] in (*SUBJECTS, "any")
        assert len(set(listed(row, "verbs"))) == 3
        assert set(listed(row, "verbs")) <= verbs
    for a, b in combinations(TABLES["roles"], 2):
        assert len(set(listed(a, "verbs")) & set(listed(b, "verbs"))) <= 1, (a["male"], b["male"])
    assert {verb for row in TABLES["roles"] for verb in listed(row, "verbs")} == verbs


def test_each_thing_of_a_person_has_a_verb():
    things = {row["word"] for row in TABLES["role_things"]}
    for row in TABLES["role_verbs"]:
        assert len(set(listed(row, "things"))) == 2, row
    assert {thing for row in TABLES["role_verbs"] for thing in listed(row, "things")} == things


def test_a_job_begins_with_a_consonant_and_is_nobodys_role():
    roles = set(words("roles"))
    for row in TABLES["jobs"]:
        assert row["word"][0] not in "aeiou"
        assert row["word"] not in roles


@pytest.mark.parametrize(
    "names",
    [
        ["nouns", "places", "jobs", "roles", "role_things", "sayings"],
        ["verbs", "acts", "takes", "deeds", "role_verbs"],
        ["looks", "feelings", "plain"],
        ["manners"],
    ],
    ids=["nouns", "verbs", "adjectives", "adverbs"],
)
def test_two_words_of_one_part_of_speech_have_two_roots(names: list[str]):
    roots = [
        row[column] for name in names for row in TABLES[name] for column in ("root", "female_root") if column in row
    ]
    if "nouns" in names:
        roots += [row["esperanto"].removesuffix("j").removesuffix("o") for row in TABLES["likes"]]
        roots += [row[column].removesuffix("o") for row in TABLES["lands"] for column in ("town_root", "country_root")]
    assert not [root for root, count in Counter(roots).items() if count > 1]


def test_esperanto_words_that_are_written_whole_have_their_endings():
    assert all(row["esperanto"].endswith(("o", "oj")) for row in TABLES["likes"])
    assert all(row[column].endswith("o") for row in TABLES["lands"] for column in ("town_root", "country_root"))
    languages = [row["language_root"] for row in TABLES["lands"]]
    assert len(set(languages)) == len(languages)
    female = [(row["root"], row["female_root"]) for row in TABLES["roles"]]
    assert all(her == his + "in" for his, her in female)
