"""Which jobs an edit of the word vectors' code re-runs: those that run it."""

from pathlib import Path

import pytest
import yaml

from langladder.ground.schema import locate
from pipeline import ROOT
from pipeline.settings.params import conf_names
from pipeline.site.story import settings
from pipeline.tracking import code_version

RUNGS = {name: settings("embedding", name) for name in conf_names("embedding")}
LMS = {"kneser_ney": "langladder.models.language.counted.make", "lstm": "langladder.tasks.language_modelling.make"}
WORD2VEC = {f"{kind}{output}" for kind in ("skipgram", "cbow") for output in ("", "_hs", "_nce", "_softmax")}
COUNTED = {"glove", "lsa", "ppmi", "ppmi_window10", "svd", "term_document", "term_term", "tfidf"}


def versions() -> dict[str, str]:
    """Job → version of its code."""
    result = {"cooccur": code_version.code_version("cooccur", {})}
    for name, rung in RUNGS.items():
        rung_code = {"_target_": rung["_target_"], "_maker_": locate(rung["_target_"]).maker}
        result[f"embed/{name}"] = code_version.code_version("embed", rung_code)
    for name, maker in LMS.items():
        target = yaml.safe_load((ROOT / f"conf/lm/{name}.yaml").read_text(encoding="utf-8"))["_target_"]
        result[f"train_lm/{name}"] = code_version.code_version("train_lm", {"_target_": target, "_maker_": maker})
    return result


def embed(names: set[str]) -> set[str]:
    return {f"embed/{name}" for name in names}


@pytest.mark.parametrize(
    ("file", "jobs"),
    [
        ("formats/vector_formats.py", set()),
        ("formats/vector_files.py", set()),
        ("tasks/muon.py", {"embed/skipgram_torch", "train_lm/lstm"}),
        ("counts/cooccurrence.py", {"cooccur", *embed(COUNTED)}),
        ("kernels/counting.py", {"cooccur", *embed(COUNTED), "train_lm/kneser_ney"}),
        ("kernels/glove.py", embed({"glove"})),
        ("embeddings/word2vec/skipgram.py", embed({"skipgram_torch"})),
        (
            "kernels/word2vec/rows.py",
            embed({name for name in RUNGS if "gram" in name or "cbow" in name}) - embed({"skipgram_torch"}),
        ),
    ],
)
def test_an_edit_re_runs_what_runs_it(file: str, jobs: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    before, hashed = versions(), code_version._hash
    edited = ROOT / "src" / "langladder" / file
    assert edited.is_file()

    def changed(path: Path) -> str:
        return "edited" if path == edited else hashed(path)

    monkeypatch.setattr(code_version, "_hash", changed)
    assert {job for job, version in versions().items() if version != before[job]} == jobs
