"""What a reader of the text should know of its words, from the tables that the text is drawn from.

analogies.txt     Google's format (Mikolov et al. 2013): ": section" lines, then "a b c d" with a : b = c : d
similarity.tsv    word, word, score 0 to 10
groups.txt        ": group" lines, then the group's words
agreement.jsonl   two texts that differ in the number of one verb, the first right, by the clauses between the noun and
                  its verb (Linzen, Dupoux & Goldberg 2016)

`synonym_sets` lists the words of the tables as a dictionary does: sets of synonyms, each below what it is a kind of. A
method that reads it knows a part of the answers of `similarity.tsv`: the subject of a noun, and what it does.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from microworld.engine import World, world
from microworld.lexicon import ANY, MOODS, SUBJECTS, table

QUESTIONS = 200
"""Most analogies of a section."""
SAME_SUBJECT = 4.0
"""Similarity of two nouns of a subject that do nothing in common; each companion in common adds 1."""
PAIRS_PER_SCORE = 60
PROBES = 200
"""Agreement pairs for each number of clauses."""
CLAUSES = (0, 1, 2)


def write_questions(folder: Path, counts: Mapping[str, int], least: int, seed: int) -> None:
    """Write all of them.

    Args:
        counts: word → its count in the training text. least: a word that is asked for occurs so often.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "analogies.txt": analogies(counts, least, Random(f"{seed} analogies")),
        "similarity.tsv": similarity(counts, Random(f"{seed} similarity")),
        "groups.txt": groups(counts),
        "agreement.jsonl": agreement(world(), Random(f"{seed} agreement")),
    }
    for name, lines in files.items():
        (folder / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")


SECTIONS = {
    # section → table and the columns of a pair
    "town-country": ("lands", "town", "country"),
    "country-language": ("lands", "country", "language"),
    "family": ("roles", "male", "female"),
    "plural": ("nouns", "singular", "plural"),
    "past-tense": ("verbs", "infinitive", "past"),
    "plural-verbs": ("acts", "plural", "singular"),
    "comparative": ("plain", "word", "comparative"),
}


def analogies(counts: Mapping[str, int], least: int, rng: Random) -> list[str]:
    """Questions over all ordered pairs of a section's pairs, at most `QUESTIONS` of them."""
    lines = []
    for section, (name, first, second) in SECTIONS.items():
        pairs = [(row[first], row[second]) for row in table(name)]
        frequent = [pair for pair in pairs if min(counts.get(word, 0) for word in pair) >= least]
        questions = [(first, other) for first in frequent for other in frequent if first != other]
        rng.shuffle(questions)
        lines += [f": {section}", *(" ".join((*first, *other)) for first, other in questions[:QUESTIONS])]
    return lines


def similarity(counts: Mapping[str, int], rng: Random) -> list[str]:
    """Pairs of nouns with the score that the tables give them: 0 of different subjects, else 4, and 1 for each thing
    that is done with both, that both do, or where both are.
    """
    nouns = [row for row in table("nouns") if counts.get(row["singular"], 0)]
    by_score: dict[float, list[tuple[str, str]]] = {}
    for index, noun in enumerate(nouns):
        for other in nouns[index + 1 :]:
            by_score.setdefault(likeness(noun, other), []).append((noun["singular"], other["singular"]))
    lines = []
    for score, pairs in sorted(by_score.items(), reverse=True):
        rng.shuffle(pairs)
        lines += [f"{first}\t{other}\t{score:.1f}" for first, other in pairs[:PAIRS_PER_SCORE]]
    return lines


def likeness(row: Mapping[str, str], other: Mapping[str, str]) -> float:
    """The score of two rows of nouns.tsv."""
    if row["subject"] != other["subject"]:
        return 0.0
    common = (set(row[column].split(",")) & set(other[column].split(",")) for column in ("verbs", "acts", "places"))
    return SAME_SUBJECT + sum(map(len, common))


def groups(counts: Mapping[str, int]) -> list[str]:
    """Groups of words that a text should bring together, each word in one of them."""
    results: dict[str, list[str]] = {}
    for name, column in (("nouns", "singular"), ("jobs", "word")):
        for subject in SUBJECTS:
            results[f"{subject}-{name}"] = [row[column] for row in table(name) if row["subject"] == subject]
    for name in ("looks", "feelings"):
        for mood in MOODS:
            results[f"{mood}-{name}"] = [row["word"] for row in table(name) if row["mood"] == mood]
    for column in ("town", "country", "language"):
        results[column] = [row[column] for row in table("lands")]
    results["likes"] = [row["word"] for row in table("likes")]
    seen: set[str] = set()
    lines = []
    for group, words in results.items():
        known = [word for word in words if counts.get(word, 0) and word not in seen]
        seen.update(known)
        lines += [f": {group}", " ".join(known)] if len(known) > 1 else []
    return lines


ENTITY = "entity"
KINDS = {
    # table → columns with the forms of a word, and the word for all of them; of nouns and persons also what that is
    "nouns": (("singular", "plural"), "thing"),
    "places": (("word",), "place"),
    "jobs": (("word",), "person"),
    "likes": (("word",), "pleasure"),
    "role_things": (("word",), "possession"),
    "sayings": (("word",), "idea"),
    "verbs": (("infinitive", "past"), "handle"),
    "acts": (("plural", "singular"), "behave"),
    "takes": (("past",), "value"),
    "deeds": (("past",), "treat"),
    "role_verbs": (("past",), "manage"),
    "plain": (("word", "comparative"), "measurable"),
}
NAMED = ("nouns", "places", "jobs", "likes", "role_things", "sayings")
"""Tables of nouns; what all of them are is `ENTITY`."""
SYNONYMS = {"looks": "look", "feelings": "feeling", "manners": "manner"}
"""Tables whose words of one mood mean the same → the word for all of them."""
ROLE_COLUMNS = ("male", "female")
LAND = ("town", "country", "language")


def synonym_sets() -> Iterator[tuple[str, Sequence[str], Sequence[str]]]:
    """Sets of synonyms: id, words, the ids of the sets that it is a kind of.

    The forms of a word are one set. Nouns are below their subject, and below what they do; persons below their subject
    or their sex. The adjectives and adverbs of a mood are one set. Names and the words of the rules have no entry.
    """
    yield ENTITY, [ENTITY], []
    for name, (columns, kind) in KINDS.items():
        yield name, [kind], [ENTITY] if name in NAMED else []
        owners = dict.fromkeys(owner for row in table(name) if (owner := row.get("subject") or row.get("mood")))
        for owner in owners:
            yield f"{name}.{owner}", [f"{owner}_{kind}"], [name]
        if name == "nouns":
            for act in table("acts"):
                yield f"{act['plural']}.doer", [f"what_{act['singular']}"], [f"nouns.{act['subject']}"]
        for row in table(name):
            owner = row.get("subject") or row.get("mood")
            above = [f"{name}.{owner}"] if owner else [name]
            if name == "nouns":
                above = [f"{act}.doer" for act in row["acts"].split(",")]
            yield f"{row[columns[0]]}.{name}", [row[column] for column in columns], above
    for sex in ROLE_COLUMNS:
        yield f"{sex}.roles", [sex], ["jobs"]
        for row in table("roles"):
            above = [f"{sex}.roles"] if row["subject"] == ANY else [f"{sex}.roles", f"jobs.{row['subject']}"]
            yield f"{row[sex]}.roles", [row[sex]], above
    for name, kind in SYNONYMS.items():
        yield name, [kind], []
        for mood in MOODS:
            yield f"{mood}.{name}", [row["word"] for row in table(name) if row["mood"] == mood], [name]
    for column in LAND:
        yield f"{column}.lands", [column], ["places"] if column != "language" else [ENTITY]
        for row in table("lands"):
            yield f"{row[column]}.{column}", [row[column]], [f"{column}.lands"]


def agreement(here: World, rng: Random) -> list[str]:
    """JSON lines {"good", "bad", "clauses"}: a story's first lines, then a line whose verb is right or wrong.

    Without a clause, the verb stands directly after its noun. With clauses, no noun directly before the verb has its
    number: it is of the other one, or a place, or there is none.
    """
    pairs: dict[int, dict[str, None]] = {clauses: {} for clauses in CLAUSES}
    while any(len(lines) < PROBES for lines in pairs.values()):
        story = here.draw(rng, 6)
        for end in range(2, len(story)):
            pair = probe([line.words for line in story[: end + 1]])
            if pair and len(pairs[pair[2]]) < PROBES:
                good, bad, clauses = pair
                line = json.dumps({"good": good, "bad": bad, "clauses": clauses}, ensure_ascii=False)
                pairs[clauses][line] = None
    return [line for lines in pairs.values() for line in lines]


def probe(lines: list[list[str]]) -> tuple[str, str, int] | None:
    """(good, bad, clauses) from the last line of a story, if its verb agrees with a noun at its beginning."""
    *before, last = lines
    states = agreeing(last)
    if states is None:
        return None
    index, _, clauses = states
    bad = [*last[:index], OTHER_NUMBER[last[index]], *last[index + 1 :]]
    good, bad_text = ("\n".join(" ".join(line) for line in [*before, entry]) for entry in (last, bad))
    return good, bad_text, clauses


def agreeing(line: list[str]) -> tuple[int, str, int] | None:
    """A verb that agrees with a noun at the beginning of a line: directly after it, or across clauses.

    Returns:
        The verb's position, its number (s, p), the clauses between; None: there is none, or the noun directly before
        the verb has its number though it is another one.
    """
    subject = next((index for index, word in enumerate(line) if word in _NOUNS), None)
    if subject is None or line[0] not in ("the", "this", "these"):
        return None
    number, clauses = _NOUNS[line[subject]], line.count("that")
    for index in range(subject + 1, len(line)):
        if _VERBS.get(line[index]) == number:
            across = line[subject + 1] == "that" and _NOUNS.get(line[index - 1]) != number
            if across if clauses else index == subject + 1:
                return index, "s" if number == "singular" else "p", clauses
            return None
    return None


_NOUNS = {row[number]: number for row in table("nouns") for number in ("singular", "plural")}
_VERBS = {row[number]: number for row in table("acts") for number in ("singular", "plural")}
_VERBS = {verb: number for verb, number in _VERBS.items() if verb not in _NOUNS}  # "swing", "roll": taken as nouns
_VERBS |= {"is": "singular", "are": "plural"}
OTHER_NUMBER = {
    row[name]: row[other]
    for row in table("acts")
    for name, other in zip(("singular", "plural"), ("plural", "singular"), strict=True)
}
OTHER_NUMBER |= {"is": "are", "are": "is"}
"""Verb → its form of the other number."""
