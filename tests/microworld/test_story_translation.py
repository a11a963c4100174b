"""Lines in Esperanto: all of them, their letters, their agreement, and rules that do not fit together."""

import re
from pathlib import Path
from random import Random

import pytest

from microworld.engine import World, world
from microworld.lexicon import HERE, table
from microworld.notation import RuleError
from microworld.translation import Translation

ESPERANTO = HERE / "esperanto.rules"


@pytest.fixture(scope="module")
def translation() -> Translation:
    return Translation(world())


@pytest.fixture(scope="module")
def translated(translation: Translation) -> list[tuple[str, str]]:
    """The lines of 500 stories."""
    rng = Random("translated")
    return [
        (line.text, " ".join(translation.translate(line.words, line.ways)))
        for _ in range(500)
        for line in translation.world.draw(rng)
    ]


def test_every_line_of_500_stories_is_translated_into_letters_of_esperanto(translated: list[tuple[str, str]]) -> None:
    assert len(translated) > 500 * 7
    for english, esperanto in translated:
        assert re.fullmatch(r"[a-zĉĝĥĵŝŭ ]+[a-zĉĝĥĵŝŭ ,]*[.?]", esperanto), (english, esperanto)
        assert esperanto[-1] == english[-1]


def test_a_line_that_was_read_is_translated_as_the_line_that_was_drawn(translation: Translation) -> None:
    story = translation.world.draw(Random("read"))
    reading = translation.world.read(line.words for line in story)
    assert reading is not None
    for line, ways in zip(story, reading.lines, strict=True):
        assert translation.translate(line.words, ways) == translation.translate(line.words, line.ways)


def test_adjectives_agree_with_their_nouns(translated: list[tuple[str, str]]) -> None:
    """The word before a noun in -ojn ends in -ajn, and so on, where an adjective stands there."""
    result = 0
    for english, esperanto in translated:
        for adjective, ending, noun in re.findall(r"\b(?:la|du|ĉi tiu\w*) (\w+?)(ajn|aj|an|a) (\w+)", esperanto):
            result += 1
            assert noun.endswith(ending.replace("a", "o", 1)), (english, esperanto, adjective)
    assert result > 1000


@pytest.mark.parametrize(("english", "esperanto"), [
    ("the beautiful cow sleeps .", "la bela bovino dormas ."),
    ("the beautiful cows sleep .", "la belaj bovinoj dormas ."),
    ("he bought this beautiful cow .", "li aĉetis ĉi tiun belan bovinon ."),
    ("he bought these beautiful cows .", "li aĉetis ĉi tiujn belajn bovinojn ."),
    ("he bought two grey cows that sleep .", "li aĉetis du grizajn bovinojn , kiuj dormas ."),
    ("the cow that he milked is heavier than the cat .", "la bovino , kiun li melkis , estas pli peza ol la kato ."),
    ("the cows that he milked are lovely .", "la bovinoj , kiujn li melkis , estas amindaj ."),
    ("the queen was happy .", "la reĝino estis feliĉa ."),
    ("everybody was happy .", "ĉiuj estis feliĉaj ."),
    ("john speaks english .", "john parolas la anglan ."),
    ("john likes books .", "john ŝatas librojn ."),
    ("where does he live ?", "kie li loĝas ?"),
])  # fmt: skip
def test_case_and_number(translation: Translation, english: str, esperanto: str) -> None:
    assert translation_of(translation, english) == esperanto


def test_what_is_compared_agrees_with_what_it_is_compared_with(translation: Translation) -> None:
    cow = next(row for row in table("nouns") if row["singular"] == "cow")
    plain = next(row for row in table("plain") if row["word"] == cow["plain"].split(",")[0])
    english = f"these beautiful cows are {plain['comparative']} than the cat ."
    assert translation_of(translation, english) == f"ĉi tiuj belaj bovinoj estas pli {plain['root']}aj ol la kato ."


def translation_of(translation: Translation, english: str) -> str:
    """A second line in Esperanto."""
    story = [line.split() for line in ("john is a farmer from london who likes books .", english)]
    reading = translation.world.read(story)
    assert reading is not None, english
    return " ".join(translation.translate(story[1], reading.lines[1]))


def test_every_word_of_the_lexicon_has_a_word_of_esperanto(translation: Translation) -> None:
    english, esperanto = translation.world.rules.classes, translation.rules.classes
    for name, line in english.items():
        assert esperanto[name].table == line.table
        for column, _, _ in esperanto[name].forms.values():
            assert all(row[column] for row in table(line.table)), (name, column)


@pytest.mark.parametrize(("old", "new", "message"), [
    ("class TAKE      takes        -  root", "class TAKE      takes        -  roots", "takes.tsv has no column roots"),
    ("class TAKE      takes        -  root\n", "\n", "there is no class TAKE"),
    ("    ĉiuj estis FEELING+adj.pl.nom .\n", "", "sentence: english.rules:"),
    ("    ĉiuj estis FEELING+adj.pl.nom .", "    ĉiuj estis LOOK+adj.pl.nom .", "has FEELING; this has LOOK"),
    ("    ĉiuj estis FEELING+adj.pl.nom .", "    ĉiuj estis FEELING+adj.pl.dat .", "no ending pl.dat (s.nom,"),
    ("    ĉiuj estis FEELING+adj.pl.nom .", "    ĉiuj estis FEELING+adj .", "FEELING+adj has no ending (none)"),
    ("    ĉiuj estis FEELING+adj.pl.nom .", "    ĉiuj estis FEELING+adjective.pl.nom .", "no endings adjective"),
    ("    ĉiuj estis FEELING+adj.pl.nom .", "    ĉiuj estis FEELING+adj.NOUN.nom .", "there is no NOUN in"),
    ("    ĉiuj estis FEELING+adj.pl.nom .", "    ĉiuj estis FEELING+adj.p.nom .", "FEELING+adj has no ending p.nom"),
    ("    ĉiuj estis FEELING+adj.pl.nom .", "    {p ĉiu ĉiuj} FEELING+adj.pl.nom .", "has no parameter p"),
    ("{NOUN kiun kiujn}", "{NOUN kiun}", "{NOUN kiun}: no parameter has the value s and 1 values"),
    ("{NOUN kiun kiujn}", "{JOB kiun kiujn}", "JOB: there is no JOB in this line, nor below it"),
    ("    estas <state n>", "    estas <state>", "the rule state has the parameters n, and gets (none)"),
    ("\nowner\n    NAME\n", "\n", "there is no rule owner"),
    ("\nowner\n", "\nspare\n    nu\nowner\n", "english.rules has no rule spare"),
])  # fmt: skip
def test_rules_that_do_not_fit_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = ESPERANTO.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path = tmp_path / "mine.rules"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(RuleError) as caught:
        Translation(World(), path)
    assert message in str(caught.value)
    assert re.match(r"mine\.rules(:\d+)?: ", str(caught.value))
    assert "\n" not in str(caught.value)
