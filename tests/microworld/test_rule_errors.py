"""Each mistake in a file of rules is one sentence that names file and line."""

import re
import shutil
from pathlib import Path

import pytest

from microworld import lexicon
from microworld.engine import World
from microworld.floors import check
from microworld.lexicon import Extent
from microworld.notation import RuleError

SMALL = Path(__file__).with_name("small.rules")


def checked(folder: Path, old: str, new: str) -> tuple[int, str]:
    """The line that was changed in the small world, and the error message."""
    text = SMALL.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    line = text[: text.index(old)].count("\n") + 1
    path = folder / "mine.rules"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(RuleError) as caught:
        check(World(Extent(2, 2, 2), path))
    assert "\n" not in str(caught.value)
    return line, str(caught.value)


@pytest.mark.parametrize(("old", "new", "message"), [
    # declarations
    ("parameter p m f", "parameter p", "expected parameter NAME VALUE"),
    ("parameter p m f", "parameter p m f p", "p is a parameter, and cannot be a value"),
    ("parameter p m f", "paramter p m f", "the rule paramter has no lines"),
    ("curve arrives 0 1.0", "curve turns 0 1.0", "curve turns is there twice, first in mine.rules:5"),
    ("curve arrives 0 1.0", "curve arrives 0 much", "could not convert string to float: 'much'"),
    ("curve arrives 0 1.0", "curve arrives 0 -1", "the numbers of a curve are from 0 on"),
    ("names    -        m=word", "nams    -        m=word", "there is no table lexicon/nams.tsv"),
    ("lands    -        town", "lands    -        city", "lands.tsv has no column city (town, country,"),
    ("m=word?sex=m f", "m=word?gender=m f", "names.tsv has no column gender (sex, word"),
    ("m=word?sex=m f", "m=word? f", "m=word?: a form is COLUMN, FORM=COLUMN or FORM=COLUMN?COLUMN=VALUE"),
    ("jobs     subject", "jobs     topic", "topic: what tilts a class is subject, mood or - (nothing)"),
    ("jobs     subject", "jobs     mood", "jobs.tsv has no column mood"),
    ("class LIKE    likes    -        word", "class LIKE    likes", "expected class NAME TABLE TILT FORM"),
    ("company VERB NOUN verbs", "company VERB NOUN", "expected company CLASS CLASS COLUMN"),
    ("company VERB NOUN verbs", "company VERB NOUN uses", "nouns.tsv has no column uses"),
    ("company VERB NOUN verbs", "company VERB THING verbs", "there is no class THING above this line"),
    ("derived country town lands", "derived capital town lands", "lands.tsv has no column capital"),
    # rules
    ("object\n    0.6", "object q\n    0.6", "there is no parameter q (p)"),
    ("<object> .", "<objects> .", "there is no rule objects"),
    ("<object> .", "<object p> .", "the rule object has the parameters (none), and gets m"),
    ("but !turn <sentence>", "but !turn <one x>", "x is no value of the parameter p of the rule one (m f)"),
    ("<object> .", "<object .", "<object: a rule stands between < and >"),
    ("object\n    0.6", "sentence\n    0.6", "sentence: the rule sentence is there twice"),
    # weights
    ("2                         <sentence>", "often  <sentence>", "often is no number, no curve and no feature ("),
    ("2                         <sentence>", "-2  <sentence>", "the weight -2 is not a number from 0 on"),
    ("2                         <sentence>", "nan  <sentence>", "the weight nan is not a number from 0 on"),
    ("2                         <sentence>", "<sentence>", "expected a weight and what is written"),
    ("2                         <sentence>", "2", "expected a weight and what is written"),
    ("0.3*leads.p", "0.3*leds.p", "leds is no number, no curve and no feature"),
    ("0.3*leads.p", "0.3*leads", "leads: expected leads.(m|f)"),
    ("0.3*leads.p", "0.3*leads.p.p", "leads.m.m: expected leads.(m|f)"),
    ("open_question.p.town ", "open_question.p.city ",
     "open_question.m.city: expected open_question.(m|f).(name|job|town|like)"),
    # symbols
    ("was LOOK .", "was LOKE .", "there is no class LOKE (NAME, JOB"),
    ("was LOOK .", "was LOOK.s .", "class LOOK has no form s"),
    ("was LOOK .", "was Look .", "Look is no word"),
    ("was LOOK .", "was LOOK.", "LOOK. is no word"),
    ("{p he she}", "{p he}", "{p he}: expected 2 choices, one for each value of p (m f)"),
    ("{p he she}", "{q he she}", "{q he she}: there is no parameter q (p)"),
    ("{p he she}", "{p he she", "a brace is open"),
    ("JOB>job.p from", "JOB>job.x from", "JOB>job: what is remembered as job is a JOB of a person (m, f)"),
    ("JOB>job.p from", "JOB>work.p from", "work.m: of a person one remembers name, job, town, like, saying"),
    ("JOB>job.p from", "LIKE>job.p from", "LIKE>job: what is remembered as job is a JOB of a person"),
    ("NAME.p>name.p is", "NAME.m>name.p is", "NAME>name.f: its form is that of the person, not m"),
    ("NOUN.s|do", "NOUN.s|did", "NOUN|did: no company of NOUN is remembered as did"),
    ("was LOOK .", "was LOOK|do .", "LOOK|do: no company of LOOK is remembered as do"),
    ("$job.p left", "$work.p left", "$work: nothing of that name is remembered (name, job, town, like, saying,"),
    ("$job.p left", "$job left", "$job.: what follows the dot is a person (m, f)"),
    ("<one p> live ? !ask.p.town", "<one p> live ? !asks.p.town", "!asks: there is no such effect (mention, ask,"),
    ("<one p> live ? !ask.p.town", "<one p> live ? !ask.p", "ask.m: expected ask.(m|f).(name|job|town|like)"),
    ("<one p> live ? !ask.p.town", "!ask.p.town <one p> live ?", "a line begins with a word, a class or a rule, not"),
    # what can be remembered
    ("is a JOB>job.p from", "is $job.p JOB>job.p from", "$job.m was not said before"),
    ("1             everything was LOOK .", "1   everything NOUN.s|do .", "NOUN|do: no word do comes before it"),
])  # fmt: skip
def test_a_mistake_is_named_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    line, printed = checked(tmp_path, old, new)
    assert message in printed
    assert printed.startswith(f"mine.rules:{line}: ")


@pytest.mark.parametrize(("old", "new", "message"), [
    ("meeting p\n", "meeting\n", "the rule meeting has the parameters (none), and gets m"),
    ("was LOOK .", "was LOOK>do .", "VERB.past>do: do is a LOOK in another line"),
    ("1             everything", "1             but everything", "both this and mine.rules"),
    ("arrives*new.p             <meeting p>", "arrives                   <meeting p>", "both this and mine.rules"),
    ("0.4                       where does <live>", "0.4 but <live>", "both this and mine.rules"),
    ("is a JOB>job.p from", "is a friend from", "$job.m was not said before"),
    ("free           <start>", "free*nobody    <start>", "the rule line have the weight 0 in line 2 of a story"),
    ("0.6  NOUN.s|do", "0.6  two <object>", "the rule object contains itself"),
    ("object\n    0.6", "spare\n    1 well .\nobject\n    0.6", "no story reaches the rule spare"),
])  # fmt: skip
def test_a_mistake_is_named_where_it_shows(tmp_path: Path, old: str, new: str, message: str) -> None:
    """At the other of two lines, or where a rule is used."""
    _, printed = checked(tmp_path, old, new)
    assert message in printed
    assert re.match(r"mine\.rules:\d+: ", printed)


def test_the_first_line_is_a_rule(tmp_path: Path) -> None:
    path = tmp_path / "mine.rules"
    path.write_text("    1 hello .\n", encoding="utf-8")
    with pytest.raises(RuleError, match=r"mine\.rules:1: .*no rule above it"):
        World(path=path)


def test_a_file_without_lines_of_stories_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.rules"
    path.write_text("hello\n    1 hello .\n", encoding="utf-8")
    with pytest.raises(RuleError, match=r"mine\.rules: there is no rule line"):
        World(path=path)


def test_a_curve_that_the_rules_do_not_have_is_refused() -> None:
    with pytest.raises(RuleError, match=r"small\.rules: there is no curve turn \(turns, arrives\)"):
        World(path=SMALL, curves={"turn": (1.0,)})


@pytest.mark.parametrize(("table", "old", "new", "message"), [
    ("nouns", "herded,milked", "herded,milkt", "milkt is not in verbs.tsv"),
    ("nouns", "farm\tcow", "fram\tcow", "fram: expected a subject: farm, kitchen"),
    ("nouns", "farm\tcow\tcows", "farm\tcow", "columns with tabs between"),
    ("nouns", "farm\thorse\t", "farm\tcow\t", "cow is there twice"),
    ("looks", "happy\t", "glad\t", "expected a mood: happy, sad, angry, afraid, any"),
])  # fmt: skip
def test_a_mistake_in_a_table_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, old: str, new: str, message: str
) -> None:
    shutil.copytree(lexicon.HERE / "lexicon", tmp_path / "lexicon")
    file = tmp_path / "lexicon" / f"{table}.tsv"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr(lexicon, "HERE", tmp_path)
    lexicon.table.cache_clear()
    try:
        with pytest.raises(RuleError) as caught:
            World(path=SMALL)
        assert message in str(caught.value)
        assert f"{table}.tsv:{text[: text.index(old)].count(chr(10)) + 1}: " in str(caught.value)
    finally:
        lexicon.table.cache_clear()
