"""Where sentences end, in many scripts, and corpora whose paragraphs are read as sentences."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langladder.text.read.files import TextSource, read_text
from langladder.text.storage.tables import read_table
from langladder.text.words.sentences import split_sentences

# Sentences are separated by |, which stands where white space is, if there is any.
TEXTS = [
    "She left. | He stayed! | Why?",
    "Dr. Smith and J. R. Ewing live in the U.S. They stay, e.g. Here.",
    "Am 3. Oktober kam er. | Es war 1984. | Dann ging er … | Was nun?",
    'He said "Go." | Then he left. | "Why?" asked Ann. | (Nobody knew.) | Pi is 3.14. | So.',
    "Wait... what? | Yes, No. 5 vs. Maria.",
    "¿Qué? | ¡No! | «Claro.» | — Vale. | Él vino.",
    "Он ушёл. | «Да!» | Она осталась.",
    "გამარჯობა. | როგორ ხარ?",
    "그는 갔다. | 나는 왔다.",
    "他走了！？|她来了。|“你好。”|GPT 3.5 很好。|真的吗?是",
    '他说："你好。"|她走了。',
    "行く。|「行く。」と言った。|「待て。」|（はい。）|いいえ！",
    "वह आया। | वह गया॥ | ठीक।",
    "أين هو؟ | هو هنا. | نعم، لا؛ انتهى",
    "یہ ہے۔|وہ ہے۔",
    "ሰላም። | እንዴት ነህ፧ | ደህና።",
    "သူ၊ စာဖတ်သည်။ | ကောင်းသည်။",
    "ខ្ញុំទៅ។ | គាត់ទៅ៕",
    "བཀྲ་ཤིས། །|བདེ་ལེགས།",
    "Բարեւ։ | Ինչպես ես։",
    "ሰላም፡ለዓለም፡፡ | ሁሉ፡ነገር፡፡|ደህና",
    "ᐃᓄᒃᑎᑐᑦ᙮ | ᐊᐃ᙮",
    "ᠮᠣᠩᠭᠣᠯ᠃ | ᠪᠢᠴᠢᠭ᠃",
    "ꦗꦮ꧈ ꦗꦮ꧉ | ꦗꦮ꧉",
    "ᱚᱞ ᱾ | ᱪᱤᱠᱤ ᱾",
    "ꯃꯅꯤ꯫ | ꯃꯅꯤ꯫",
    "ꓡꓲ-ꓢꓴ꓿ | ꓡꓲ꓿",
    "圆周率是３．１４。|对！",
    "Aloha. | ʻO wau kēia. | ʻAe! | ‘Aʻole.",
    "μῆνιν ἄειδε θεὰ Πηληϊάδεω Ἀχιλῆος. | οὐλομένην, ἣ ἄλγε᾽ ἔθηκε; | πολλὰς δ᾽ ἰφθίμους.",
    "Ἀχιλλεὺς ἦλθε. | εἶτα ἔφη.",
    "Ξοδεύτηκαν 100 εκ. ευρώ φέτος, π.χ. εδώ. | Πάμε.",
    "the cat sat. it left.",
    "เธออ่านหนังสือ แล้วไปโรงเรียน",
]


@pytest.mark.parametrize("text", TEXTS)
def test_golden_sentences(text: str) -> None:
    assert split_sentences(text.replace("|", "")) == [sentence.strip() for sentence in text.split("|")]


@given(st.text(st.sampled_from(' ab AB.。।།?!…"”」『と1')))
def test_no_character_is_lost(text: str) -> None:
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split()) and all(sentences)


@pytest.mark.parametrize(("rule", "documents"), [("line", [0, 0, 1, 1]), ("blank_line", [0, 0, 0, 0])])
def test_paragraphs_are_read_as_sentences_of_one_document(tmp_path: Path, rule: str, documents: list[int]) -> None:
    (tmp_path / "a.txt").write_text("他走了。她来了。\nHe left. She came.\n")
    for sentences, lines in (
        ("split", ["他走了。", "她来了。", "He left.", "She came."]),
        ("keep", ["他走了。她来了。", "He left. She came."]),
    ):
        source = TextSource.model_validate({"path": str(tmp_path / "a.txt"), "documents": rule, "sentences": sentences})
        report = read_text(source, tmp_path / sentences)
        table = read_table(tmp_path / sentences / "all")
        assert table["text"].to_pylist() == lines and report["splits"]["all"]["lines"] == len(lines)
        if sentences == "split":
            assert table["document"].to_pylist() == documents
