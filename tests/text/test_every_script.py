"""Many writings go the whole way: sentences, cleaning, words, tokenizers, models that are asked, the report."""

import re
import unicodedata
from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import regex  # type: ignore[import-untyped]
import yaml

from langladder.answers.loading import LoadedModel
from langladder.answers.score import score_file, score_sentences
from langladder.answers.words import text_vector
from langladder.embeddings.base import WordVectors
from langladder.faces.report.bidi import enclosing
from langladder.ground.errors import InputError
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.text.clean.statistics import TextStatistics
from langladder.text.clean.steps import StepsConfig, build_steps, found_conventions, normalisation_of, run_steps
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import few_tokens, train_tokenizer
from langladder.text.tokenize.tokenizers import CUTTING, Tokenizer, TokenizerConfig
from langladder.text.words.direction import clusters
from langladder.text.words.segmentation import (
    DIVIDERS,
    TSHEG,
    Conventions,
    divided,
    split_words,
)
from langladder.text.words.sentences import split_sentences
from langladder.text.words.vocabulary import Vocabulary
from pipeline import ROOT


class Script(NamedTuple):
    """A script with a text made of its parts.

    Attributes:
        line: a sentence with places for one of each of `parts` and for a number.
        parts: what may stand in each place, with | between.
        zero: its digit 0.
        words: the words of its first line, with spaces between; `unit`: what they are.
        lower: a text and its lower case.
        sentences: with | where one ends.
        attributes: of an element in the report that holds its lines.
        twin: characters, and others that are the same by Unicode (canonical equivalents) or by the text's own steps;
            (): none but NFD.
    """

    line: str
    parts: tuple[str, str, str]
    zero: str
    words: str
    unit: str
    lower: tuple[str, str]
    sentences: str
    attributes: str
    twin: tuple[str, str] = ("", "")


SCRIPTS = {
    "latin": Script(
        "{0} {1} {2}, n° {n}.",
        (
            "L’élève|Łucja|Señor Núñez|Ma sœur Zoë",
            "cherche|a trouvé|préfère",
            "le château|une forêt gelée|la clé dorée|dix pâtés d’Århus",
        ),
        "0",
        "L’élève cherche le château , n° 1 .",
        "apart",
        ("ÉTÉ À ŁÓDŹ, İZMİR, ÅRHUS", "été à łódź, izmir, århus"),
        "Où est-elle ? | M. Núñez l’a vue à 8 h. 30, près d’ici. | « Là ! » | Voilà…",
        ' dir="ltr"',
        ("Å", "\u212b"),
    ),
    "kiche": Script(
        "{1} {2} {0}, {n}.",
        (
            "ri aji'|ri nan Lu'|ri qatata' ajq'ijab'|jun q'atb'altzij",
            "Xub'an|Kuna'|Xeretzelaj",
            "ri k'a'am|le alib'atz|ri ja' xuqe' ri nimab'e|ronojel uwachulew",
        ),
        "0",
        "Xub'an ri k'a'am ri aji' , 1 .",
        "apart",
        ("K'O RI JA', Q'IJ", "k'o ri ja', q'ij"),
        "La utz awach? | Utz. | K'o ja'! | Man k'o taj.",
        ' dir="ltr"',
    ),
    "hawaiian": Script(
        "{1} {0} {2}, {n}.",
        (
            "ke keiki|ʻo Kaʻiulani|ka ʻīlio liʻiliʻi|koʻu makuahine",
            "Ua ʻike|Ke ʻimi nei|Ua ʻai",
            "i ka ʻāina|i ka humuhumunukunukuāpuaʻa|i nā ʻōhiʻa ʻekolu|i ka moʻolelo",
        ),
        "0",
        "Ua ʻike ke keiki i ka ʻāina , 1 .",
        "apart",
        ("UA ʻIKE ʻO KAʻIULANI", "ua ʻike ʻo kaʻiulani"),
        "Pehea ʻoe? | Maikaʻi nō! | He aha kēia? | Ka ʻāina.",
        ' dir="ltr"',
    ),
    "polytonic": Script(
        "{0} {1} {2}, {n}.",
        (
            "ὁ ἄνθρωπος|ἡ ᾠδή|Ἀχιλλεὺς|τις ἀνὴρ",
            "ὁρᾷ|ᾔδει|ἔφη",
            "τὴν θάλασσαν|τοὺς λόγους|ἓν ἄστρον|τῷ βασιλεῖ",
        ),
        "0",
        "ὁ ἄνθρωπος ὁρᾷ τὴν θάλασσαν , 1 .",
        "apart",
        ("Ὁ ΛΌΓΟΣ ᾯ ᾼ ἘΝ", "ὁ λόγος ᾧ ᾳ ἐν"),
        "μῆνιν ἄειδε θεά. | ποῦ ἐστιν; | ὧδε· ἰδού! | «ἐλθέ.» | Ἀχιλλεὺς ἦλθεν.",
        ' dir="ltr"',
        ("ά", "\u1f71"),
    ),
    "greek": Script(
        "{0} {1} {2}, {n}.",
        (
            "Ο δάσκαλος|Η Ελένη|Ένας γείτονας|Ο Νίκος",
            "βλέπει|αγοράζει|ζωγραφίζει",
            "τους δρόμους|ένα σπίτι|τις θάλασσες|δύο άλογα",
        ),
        "0",
        "Ο δάσκαλος βλέπει τους δρόμους , 1 .",
        "apart",
        ("ΟΔΟΣ ΣΟΦΟΥΣ, ΝΙΚΟΣ.", "οδος σοφους, νικος."),
        "Πού είναι; | Εδώ· να τος. | Ναι! | «Έλα.» | Πάμε.",
        ' dir="ltr"',
        ("ά", "\u1f71"),
    ),
    "cyrillic": Script(
        "{0} {1} {2}, № {n}.",
        (
            "Ёжик|Учительница|Старый йог|Її сусід",
            "видит|рисует|нашёл",
            "зелёный шар|тихий дом|трёх чаек|синий поезд",
        ),
        "0",
        "Ёжик видит зелёный шар , № 1 .",
        "apart",
        ("ЁЛКА, ЙОД И ЇЖАК", "ёлка, йод и їжак"),
        "Где ёж? | Он ушёл в 18 г. домой. | «Да!» | Вот.",
        ' dir="ltr"',
    ),
    "arabic": Script(
        "{1} {0} {2}، {n}.",
        (
            "الوَلَدُ|المُعَلِّمَةُ|الطَّبِيبُ|أَخِي",
            "يَكْتُبُ|رَأَى|يُحِبُّ",
            "رِسَالَةً|البَيْتَ القَدِيمَ|شَجَرَةَ التُّفَّاحِ|مُدُنًا كَثِيرَةً",
        ),
        "٠",
        "يَكْتُبُ الوَلَدُ رِسَالَةً ، ١ .",
        "apart",
        ("أُحِبُّ البَيْتَ", "أُحِبُّ البَيْتَ"),
        "أَيْنَ هُوَ؟ | هُوَ هُنَا. | نَعَمْ، لَا؛ ثُمَّ ذَهَبَ! | حَسَنًا.",
        ' dir="rtl"',
    ),
    "persian": Script(
        "{0} {2} {1}، {n}.",
        (
            "پسرک|معلم تازه|برادر کوچک|کشاورز",
            "می‌بیند|خریده است|می‌کشد",
            "کتابی|یک خانهٔ کهنه|سیب‌ها|دریای آبی",
        ),
        "۰",
        "پسرک کتابی می‌بیند ، ۱ .",
        "apart",
        ("کتاب ABC", "کتاب abc"),
        "او کجاست؟ | اینجاست. | بله، نه؛ رفت! | خوب.",
        ' dir="rtl"',
        ("ی", "ي"),
    ),
    "hebrew": Script(
        "{0} {1} {2}, {n}.",
        (
            "הַיֶּלֶד|הַמּוֹרָה|שָׁכֵן טוֹב|רָחֵל",
            "רוֹאֶה|מְצַיֵּר|קוֹנֶה",
            "בֵּית־סֵפֶר|אֶת צַהַ״ל|שְׁנֵי סְפָרִים וְכוּ׳|גִ׳ירָפָה",
        ),
        "0",
        "הַיֶּלֶד רוֹאֶה בֵּית־סֵפֶר , 1 .",
        "apart",
        ("שָׁלוֹם", "שָׁלוֹם"),
        "אֵיפֹה הַיֶּלֶד? | הוּא כָּאן. | טוֹב! | כֵּן.",
        ' dir="rtl"',
        ("שָׁ", "\ufb2a\u05b8"),
    ),
    "devanagari": Script(
        "{0} {2} {1}, {n}।",
        (
            "लड़का|अध्यापिका|मेरा मित्र|किसान",
            "देखता है|चाहता है|लाया",
            "हिन्दी की चिट्ठी|ठण्डा पानी|क्‍षत्रिय|दो फ़सलें",
        ),
        "०",
        "लड़का हिन्दी की चिट्ठी देखता है , १ ।",
        "apart",
        ("हिन्दी ABC", "हिन्दी abc"),
        "लड़का आया। | वह क्यों गया? | ठीक है॥ | हाँ।",
        ' dir="ltr"',
        ("ड\u093c", "\u095c"),
    ),
    "bengali": Script(
        "{0} {2} {1}, {n}।",
        ("ছেলেটি|শিক্ষিকা|আমার বন্ধু|কৃষক", "দেখছে|চায়|পেয়েছে", "নৌকো|ঠান্ডা জল|পুরোনো বই|দুটি পাখি"),
        "০",
        "ছেলেটি নৌকো দেখছে , ১ ।",
        "apart",
        ("নৌকো ABC", "নৌকো abc"),
        "ছেলেটি এল। | সে কেন গেল? | ভালো। | হ্যাঁ।",
        ' dir="ltr"',
        ("য\u09bc", "\u09df"),
    ),
    "ethiopic": Script(
        "{0}፡{2}፡{1}፣ {n}።",
        (
            "ልጁ|አዲሷ፡መምህር|ወንድሜ|ገበሬው",
            "ያያል|ገዛ|ይወዳል",
            "መጽሐፉን|ቀዝቃዛ፡ውሃ|ትልቁን፡ዛፍ|ሁለት፡ዓሣዎች",
        ),
        "0",
        "ልጁ መጽሐፉን ያያል ፣ 1 ።",
        "apart",
        ("ልጁ፡ABC", "ልጁ፡abc"),
        "ልጁ፡መጣ። | የት፡ነው፧ | እዚህ፡ነው፡፡ | አዎ!",
        ' dir="ltr"',
    ),
    "syllabics": Script(
        "{0} {2} {1}, {n}᙮",
        ("ᓄᑲᑉᐱᐊᕋᖅ|ᐃᓕᓐᓂᐊᖅᑎᑦᓯᔨ|ᐊᓂᒐ|ᐊᖑᓇᓱᒃᑎ", "ᑕᑯᔪᖅ|ᐱᓯᔪᖅ|ᓇᒡᓕᒍᓱᒃᑐᖅ", "ᐅᖃᓕᒫᒐᖅ|ᓂᒡᓕᓇᖅᑐᖅ ᐃᒥᖅ|ᐅᒥᐊᖅ|ᒪᕐᕉᒃ ᐃᖃᓘᒃ"),
        "0",
        "ᓄᑲᑉᐱᐊᕋᖅ ᐅᖃᓕᒫᒐᖅ ᑕᑯᔪᖅ , 1 ᙮",
        "apart",
        ("ᐃᓄᒃ ABC", "ᐃᓄᒃ abc"),
        "ᓇᓂ? | ᑕᒫᓂ᙮ | ᐊᐃ! | ᐋᒃᑲ.",
        ' dir="ltr"',
    ),
    "thai": Script(
        "{0}{1}{2} {n} ครั้ง",
        ("เด็กผู้ชาย|ครูคนใหม่|น้องสาว|ชาวนา", "กำลังมองหา|ซื้อ|ชอบ", "น้ำเย็น|หนังสือเก่า|ต้นไม้ใหญ่|ปลาสองตัว"),
        "๐",
        "เด็ ก ผู้ ชา ย กำ ลั ง ม อ ง หา น้ำ เย็ น ๑ ค รั้ ง",
        "graphemes",
        ("น้ำ ABC", "น้ำ abc"),
        "เด็กมองหาน้ำเย็น แล้วไปโรงเรียน",
        ' dir="ltr" lang="th"',
        ("\u0e39\u0e49", "\u0e49\u0e39"),
    ),
    "khmer": Script(
        "{0}{1}{2} {n}។",
        ("ក្មេងប្រុស|គ្រូបង្រៀន|ប្អូនស្រី|កសិករ", "មើល|ទិញ|ស្រឡាញ់", "ទឹកត្រជាក់|សៀវភៅចាស់|ដើមឈើធំ|ត្រីពីរ"),
        "០",
        "ក្មេ ង ប្រុ ស មើ ល ទឹ ក ត្រ ជា ក់ ១ ។",
        "graphemes",
        ("ខ្មែរ ABC", "ខ្មែរ abc"),
        "ខ្ញុំទៅ។ | គាត់ទៅ៕ | ល្អ។",
        ' dir="ltr"',
    ),
    "lao": Script(
        "{0}{1}{2} {n} ເທື່ອ",
        ("ເດັກຊາຍ|ຄູຄົນໃໝ່|ນ້ອງສາວ|ຊາວນາ", "ກຳລັງຊອກຫາ|ຊື້|ມັກ", "ນ້ຳເຢັນ|ປຶ້ມເກົ່າ|ຕົ້ນໄມ້ໃຫຍ່|ປາສອງໂຕ"),
        "໐",
        "ເດັ ກ ຊາ ຍ ກຳ ລັ ງ ຊ ອ ກ ຫາ ນ້ຳ ເຢັ ນ ໑ ເທື່ ອ",
        "graphemes",
        ("ນ້ຳ ABC", "ນ້ຳ abc"),
        "ເດັກຊອກຫານ້ຳ ແລ້ວໄປໂຮງຮຽນ",
        ' dir="ltr"',
    ),
    "burmese": Script(
        "{0} {2} {1} {n}။",
        (
            "ကောင်လေးကလေးသည်|ဆရာမအသစ်ကလေးက|ကျွန်တော့်ညီမလေးသည်|လယ်သမားကြီးများသည်",
            "ရှာဖွေနေခဲ့ပါသည်|ဝယ်ယူခဲ့ကြသည်|နှစ်သက်ကြပါသည်",
            "ရေအေးအေးကို|စာအုပ်ဟောင်းများကို|သစ်ပင်ကြီးများကို|ငါးနှစ်ကောင်ကို",
        ),
        "၀",
        "ကော င် လေး က လေး သ ည် ရေ အေး အေး ကို ရှာ ဖွေ နေ ခဲ့ ပါ သ ည် ၁ ။",
        "graphemes",
        ("မြန်မာ ABC", "မြန်မာ abc"),
        "သူ၊ စာဖတ်သည်။ | ကောင်းသည်။",
        ' dir="ltr"',
    ),
    "tibetan": Script(
        "{0}{1}{2}{n}།",
        ("བུ་ཆུང་|དགེ་རྒན་|ངའི་སྲིང་མོ་|ཞིང་པ་", "བལྟས་|ཉོས་|དགའ་", "དཔེ་ཆ་|ཆུ་གྲང་མོ་|ཤིང་སྡོང་ཆེན་པོ་|ཉ་གཉིས་"),
        "༠",
        "བུ ཆུང བལྟས དཔེ ཆ ༡ །",
        "graphemes",
        ("བོད་ABC", "བོད་abc"),
        "བཀྲ་ཤིས། །|བདེ་ལེགས།",
        ' dir="ltr"',
    ),
    "han": Script(
        "{0}{1}{2}，第{n}次。",
        ("男孩|新老师|我的妹妹|农民", "在找|买了|喜欢", "神仙|旧书|大树|两条鱼"),
        "0",
        "男 孩 在 找 神 仙 ， 第 1 次 。",
        "graphemes",
        ("我爱ＡＢC。", "我爱ａｂc。"),
        "他走了！？|她来了。|“你好。”|真的吗？",
        ' dir="ltr"',
        ("神", "\ufa19"),
    ),
    "kana": Script(
        "{0}が{2}を{1}、{n}かい。",
        (
            "おとこのこ|あたらしいせんせい|ぼくのいもうと|コンピューター",
            "さがす|かった|みつけた",
            "ガラスのびん|つめたいみず|おおきなき|パンダ",
        ),
        "0",
        "お と こ の こ が ガ ラ ス の び ん を さ が す 、 1 か い 。",
        "graphemes",
        ("かなABC", "かなabc"),
        "いく。|「まて。」といった。|（はい。）|いいえ！",
        ' dir="ltr" lang="ja"',
    ),
    "hangul": Script(
        "{0} {2} {1}, {n}번.",
        (
            "남자아이가|새 선생님이|내 동생이|농부가",
            "찾는다|샀다|좋아한다",
            "찬물을|낡은 책을|큰 나무를|물고기 두 마리를",
        ),
        "0",
        "남자아이가 찬물을 찾는다 , 1번 .",
        "apart",
        ("한국어 ABC", "한국어 abc"),
        "그는 어디에 있나? | 여기에 있다. | 좋다! | 그래.",
        ' dir="ltr" lang="ko"',
    ),
    "hanja": Script(
        "{0} {2} {1}, {n}番.",
        (
            "男子가|新任 敎師가|大韓民國의 國民이|農夫가",
            "찾는다|買入하였다|좋아한다",
            "冷水를|古書를|民主共和國을|물고기 두 마리를",
        ),
        "0",
        "男子가 冷水를 찾는다 , 1番 .",
        "separated",
        ("韓國語 ABC", "韓國語 abc"),
        "그는 韓國에 있나? | 韓國에 있다. | 좋다! | 그래.",
        ' dir="ltr" lang="ko"',
    ),
}
SPACELESS = ("thai", "khmer", "lao", "burmese", "tibetan", "han", "kana")
BETWEEN = re.compile(rf"[\s{DIVIDERS}{TSHEG}]")
APOSTROPHES = "'’‘ʻʼ"


def each_script() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("script", SCRIPTS)


@cache
def raw_of(script: str) -> tuple[str, ...]:
    """48 lines."""
    own = SCRIPTS[script]
    digits = {ord(str(digit)): chr(ord(own.zero) + digit) for digit in range(10)}
    chosen = product(*(part.split("|") for part in own.parts))
    return tuple(own.line.format(*words, n=str(1 + 37 * n % 113).translate(digits)) for n, words in enumerate(chosen))


@cache
def settings(script: str, name: str = "standard") -> StepsConfig:
    """The steps of a file of conf/clean, for the text of a script."""
    steps = {}
    for file in ("standard", name):
        steps |= yaml.safe_load((ROOT / "conf" / "clean" / f"{file}.yaml").read_text(encoding="utf-8"))["steps"]
    return StepsConfig.model_validate(steps).of_text(None, raw_of(script))


def cleaned(text: str, config: StepsConfig) -> str:
    return run_steps(build_steps(config), text)


@cache
def lines_of(script: str) -> tuple[str, ...]:
    """The same as cleaning leaves them."""
    return tuple(cleaned(line, settings(script)) for line in raw_of(script))


@cache
def tokenizer_of(script: str, kind: Any = "bpe_bytes", size: int = 1000) -> Tokenizer:
    config = TokenizerConfig(kind=kind, vocab_size=size)
    return train_tokenizer(list(lines_of(script)), config, normalisation_of(settings(script)))


def forms(script: str, line: str) -> list[str]:
    """Other spellings of a cleaned line that look the same."""
    first = len(line.split(None, 1)[0]) // 2
    item, other = SCRIPTS[script].twin
    result = [
        unicodedata.normalize("NFC", line),
        unicodedata.normalize("NFD", line),
        line.replace(unicodedata.normalize("NFC", item), other) if item else line,
        line[:first] + "\u00ad" + line[first:],
        unicodedata.normalize("NFD", f"\u200e{line[:first]}\u2060{line[first:]}\u200f"),
    ]
    result += [line.replace("ʼ", mark) for mark in APOSTROPHES if "ʼ" in line]
    return result if script in SPACELESS else [*result, line[:first] + "\u200b" + line[first:]]


# ---- cleaning


@each_script()
@pytest.mark.parametrize("name", ["standard", "lowercase", "words", "aggressive"])
def test_cleaning_twice_is_cleaning_once(script: str, name: str) -> None:
    config = settings(script, name)
    for text in (*raw_of(script), SCRIPTS[script].sentences, *SCRIPTS[script].lower):
        once = cleaned(text, config)
        assert cleaned(once, config) == once
        assert cleaned(unicodedata.normalize("NFD", text), config) == once
        assert normalisation_of(config).normalise(once) == once


@each_script()
def test_zero_width_spaces_stay_where_they_separate_words(script: str) -> None:
    standard = settings(script)
    first, second = (cleaned(part.split("|")[0], standard) for part in SCRIPTS[script].parts[:2])
    first, second = split_words(first)[0].rstrip(TSHEG), split_words(second)[0]
    between = "\u200b" if script in SPACELESS[:5] else ""
    step = normalisation_of(settings(script))
    for query in (f"{first}\u200b{second}", f"\u200b{first}\u200b\u00ad\u200b\u2060{second}\u200b"):
        for text in (query, unicodedata.normalize("NFD", query)):
            assert cleaned(text, standard) == f"{first}{between}{second}"
            assert step.normalise(text) == step.normalizer().normalize_str(text) == cleaned(text, standard)
    assert Conventions(words="separated").split(f"{first}\u200b {second}") == [first, second.rstrip(TSHEG)]


@each_script()
def test_golden_lower_case(script: str) -> None:
    before, after = SCRIPTS[script].lower
    standard = settings(script)
    config = standard.model_copy(update={"lowercase": True})
    assert cleaned(before, config) == cleaned(after, standard) == cleaned(after, config)
    assert normalisation_of(config).normalizer().normalize_str(before) == cleaned(after, standard)


@each_script()
def test_golden_sentences(script: str) -> None:
    text = SCRIPTS[script].sentences
    for form in ("NFC", "NFD"):
        wanted = [unicodedata.normalize(form, sentence.strip()) for sentence in text.split("|")]
        assert split_sentences(unicodedata.normalize(form, text.replace("|", ""))) == wanted


# ---- words


@each_script()
def test_an_apostrophe_is_a_letter_where_words_end_in_it(script: str) -> None:
    letter = script in ("kiche", "hawaiian")
    assert ("apostrophe" in normalisation_of(settings(script)).names) == letter
    if letter:
        for mark in APOSTROPHES:
            typed = [re.sub("['ʻ]", mark, line) for line in raw_of(script)]
            steps, result = found_conventions(typed, StepsConfig(), "auto", None)
            assert tuple(cleaned(line, steps) for line in typed) == lines_of(script)
            assert result == found_conventions(raw_of(script), StepsConfig(), "auto", None)[1]
            minimal = cleaned(f"chi chi{mark} na na{mark}! (ri{mark}) na{mark}t{mark}ajisaj", steps)
            assert result.split(minimal) == cleaned("chi chi' na na' ! ( ri' ) na't'ajisaj", steps).split()
            assert len(regex.findall(CUTTING, cleaned(f"na{mark}t{mark}ajisaj kuq{mark}alajisaj", steps))) == 2
            assert all(word[0].isalnum() or word in ",." for line in lines_of(script) for word in result.split(line))


@each_script()
def test_golden_words(script: str) -> None:
    conventions, words = Conventions.of("auto", lines_of(script)), cleaned(SCRIPTS[script].words, settings(script))
    assert conventions.unit == SCRIPTS[script].unit
    assert conventions.split(lines_of(script)[0]) == words.split(" ")
    assert (conventions.unit == "graphemes") == (script in SPACELESS)
    # Words that stand between spaces stay what they are.
    separated = Conventions.of("auto", [" ".join(conventions.split(line)) for line in lines_of(script)])
    assert separated.split(words) == words.split(" ")


@each_script()
def test_no_word_parts_a_letter_from_its_mark(script: str) -> None:
    for mode in ("auto", "apart", "separated", "unicode", "whitespace"):
        for line in (*lines_of(script), *(cleaned(item, settings(script)) for item in SCRIPTS[script].lower)):
            words = Conventions(words=mode).split(line)
            assert BETWEEN.sub("", "".join(words)) == BETWEEN.sub("", line)
            assert not [word for word in words if unicodedata.category(word[0])[0] == "M"]


@each_script()
def test_sizes_are_code_points_and_bytes(script: str) -> None:
    statistics, split = TextStatistics(), Conventions.of("auto", lines_of(script)).split
    for line in lines_of(script):
        statistics.add(line, split(line))
    report = statistics.report()
    assert report["characters"] == sum(map(len, lines_of(script)))
    assert report["bytes"] == sum(len(line.encode()) for line in lines_of(script))
    assert report["lines"] == len(lines_of(script)) == 48 and "invisible_characters" not in report
    letters = Counter(unicodedata.category(item)[0] for line in lines_of(script) for item in line)
    assert report["character_classes"]["letter"] == pytest.approx(letters["L"] / letters.total(), abs=1e-6)


# ---- tokenizers


@each_script()
def test_a_text_comes_back(script: str) -> None:
    lines = lines_of(script)
    for kind in ("bpe_bytes", "character"):
        tokenizer = tokenizer_of(script, kind)
        assert [tokenizer.decode(ids) for ids in tokenizer.encode_lines(lines)] == [*lines]
    for kind in ("unigram", "wordpiece", "bpe_words"):
        tokenizer = tokenizer_of(script, kind)
        decoded = [tokenizer.decode(ids) for ids in tokenizer.encode_lines(lines)]
        if kind == "wordpiece" and script in ("han", "kana", "hanja"):  # where each character is a word
            assert [re.sub(r"\s", "", line) for line in decoded] == [re.sub(r"\s", "", line) for line in lines]
        else:
            spaced = [" ".join(divided(line).split()) if kind != "unigram" else line for line in lines]
            assert [" ".join(line.split()) for line in decoded] == spaced


@each_script()
@pytest.mark.parametrize("kind", ["unigram", "wordpiece", "bpe_words"])
def test_a_vocabulary_below_the_characters_is_refused(script: str, kind: Any) -> None:
    characters = len({item for line in lines_of(script) for item in line if not item.isspace()})
    for size in (5, characters, characters + 4):
        with pytest.raises(InputError, match=rf"vocab_size: {size} is less than .* text's {characters} characters"):
            train_tokenizer(list(lines_of(script)), TokenizerConfig(kind=kind, vocab_size=size))


@each_script()
def test_merges_go_on_until_every_word_is_a_token(script: str) -> None:
    lines, cut = list(lines_of(script)), regex.compile(CUTTING)
    for size in (300, 370, 5000):
        config = TokenizerConfig(vocab_size=size)
        tokenizer = train_tokenizer(lines, config)
        assert few_tokens(tokenizer, config) is None or [len(ids) for ids in tokenizer.encode_lines(lines)] == [
            len(cut.findall(line)) for line in lines
        ]
        assert tokenizer.vocab_size <= size and (size > 370 or tokenizer.vocab_size == size)


@each_script()
def test_no_token_of_a_frequent_word_parts_a_letter_from_its_mark(script: str) -> None:
    tokenizer, cut = tokenizer_of(script, size=800), regex.compile(CUTTING)
    counts = Counter(word for line in lines_of(script) for word in cut.findall(line))
    frequent = [word for word, count in counts.items() if count >= 3] or [*counts]
    for word in frequent:
        pieces = [tokenizer.piece(int(token)) for token in tokenizer.encode(word)]
        assert "".join(pieces) == word
        assert sum(len(clusters(piece)) for piece in pieces) == len(clusters(word)), pieces


# ---- models that are asked


@pytest.fixture(scope="module")
def counted() -> Any:
    @cache
    def make(script: str) -> LoadedModel:
        tokenizer, lines = tokenizer_of(script), lines_of(script)
        ids = np.concatenate([[BOS, *tokenizer.encode(line), EOS] for line in lines]).astype(np.int32)
        model = KneserNey(KneserNey.Config(order=3), tokenizer.vocab_size)
        model.fit(TokenStream(ids, np.array([0, len(ids)])))
        conventions = Conventions.of("auto", lines, normalisation=normalisation_of(settings(script)))
        return LoadedModel(script, model, tokenizer, conventions)

    return make


@each_script()
@pytest.mark.parametrize("kind", ["bpe_bytes", "unigram", "word"])
def test_another_form_gets_the_same_ids(script: str, kind: str) -> None:
    tokenizer = tokenizer_of(script, kind)
    for line in lines_of(script)[::7]:
        ids = tokenizer.encode(line).tolist()
        assert len(ids) and 1 not in ids
        for form in forms(script, line):
            assert tokenizer.encode(form).tolist() == ids
            assert tokenizer.encode_with_spans(form)[0].tolist() == ids


@each_script()
def test_another_form_costs_the_same_bits(script: str, counted: Any, tmp_path: Path) -> None:
    line = lines_of(script)[5]
    lines = [line, *forms(script, line)]
    assert len({score["bits"] for score in score_sentences(counted(script), lines)}) == 1
    (tmp_path / "once").write_text(line, encoding="utf-8")
    (tmp_path / "forms").write_text("\n".join(forms(script, line)), encoding="utf-8")
    item, all_ = (score_file(counted(script), tmp_path / name).figures for name in ("once", "forms"))
    assert item.characters == len(line) + 1 and item.bytes == len(line.encode()) + 1
    assert item.words == len(counted(script).conventions.split(line)) + 1 and item.word_unit == SCRIPTS[script].unit
    times = len(lines) - 1
    assert (all_.characters, all_.bytes, all_.words) == (
        times * item.characters,
        times * item.bytes,
        times * item.words,
    )


@each_script()
def test_another_form_of_a_word_has_the_same_vector(script: str) -> None:
    conventions = Conventions.of("auto", lines_of(script))
    words = Vocabulary.build([" ".join(conventions.split(line)) for line in lines_of(script)]).words
    matrix = np.random.default_rng(1).normal(size=(len(words), 3)).astype(np.float32)
    vectors = WordVectors(words, matrix, words_by=conventions.words, normalisation=normalisation_of(settings(script)))
    for word in words:
        for form in (unicodedata.normalize("NFD", word), f"{word[:1]}\u00ad{word[1:]}", f"\u200e{word}"):
            assert vectors.row(vectors.spelled(form)) == vectors.index[word]
    line = lines_of(script)[3]
    for form in forms(script, line):
        assert np.array_equal(text_vector(vectors, form), text_vector(vectors, line))


# ---- the report


@each_script()
def test_lines_stand_in_their_direction_and_language(script: str) -> None:
    own = SCRIPTS[script]
    for line in (*lines_of(script), f"GPT 2: {lines_of(script)[0]}"):
        assert enclosing(line) == own.attributes
    assert enclosing(lines_of(script)[0], "xx") == f'{own.attributes.partition(" lang")[0]} lang="xx"'
