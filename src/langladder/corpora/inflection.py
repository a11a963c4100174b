"""English spelling rules for regular inflection, and Esperanto endings (Fundamento de Esperanto, rules 2-6)."""

VOWELS = "aeiou"


def plural(noun: str) -> str:
    """dog → dogs, box → boxes, baby → babies."""
    return _with_s(noun)


def third_person(verb: str) -> str:
    """see → sees, watch → watches, hurry → hurries, go → goes."""
    return verb + "es" if verb.endswith("o") else _with_s(verb)


def _with_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def past(verb: str) -> str:
    """walk → walked, bake → baked, hurry → hurried, stop → stopped."""
    return _with_vowel_ending(verb, "ed")


def progressive(verb: str) -> str:
    """walk → walking, bake → baking, hurry → hurrying, stop → stopping, see → seeing."""
    if verb.endswith(("ee", "y")):
        return verb + "ing"
    return _with_vowel_ending(verb, "ing")


def comparative(adjective: str) -> str:
    """tall → taller, nice → nicer, happy → happier, big → bigger."""
    return _with_vowel_ending(adjective, "er")


def superlative(adjective: str) -> str:
    """tall → tallest, nice → nicest, happy → happiest, big → biggest."""
    return _with_vowel_ending(adjective, "est")


def _with_vowel_ending(word: str, ending: str) -> str:
    if word.endswith("e"):
        return word[:-1] + ending
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "i" + ending
    if _doubles(word):
        return word + word[-1] + ending
    return word + ending


def _doubles(word: str) -> bool:
    """One syllable that ends in a single vowel and a single consonant: stop, big, swim; not rain, fix, play."""
    return (
        len(word) >= 3
        and sum(letter in VOWELS for letter in word) == 1
        and word[-2] in VOWELS
        and word[-1] not in VOWELS + "wxy"
    )


def article(word: str) -> str:
    """The indefinite article before a word: a cat, an owl, an honest heir, a useful uniform."""
    vowel = word[0] in VOWELS and not word.startswith(("eu", "us", "uni"))
    return "an" if vowel or word.startswith(("hon", "heir")) else "a"


def esperanto_noun(root: str, number: str, case: str = "") -> str:
    """root + o, plural j, accusative n: hundo, hundoj, hundon, hundojn. number: "s" or "p"; case: "" or "n"."""
    return root + "o" + ("j" if number == "p" else "") + case


def esperanto_adjective(root: str, number: str, case: str = "") -> str:
    """root + a, agreeing in number and case: granda, grandaj, grandan, grandajn."""
    return root + "a" + ("j" if number == "p" else "") + case
