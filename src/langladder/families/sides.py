"""The sides of the data: text, pairs, labels, … each declared once, for settings, stages, MLflow and report.

A corpus of a side is chosen in conf/<group>/, made or read by one of `sources` into data/raw/<name>/, and cleaned into
data/clean/<name>/. Classes and functions are given as dotted paths, so that a job imports only what it needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One kind of corpus (`kind:` in its file in conf/).

    Attributes:
        settings: class of its settings, below `source:`.
        function: makes or reads the corpus: (settings, folder) → facts about it.
    """

    settings: str
    function: str


@dataclass(frozen=True)
class Side:
    """One side of the data.

    Attributes:
        name: its folder in data/raw/ and data/clean/; the key of its path in `paths` of params.yaml, if it is read.
        title: its name in the report.
        unit: the name of its rows in the facts of a corpus and in the report of cleaning.
        sources: kind → source.
        group: the folder of conf/ with its corpora, and the key of params.yaml that chooses one.
        argument: its name in `ll.train(pairs=…)` and `langladder new --kind pairs`; "": these do not take it.
        own: the choice of conf/<group> that reads the user's files.
        chosen: whether params.yaml chooses its corpus, and has a path for it.
        default: the choice if params.yaml has none; None: params.yaml must have one.
        on_request: whether it is made only if params.yaml lists it in `corpora`.
        languages: the keys of its languages, which the stage `clean` records.
        cleaning: class of the cleaning settings; "": it is not cleaned.
        clean: cleans it: (raw folder, folder, settings, seed) → report.
        tokenized: whether the stage `tokenize` trains tokenizers on it.
        report: the field of the report's `Meta` for the corpus's name; "": none.
    """

    name: str
    title: str
    unit: str
    sources: Mapping[str, Source]
    group: str
    argument: str = ""
    own: str = "text"
    chosen: bool = True
    default: str | None = None
    on_request: bool = False
    languages: tuple[str, ...] = ()
    cleaning: str = ""
    clean: str = ""
    tokenized: bool = False
    report: str = ""


_CORPORA, _READ, _LABELLED = "langladder.corpora", "langladder.text.read", "langladder.text.labelled"
_CLEANING, _STORIES = "langladder.text.clean", f"{_CORPORA}.stories"

_DECLARED = (
    Side(
        name="text",
        title="Monolingual text",
        unit="lines",
        group="corpus",
        argument="text",
        sources={
            "stories": Source(f"{_STORIES}.StoriesConfig", f"{_STORIES}.write_stories"),
            "files": Source(f"{_READ}.files.TextSource", f"{_READ}.files.read_text"),
            "hub": Source(f"{_READ}.hub.HubSource", f"{_READ}.hub.read_hub"),
        },
        languages=("language",),
        cleaning=f"{_CLEANING}.clean_text.CleanConfig",
        clean=f"{_CLEANING}.clean_text.clean_text",
        tokenized=True,
        report="text",
    ),
    Side(
        name="parallel",
        title="Parallel text",
        unit="pairs",
        group="parallel",
        argument="pairs",
        sources={
            "stories": Source(f"{_STORIES}.PairedStoriesConfig", f"{_STORIES}.write_pairs"),
            "files": Source(f"{_READ}.pairs.ParallelSource", f"{_READ}.pairs.read_parallel"),
            "hub": Source(f"{_READ}.hub.HubParallelSource", f"{_READ}.hub.read_hub_parallel"),
        },
        languages=("source_language", "target_language"),
        cleaning=f"{_CLEANING}.clean_pairs.CleanPairsConfig",
        clean=f"{_CLEANING}.clean_pairs.clean_parallel",
        tokenized=True,
        report="pairs",
    ),
    Side(
        name="labels",
        title="Labelled texts",
        unit="examples",
        group="labels",
        argument="labels",
        sources={
            "stories": Source(f"{_STORIES}.LabelledStoriesConfig", f"{_STORIES}.write_labels"),
            "files": Source(f"{_LABELLED}.label_files.LabelledSource", f"{_LABELLED}.label_files.read_labels"),
        },
        languages=("language",),
        cleaning=f"{_LABELLED}.clean_labelled.CleanLabelledConfig",
        clean=f"{_LABELLED}.clean_labelled.clean_labels",
        report="labels",
    ),
    Side(
        name="tags",
        title="Tagged sentences",
        unit="sentences",
        group="tags",
        argument="tags",
        own="columns",
        sources={
            "stories": Source(f"{_STORIES}.TaggedStoriesConfig", f"{_STORIES}.write_tags"),
            "files": Source(f"{_LABELLED}.tag_files.TaggedSource", f"{_LABELLED}.tag_files.read_tags"),
        },
        languages=("language",),
        cleaning=f"{_LABELLED}.clean_labelled.CleanLabelledConfig",
        clean=f"{_LABELLED}.clean_labelled.clean_tags",
        report="tags",
    ),
    Side(
        name="questions",
        title="Questions about paragraphs",
        unit="questions",
        group="questions",
        argument="questions",
        own="squad",
        default="microworld",
        sources={
            "stories": Source(f"{_CORPORA}.paragraphs.ParagraphConfig", f"{_CORPORA}.paragraphs.write_paragraphs"),
            "files": Source(f"{_LABELLED}.questions.QuestionSource", f"{_LABELLED}.questions.read_question_files"),
        },
    ),
    Side(
        name="instructions",
        title="Dialogues",
        unit="dialogues",
        group="instructions",
        default="microworld",
        on_request=True,
        sources={
            "microworld": Source(
                f"{_CORPORA}.instructions.demonstrations.InstructionsConfig",
                f"{_CORPORA}.instructions.demonstrations.write_instructions",
            ),
            "files": Source(
                f"{_LABELLED}.instructions.InstructionSource", f"{_LABELLED}.instructions.read_instructions"
            ),
        },
        cleaning=f"{_LABELLED}.clean_instructions.CleanInstructionsConfig",
        clean=f"{_LABELLED}.clean_instructions.clean_instructions",
    ),
    Side(
        name="scenes",
        title="Scenes",
        unit="scenes",
        group="scenes",
        chosen=False,
        sources={"microworld": Source(f"{_CORPORA}.scenes.SceneConfig", f"{_CORPORA}.scenes.write_scenes")},
    ),
    Side(
        name="speech",
        title="Speech",
        unit="utterances",
        group="speech",
        chosen=False,
        sources={"microworld": Source(f"{_CORPORA}.speech.SpeechConfig", f"{_CORPORA}.speech.write_speech")},
    ),
)

SIDES: Mapping[str, Side] = {side.name: side for side in _DECLARED}
"""Name → side, in the order of the stages and the report."""

CHOSEN = tuple(side for side in _DECLARED if side.chosen)
"""Sides whose corpus params.yaml chooses."""

ON_REQUEST = tuple(side.name for side in _DECLARED if side.on_request)
"""Sides that are made only if params.yaml lists them in `corpora`."""
