"""How words are written: by Python and by the `tokenizers` library alike, for training texts and for what is asked."""

import gzip
import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from real_data import real

from langladder.ground.errors import InputError
from langladder.text.clean.steps import (
    Book,
    StepsConfig,
    build_steps,
    found_conventions,
    normalisation_of,
    run_steps,
)
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Kind, Tokenizer, TokenizerConfig
from langladder.text.words.normalisation import (
    HAN,
    STEPS,
    Normalisation,
    apostrophe_is_letter,
    function_of,
    lowercase_of,
)
from langladder.text.words.segmentation import Conventions, conventions_of, write_conventions

SCRIPTS = {
    "latin": "Zażółć gęślą jaźń; ĲSSELMEER Ǆ ﬁne №",
    "turkish": "İstanbul'da IŞIK büyük ev",
    "greek": "ΟΔΟΣ ΣΟΦΟΣ Ἀθῆναι Σ",
    "cyrillic": "Ёлка, йод и Її",
    "arabic": "أُحِبُّ ٱلْقِرَاءَةَ إلى المدرســة ١٢٣",
    "hebrew": "בְּרֵאשִׁית בָּרָא",
    "hindi": "हिन्दी क़लम ज़रूर ३ क्‍ष",
    "thai": "น้ำ ทำ กำลัง ๑๒",
    "lao": "ນ້ຳ ຄຳ",
    "tamil": "தமிழ் கோ",
    "korean": "한국어 ｶﾞ",
    "japanese": "ガギグ ﾃﾞｰﾀ １２３ ㌔",
    "vietnamese": "Tiếng Việt ĐƯỢC",
    "emoji": "👩‍💻 ❤️ 1️⃣",
}
FORMS = [*SCRIPTS.values(), *(unicodedata.normalize("NFD", text) for text in SCRIPTS.values())]
NEWER = {0x32FF, 0xA7F2, 0xA7F3, 0xA7F4, 0xAB69}  # younger than the library's tables of NFKC
ALL = [chr(point) for point in range(sys.maxunicode + 1) if unicodedata.category(chr(point)) not in ("Cs", "Cn", "Co")]
OLDER = [item for item in ALL if ord(item) < 0x10000 and ord(item) not in NEWER]


@pytest.mark.parametrize("name", [name for name in STEPS if name not in HAN])
def test_python_and_the_library_write_every_character_alike(name: str) -> None:
    step, characters = Normalisation((name,)), OLDER if name.startswith("NFKC") else ALL
    library, beside = step.normalizer(), "'" if name == "apostrophe" else "x"
    blocks = [
        "".join(f"{beside}{character}{beside} " for character in characters[start : start + 100])
        for start in range(0, len(characters), 100)
    ]
    for text in (*FORMS, *blocks):
        assert step.normalise(text) == library.normalize_str(text), ascii(text)
        assert step.normalise(step.normalise(text)) == step.normalise(text), ascii(text)


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
@pytest.mark.parametrize("text", FORMS, ids=ascii)
def test_forms_are_unicode_s_but_thai_and_lao_vowels_stay_whole(form: Any, text: str) -> None:
    result = Normalisation((form,)).normalise(text)
    whole = result.replace("\u0e33", "\u0e4d\u0e32").replace("\u0eb3", "\u0ecd\u0eb2") if form != "NFC" else result
    assert whole == unicodedata.normalize(form.removesuffix("_letters"), text)
    assert Normalisation((form,)).normalise(unicodedata.normalize("NFD", text)) == result


def test_golden_thai_and_lao_vowels() -> None:
    for text in ("น้ำ", "ນ້ຳ"):
        assert clean(text, unicode="NFKC") == clean(text) == text


@pytest.mark.parametrize("text", ["k´o nu´ul", "ἀλλ᾽ ὦ ᾿Α", "xʷ tʰa ⁿd kᵐb", "5 ˚C", "a¨b¸"])
def test_golden_letters_that_nfkc_would_tear_stay(text: str) -> None:
    step = normalisation_of(StepsConfig(unicode="NFKC", apostrophe="punctuation"))
    assert clean(text, unicode="NFKC") == step.normalise(text) == step.normalizer().normalize_str(text) == text
    assert clean(f"{text} ﬁ Ｆ ｶﾞ x²", unicode="NFKC") == f"{text} fi F ガ x2"


def clean(line: str, **switches: Any) -> str:
    for _, step in build_steps(StepsConfig.model_validate(switches)):
        line = step(line)
    return line


@pytest.mark.parametrize(
    ("language", "before", "after"),
    [
        (None, "İSTANBUL IŞIK", "istanbul işik"),
        (None, "I\u0307stanbul", "istanbul"),
        ("en", "ΟΔΟΣ ΣΑΣ. Σ", "οδος σας. σ"),
        ("tr", "İSTANBUL IŞIK ISI", "istanbul ışık ısı"),
        ("tr-TR", "I\u0307z IZ", "iz ız"),
        ("tur", "IŞIK", "ışık"),
        ("azj-Latn", "ILIQ", "ılıq"),
        ("aze", "ILIQ", "ılıq"),
        ("lit", "I\u0328\u0303", "į\u0307\u0303"),
        ("fra", "IL", "il"),
        ("az", "İL ILIQ", "il ılıq"),
        ("lt", "Ì J\u0301 Į\u0303 IK", "i\u0307\u0300 j\u0307\u0301 į\u0307\u0303 ik"),
        ("lt", "I\u0328\u0303", "į\u0307\u0303"),
        ("el", "ΟΔΟΣ", "οδος"),
    ],
)
def test_golden_lower_case_of_languages(language: str | None, before: str, after: str) -> None:
    assert clean(before, lowercase=True, language=language) == after
    assert Normalisation((lowercase_of(language),)).normalizer().normalize_str(clean(before)) == after


@given(st.text(st.sampled_from("ΑΣςσ'. -İIıi\u0307\u0328\u0301JĮÌ\u00adx")))
def test_lower_case_is_python_s_but_for_the_dotted_capital(text: str) -> None:
    plain = text.replace("İ", "i").replace("I\u0307", "i")
    assert Normalisation(("lowercase",)).normalise(text) == plain.lower()
    for name in ("lowercase", "lowercase_tr", "lowercase_lt", "invisible"):
        assert Normalisation((name,)).normalizer().normalize_str(text) == Normalisation((name,)).normalise(text)


def test_golden_invisible_characters() -> None:
    strange = "a\u00adb\u200bc\u200e\u200f\u061c\u2060\u2061\u2064\u202a\u202e\u2066\u2069d"
    assert clean(strange) == "abcd" and clean(strange, invisible=False) == strange
    kept = "क्‍ष می‌خواهم ❤️ 👩‍💻"
    assert clean(kept) == kept
    assert clean("cafe\u200b\u0301 e\u0301") == "café é"  # before Unicode's form
    assert clean("co&shy;op cafe&#x301;", html=True) == "coop café"
    book = Book()
    book.apply(build_steps(StepsConfig()), strange)
    assert book.report()["changed_by_step"] == {"invisible": 1}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        *((f"aji{mark} k{mark}o {mark}oku", "ajiʼ kʼo ʼoku") for mark in "'’‘ʻʼ`´᾽᾿"),
        ("o̱'ne Ʉ’ ‘Ā ＇oku", "o̱ʼne Ʉʼ ʼĀ ʼoku"),
        ("said '' `` ''so'' b'' 5' 7'' ' ´ .' '9", "said '' `` ''so'' b'' 5' 7'' ' ´ .' '9"),
        ("m\u00ad'yata м'ята", "mʼyata мʼята"),
    ],
)
def test_golden_apostrophes_that_are_letters(before: str, after: str) -> None:
    assert clean(before, unicode="NFKC", apostrophe="letter") == after == clean(after, apostrophe="letter")
    step = normalisation_of(StepsConfig(unicode="NFKC", apostrophe="letter"))
    assert step.normalise(before) == step.normalizer().normalize_str(before) == after


@pytest.mark.parametrize(
    ("switches", "before", "after"),
    [
        ({"arabic": ["tatweel"]}, "المدرســة", "المدرسة"),
        ({"arabic": ["harakat"]}, "أُحِبُّ ٱلْقِرَاءَةَ", "أحب ٱلقراءة"),
        ({"arabic": ["harakat"], "unicode": "none"}, "\u0627\u0654", "\u0627\u0654"),
        ({"arabic": ["alef"]}, "أحمد إلى آمن ٱسم", "احمد الى امن اسم"),
        ({"arabic": ["yeh"]}, "إلى على", "إلي علي"),
        ({"arabic": ["yeh", "alef", "harakat", "tatweel"]}, "إِلـى", "الي"),
        ({"arabic": ["persian"]}, "كتابي على", "کتابی على"),
        ({"digits": "ascii"}, "٣ ३ ３ ๓ x² 7", "3 3 3 3 x² 7"),
        ({"digits": "zero"}, "٣ 1984", "0 0000"),
        ({"digits": "remove"}, "a٣b 19", "ab"),
    ],
)
def test_golden_steps_by_choice(switches: dict[str, Any], before: str, after: str) -> None:
    assert clean(before, **switches) == after
    assert normalisation_of(StepsConfig.model_validate(switches)).normalizer().normalize_str(before).strip() == after


LETTER = {
    "kiche": [
        "Sib'alaj nim ri ab'aj. Kinwilo chi utz ri aji'.",
        "Kuna' tew ri ik' pa ri ja', xuqe' ri tata' k'o pa b'e.",
    ],
    "tongan": [
        "Ko e me'a 'i he mahino 'a e ngaahi totonu",
        "'oku tali fiefia ai 'ehe fa'ahinga 'o e tangata 'a e mamani",
    ],
    "hawaiian": [
        "ʻOiai, ʻo ka hoʻomaopopo ʻana i ka hanohano",
        "a me nā pua o ka ʻohana, ua kūkala ʻia a maikaʻi ʻole",
    ],
    "tahitian": ["‘Ua fa’ati’a ‘oia i te ta’ata ‘e te ‘āi’a", "‘aita te ‘ohipa i fa’aotihia ‘ia au"],
    "acute accents": ["ri nu´ul k´o pa ri ja´ aji´ xuqe´ rajaw ik´ ri tata´", "ri kuna´ are´ ri q´ij"],
    "only inside words": [
        "p'unchay llank'ay sut'i jark'asqa t'ika mach'ay wak'a yach'ay q'usñi rijch'aj",
        "jaqay runa puk'uta k'aspi mikhuy qhiswa junt'aspa ñawp'a much'ay k'iski suk'a llimp'i",
    ],
}
PUNCTUATION = {
    "english": [
        "He said 'so', and didn't go; the dogs' owner can't, 'cause it's theirs.",
        "'Tis o'clock, ma'am: 'here'!",
    ],
    "a quotation over several lines": [
        "'Oh dear! 'What 'Why 'The 'Alas",
        "I shall be late!' dear!' no,' so.' well;' me'",
    ],
    "contractions that stand alone": ["they do n't say 's or 're `` and '' , the boys ' 'em 'll '90s"] * 9,
    "french": ["L'homme qu'il n'a pas vu d'ici s'en va, c'est l'été aujourd'hui, lorsqu'on l'aime jusqu'à l'aube."],
    "french, separated": ["l' homme qu' il n' a pas vu d' ici s' en va , c' est l' été jusqu' à lorsqu' on j' ai"],
    "italian": [
        "L'arte dell'uomo, un po' d'acqua nell'anno: quell'altro all'alba c'è, senz'altro; dov'è? Com'è? Cos'è?"
    ],
    "italian, separated": ["l' arte dell' uomo , un po' d' acqua nell' anno quell' altro all' alba c' è dov' è cos' è"],
    "catalan": ["L'home d'avui s'estima l'aigua, m'agrada n'hi ha t'ho dic d'un altre."],
    "names with endings": [
        "Ankara'da Atatürk'ün Türkiye'nin İzmir'e Ali'yle Kars'tan Van'ı Bolu'yu Muş'a Ordu'ya Urfa'nın"
    ],
    "nothing": [""],
}


@pytest.mark.parametrize("name", [*LETTER, *PUNCTUATION])
def test_golden_what_an_apostrophe_is(name: str) -> None:
    lines = LETTER.get(name) or PUNCTUATION[name]
    for mark in "'’‘ʻʼ":
        typed = [line.replace("'", mark).replace("’", mark) for line in lines]
        assert apostrophe_is_letter(typed) == (name in LETTER)
        assert not any(apostrophe_is_letter(typed, language) for language in ("fr-CA", "ita", "tur"))
    assert StepsConfig().of_text(None, lines).apostrophe == ("letter" if name in LETTER else "punctuation")
    for choice in ("letter", "punctuation"):
        config = StepsConfig.model_validate({"apostrophe": choice, "language": "quc"})
        assert config.of_text("en", lines) == config


@pytest.mark.long
@pytest.mark.parametrize(
    "file",
    ["wikitext-2/train.txt.gz", "tatoeba-en-fr/fra.txt.gz", "tinyshakespeare/input.txt.gz", "trec-qc/train.txt.gz"]
    + [f"mr/rt-polarity.{name}.gz" for name in ("neg", "pos")],
)
def test_public_english_and_french_is_written_as_before(file: str) -> None:
    lines = gzip.decompress(real(file).read_bytes()).decode(errors="replace").split("\n")
    for side in (
        zip(*(line.split("\t")[:2] for line in lines if "\t" in line), strict=True) if "fra" in file else [lines]
    ):
        _, result = found_conventions(side, StepsConfig(), "auto", None)
        assert result.steps == ["invisible", "NFC"]


PERSIAN = ["پسرک کتابی می‌خواند.", "کشاورز یک سیب دارد."]
SINDHI, ARABIC = ["هي ڪتاب ک ی ي"], ["كتاب عربي في البيت"]


@pytest.mark.parametrize(
    ("lines", "language", "folded"),
    [
        (PERSIAN, None, True),
        (PERSIAN, "fa-IR", True),
        (PERSIAN, "pus", False),
        (["كتابي"], "fas", True),
        (["كتابي"], "ur", True),
        ([*PERSIAN * 60, "كتاب"], None, True),  # the odd slip
        ([*PERSIAN, "كتابي"], None, False),
        (SINDHI, None, False),
        (ARABIC, None, False),
        (["a word of Persian is کتاب , in a text that is English"] + ["the cat sleeps ."] * 20, None, False),
        ([], None, False),
    ],
)
def test_arabic_letters_become_persian_where_the_text_is(lines: list[str], language: str | None, folded: bool) -> None:
    steps, conventions = found_conventions(lines, StepsConfig(), "auto", language)
    assert ("persian" in conventions.steps) == folded == ("persian" in steps.arabic)
    assert "persian" not in found_conventions(lines, StepsConfig(unicode="none"), "auto", language)[1].steps
    if folded:
        typed = "كتابي مي‌خواند"
        assert run_steps(build_steps(steps), typed) == conventions.normalisation.normalise(typed) == "کتابی می‌خواند"
        note = conventions.normalisation.note([typed], "lines")
        assert note == "1 of 1 lines was normalised as the training text was (persian)"


def test_chinese_characters_need_a_library_that_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ValidationError, match=r"han: simplified needs .* pip install 'langladder\[chinese\]'"):
        StepsConfig(han="simplified")


def test_golden_chinese_characters() -> None:
    has_opencc()
    assert clean("漢語 ok", han="simplified") == "汉语 ok" and clean("汉语", han="traditional") == "漢語"
    for text in ("邻里准许", "鄰里准許"):  # OpenCC makes 鄰裏準許 of its own output
        assert clean(text, han="traditional") == "鄰里准許"
    assert clean("乾縣", han="simplified") == clean("乾县", han="simplified") == "乾县"


def has_opencc() -> None:
    library = "opencc"
    pytest.importorskip(library, reason=f"the library {library} is not installed")


@pytest.mark.parametrize("han", ["simplified", "traditional"])
def test_what_is_asked_is_written_in_the_chinese_characters_of_the_training_text(han: Any, tmp_path: Path) -> None:
    has_opencc()
    steps = normalisation_of(StepsConfig(han=han))
    assert steps.names == ("invisible", "NFC", f"han_{han}")
    for text in ("邻里准许", "鄰里准許", "乾縣的頭髮乾了", "乾县的头发干了", "苎麻", "薴", "ok"):
        cleaned = clean(text, han=han)
        assert steps.normalise(text) == cleaned == steps.normalise(cleaned)
    simple, full = "他说汉语", "他說漢語"
    written = simple if han == "simplified" else full
    train_tokenizer([written], TokenizerConfig(vocab_size=300), steps).save(tmp_path / "tokenizer.json")
    tokenizer = Tokenizer.load(tmp_path / "tokenizer.json")
    assert tokenizer.normalisation == steps
    wanted = tokenizer.encode(written).tolist()
    for query in (simple, full):
        ids, spans = tokenizer.encode_with_spans(query)
        assert tokenizer.encode(query).tolist() == ids.tolist() == wanted and spans[-1][1] == len(query)
    assert steps.note([simple, full], "lines") == f"1 of 2 lines was normalised as the training text was (han_{han})"


def test_a_model_of_converted_characters_says_which_library_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opencc", None)
    function_of.cache_clear()
    steps = Normalisation(("NFC", "han_simplified"))
    assert steps.normalise("ok") == "ok"
    with pytest.raises(InputError, match=r"^clean: han: simplified: opencc is not installed: pip install"):
        steps.normalise("漢語")


def test_the_names_of_the_steps_are_those_of_cleaning() -> None:
    assert normalisation_of(StepsConfig()).names == ("invisible", "NFC")
    names = ("tatweel", "yeh", "digits_ascii")
    more = StepsConfig(unicode="NFKC", lowercase=True, language="tr", arabic=["yeh", "tatweel"], digits="ascii")
    assert normalisation_of(more).names == ("invisible", "NFKC", "lowercase_tr", *names)
    assert normalisation_of(StepsConfig(unicode="none", invisible=False)).names == ()
    with pytest.raises(ValidationError):
        StepsConfig(language="no such language!")


@pytest.mark.parametrize("text", FORMS, ids=ascii)
def test_cleaning_writes_as_queries_are_written(text: str) -> None:
    for config in (StepsConfig(), StepsConfig(unicode="NFKC", lowercase=True, language="tr", digits="ascii")):
        cleaned = text
        for name, step in build_steps(config):
            cleaned = step(cleaned) if name != "whitespace" else cleaned
        assert normalisation_of(config).normalise(text) == cleaned
        assert normalisation_of(config).normalise(cleaned) == cleaned


def test_changes_are_counted_with_their_steps() -> None:
    steps = Normalisation(("invisible", "NFC", "lowercase"))
    assert steps.changing(["abc", "Abc", "cafe\u0301"]) == (2, ["NFC", "lowercase"])
    assert Normalisation(("invisible",)).word("\u00ad") == "\u00ad"


# ---- inside tokenizer.json

LINES = ["büyük ev", "kahve café", "the cat , ok", "1984 xyz", "k´o aji’ tʰa"]
KINDS: dict[Kind, int | None] = {
    "bpe_bytes": 300, "bpe_words": 80, "wordpiece": 80, "unigram": 40, "word": None, "character": None,
}  # fmt: skip
WRITTEN = Normalisation(("invisible", "NFKC", "apostrophe", "lowercase_tr", "digits_zero"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_encodes_as_its_training_text_was_written(kind: Any, tmp_path: Path) -> None:
    lines = [WRITTEN.normalise(line) for line in LINES]
    tokenizer = train_tokenizer(lines, TokenizerConfig(kind=kind, vocab_size=KINDS[kind]), WRITTEN)
    tokenizer.save(tmp_path / "tokenizer.json")
    again, library = (
        Tokenizer.load(tmp_path / "tokenizer.json"),
        hf.Tokenizer.from_file(str(tmp_path / "tokenizer.json")),
    )
    assert again.normalisation == WRITTEN and again.same_as(tokenizer) and again.kind == kind
    plain = train_tokenizer(lines, TokenizerConfig(kind=kind, vocab_size=KINDS[kind]))
    assert not again.same_as(plain)
    for line in LINES:
        wanted = plain.encode(WRITTEN.normalise(line)).tolist()
        for query in (line, unicodedata.normalize("NFD", line), f"\u200b{line}", line.replace("1984", "２００１")):
            assert again.encode(query).tolist() == wanted == library.encode(query).ids
            assert again.encode_with_spans(query)[0].tolist() == wanted


def test_golden_places_are_those_of_the_text_that_was_requested() -> None:
    tokenizer = train_tokenizer(["büyük ev"] * 3, TokenizerConfig(vocab_size=300), Normalisation(("invisible", "NFC")))
    query = "bu\u0308yu\u0308k\u00ad ev"
    ids, spans = tokenizer.encode_with_spans(query)
    assert [tokenizer.piece(int(token)) for token in ids] == ["büyük", " ev"]
    assert [query[start:stop].strip("\u00ad") for start, stop in spans.tolist()] == ["bu\u0308yu\u0308k", "ev"]


def test_no_special_is_found_in_a_text_that_is_normalised() -> None:
    steps = Normalisation(("invisible", "NFC", "lowercase"))
    tokenizer = train_tokenizer(["the cat"], TokenizerConfig(vocab_size=280), steps)
    for text in ("a < MASK >", "< eos >", "a < mask >"):
        assert tokenizer.decode(tokenizer.encode(text)) == text.lower()


def replacing(pattern: str, by: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": by}


def sequence(*parts: Any) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": [*parts]}


HOSTILE: dict[str, Any] = {
    "another pattern": sequence(replacing("(a+)+$", "")),
    "a step of ours, changed": sequence(replacing("ى", "x" * 9)),
    "a part of a step": sequence({"type": "Lowercase"}),
    "another kind": sequence({"type": "Prepend", "prepend": "x"}),
    "twice": sequence({"type": "NFC"}, {"type": "NFC"}),
    "no sequence": {"type": "NFC"},
    "nested": sequence(sequence({"type": "NFC"})),
    "no list": {"type": "Sequence", "normalizers": 7},
    "a number": 7,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_another_normalizer_is_refused(name: str, tmp_path: Path) -> None:
    settings = json.loads(train_tokenizer(LINES, TokenizerConfig(vocab_size=300)).to_json())
    (tmp_path / "tokenizer.json").write_text(json.dumps(settings | {"normalizer": HOSTILE[name]}))
    with pytest.raises(InputError, match=r"tokenizer\.json: "):
        Tokenizer.load(tmp_path / "tokenizer.json")


# ---- files of names


def test_names_come_back_from_a_folder(tmp_path: Path) -> None:
    assert conventions_of(tmp_path).normalisation == Normalisation()
    source = Conventions.of("auto", ["a b"], normalisation=WRITTEN)
    write_conventions(tmp_path, {"source": source, "target": Conventions()})
    assert conventions_of(tmp_path, "source").normalisation == WRITTEN
    assert conventions_of(tmp_path, "target").normalisation.names == ()


@pytest.mark.parametrize("value", [["NFC", "NFC"], ["nosuch"], "NFC", [7], {"NFC": 1}], ids=str)
def test_other_names_are_refused(value: Any, tmp_path: Path) -> None:
    (tmp_path / "conventions.json").write_text(json.dumps({"text": {"steps": value}}))
    with pytest.raises(InputError, match=r"conventions\.json: not the conventions of 'text'.*steps"):
        conventions_of(tmp_path)
