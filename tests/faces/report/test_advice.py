"""Which rung to use, and what each step of history bought: by measured figures alone, told what was not measured."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from classifier_files import classifier
from click.testing import CliRunner
from small_run_files import entry, language_model, report_of

from langladder.evaluation.more_labels import CurvePoint, MoreLabels
from langladder.evaluation.page import Metric, Page, Work
from langladder.faces.cli.main import app
from langladder.faces.report.advice import Advice, advice, judged, measure_of
from langladder.faces.report.inputs import Entry, ReportInputs, Timing
from langladder.faces.report.language_models import positions_finding
from langladder.faces.report.page import build_page, code
from langladder.faces.report.paired import paired
from langladder.faces.report.section import family_columns
from langladder.faces.report.steps import ladder_steps
from langladder.faces.report.tables import ladder_summary, ladder_timings
from langladder.families import family

DATA = {
    "labels": {
        "splits": {"train": {"examples": 200, "words": 10_523}},
        "labels": {"train": {"animals": 120, "food": 80}},
    },
    "text": {"splits": {"train": {"documents": 7, "words": 4_000, "scripts": {"Latin": 0.1, "Thai": 0.9}}}},
}


def rung(name: str, accuracy: float, seconds: float | None, width: float = 0.02, **more: Any) -> Entry[Any]:
    """A classifier with half a ± of `width`; a network unless `counted`."""
    counted, also_given, module = more.pop("counted", False), more.pop("given", ""), more.pop("module", "")
    measured = entry("classifier", classifier(name, accuracy), timing=Timing(seconds=seconds))
    scores = measured.page.scores.model_copy(
        update={"accuracy": accuracy, "accuracy_interval": (accuracy - width, accuracy + width)}
    )
    work = None if counted else Work(flops=1.0, training_bytes=1)
    page = measured.page.model_copy(update={"scores": scores, "work": work, "bayes_accuracy": None, "right": ""} | more)
    metadata = {"title": name, "also_given": also_given, "module": module or name}
    return replace(measured, page=page, metadata=measured.metadata.model_copy(update=metadata))


def of(*rungs: Entry[Any], **others: list[Entry[Any]]) -> Advice:
    [result] = advice(replace(report_of(classifier=list(rungs), **others), data=DATA))
    return result


def test_a_baseline_that_is_level_wins() -> None:
    """0.82 and 0.80, ± 0.02 each: apart by less than √(0.02² + 0.02²)."""
    title, worth, (first, second, third), *figures = of(
        rung("net", 0.82, 40.0), rung("tf-idf", 0.80, 1.5, counted=True)
    )
    assert (title, worth, *figures) == ("Classifiers", "tf-idf", "accuracy 80.0 % ± 2.0 %", "1.5 s", "123 k parameters")
    assert first == (
        "Trained on 200 examples, 10,523 words and 2 labels (the rarest, food, occurs 80 times), the best of 2 rungs "
        "by accuracy is net with 82.0 % ± 2.0 %."
    )
    assert second == (
        "Your baseline wins: tf-idf (80.0 % ± 2.0 %) cannot be told apart from it (± 2.8 %) and trains in 1.5 s "
        "instead of 40 s, so it is the better choice."
    )
    assert third.startswith("The effect of word vectors or pre-training was not measured here")
    assert "`classifier_transfers`" in third and third.endswith(
        "was not measured (`learning_curve: true` measures it for labels)."
    )


def test_the_best_is_worth_it_where_it_is_ahead_by_more_than_the_margins() -> None:
    _, worth, (_, second, _), *_ = of(rung("net", 0.84, 40.0), rung("tf-idf", 0.80, 1.5, counted=True))
    assert worth == "net"
    assert second == (
        "It took 40 s, 27 times as long as the best cheaper rung, tf-idf (80.0 % ± 2.0 % in 1.5 s), and is "
        "ahead of it by 4.0 points."
    )
    _, worth, (_, second, _), *_ = of(rung("net", 0.79, 40.0), rung("tf-idf", 0.80, 1.5, counted=True))
    assert worth == "tf-idf" and second == "It is also the cheapest: it took 1.5 s to train."
    _, worth, (_, second, _), *_ = of(rung("net", 0.82, None), rung("tf-idf", 0.80, None, counted=True))
    assert worth == "net" and second.startswith("Its training time is unknown")
    _, worth, (first, second, _), *_ = of(rung("net", 0.82, 3.0))
    assert worth == "net" and "the only rung" in first and second.startswith("There is nothing to compare it with")


def test_the_cheapest_within_two_per_cent_is_used_even_where_the_margins_tell_them_apart() -> None:
    best, near = rung("net", 0.800, 40.0, width=0.001), rung("gru", 0.785, 9.0, width=0.001)
    _, worth, (_, second, _), *figures = of(best, near, rung("tf-idf", 0.783, 1.5, width=0.001, counted=True))
    assert (worth, figures[1]) == ("gru", "9.0 s")  # 0.783 is 2.1 % below
    assert second.startswith("gru (78.5 % ± 0.1 %) is within 2 % of it and trains in 9.0 s instead of 40 s")


def test_what_the_paired_test_says_is_worse_is_not_as_good_within_two_per_cent() -> None:
    """The net is right on 15 of 1,000 texts more, and on all others alike: p < 0.001."""
    net = rung("net", 0.985, 40.0, right="1" * 985 + "0" * 15)
    bag = rung("tf-idf", 0.970, 1.5, right="1" * 970 + "0" * 30, counted=True)
    result = of(net, bag)
    assert result.rung == "net" and result.sentences[1].endswith("and is ahead of it by 1.5 points.")


def test_the_paired_test_decides_where_the_items_are_there() -> None:
    """The ± overlap in both; the first net is right on nine texts more, the second on nine more and on seven fewer."""
    base = "1" * 80 + "0" * 20
    for right, level in (("1" * 89 + "0" * 11, False), ("0" * 7 + "1" * 82 + "0" * 11, True)):
        net = rung("net", right.count("1") / 100, 40.0, width=0.1, right=right)
        result = of(net, rung("tf-idf", 0.8, 1.5, width=0.1, right=base, counted=True))
        assert result.rung == ("tf-idf" if level else "net")
        assert ("cannot be told apart from it (p = 0.8)" in result.sentences[1]) is level


def test_one_test_decides_every_sentence() -> None:
    """Advice, steps and the section of classifiers: by the paired test of the first training, adjusted for all pairs.

    The first two nets differ on 9 of 100 texts; of three seeds the ± is wide.
    """
    bag = rung("tf-idf", 0.80, 1.5, width=0.1, right="1" * 80 + "0" * 20, seeds=3)
    net = rung("net", 0.89, 40.0, width=0.1, right="1" * 89 + "0" * 11, seeds=3)
    for more, differ in (([], True), ([rung(f"r{i}", 0.8, 9.0, right="1" * 80 + "0" * 20) for i in range(14)], False)):
        rungs = [bag, *more, net]
        [result] = judged([net], measure := measure_of(family_columns(family("classifier"), [net.page])))
        assert measure is not None and result.margin == pytest.approx(0.1)  # by which they would be level
        compared = paired(rungs, lambda page: page.scores.accuracy)
        assert compared is not None and ("cannot be told apart" in compared.sentence) is not differ
        assert ("net is ahead of" in steps(*rungs)) is differ and of(*rungs).rung == ("net" if differ else "tf-idf")
        assert ("net is not significantly different from" in steps(*rungs)) is not differ


def test_a_first_training_that_was_worse_than_the_mean_tells_nothing_apart() -> None:
    """The rung with the better mean gets fewer items right in its first training: the test says nothing of means."""
    bag = rung("tf-idf", 0.80, 1.5, right="1" * 80 + "0" * 20)
    net = rung("net", 0.85, 40.0, right="1" * 60 + "0" * 40, seeds=3)
    compared = paired([bag, net], lambda page: page.scores.accuracy)
    assert compared is not None and compared.sentence.startswith("net (85.0 %) cannot be told apart from tf-idf")
    assert of(bag, net).rung == "tf-idf" and "not significantly different" in steps(bag, net)


class OwnPage(Page):
    """Of a family of one's own: its field has the name of another one in the pages of this package."""

    right: Annotated[float, Metric("right", "share of what is right", unit="share", better="higher", brief=True)]


def test_a_page_of_one_s_own_may_have_a_figure_of_any_name() -> None:
    page = OwnPage(name="mine", right=0.5)
    measure = measure_of(family_columns(family("classifier"), [page]))
    assert measure is not None
    [result] = judged([replace(rung("mine", 0.5, 1.0), page=page)], measure)
    assert result.value == 0.5 and not result.pairs


def test_costs_are_seconds_of_processors() -> None:
    """On a busy machine the baseline took longer by the clock, not of its processor."""
    net, bag = rung("net", 0.82, 40.0), rung("tf-idf", 0.80, 50.0, counted=True)
    busy = [replace(item, timing=replace_seconds(item.timing, cost)) for item, cost in ((net, 70.0), (bag, 2.0))]
    assert of(*busy).rung == "tf-idf" and "trains in 2.0 s instead of 1 min 10 s" in of(*busy).sentences[1]
    assert of(net, bag).rung == "net"


def replace_seconds(timing: Timing, processor_seconds: float) -> Timing:
    return timing.model_copy(update={"processor_seconds": processor_seconds})


def test_what_pre_training_gives_is_the_difference_to_the_same_network_without() -> None:
    """Whatever other networks have: tf-idf is best of all."""
    best, alone = rung("tf-idf", 0.90, 1.5, counted=True), rung("net", 0.70, 9.0, module="net")
    for accuracy, sentence in (
        (
            0.80,
            "Word vectors: a gain. grown has 80.0 % ± 2.0 %, net, the same network without, 70.0 % ± 2.0 % (± 2.8 %)",
        ),
        (0.71, "Word vectors: no significant gain. grown has 71.0 % ± 2.0 %, net, the same network without, "),
        (0.60, "Word vectors: a loss. grown has "),
    ):
        transferred = rung("grown", accuracy, 9.0, given="word vectors: Skip-gram", module="net")
        assert of(best, alone, classifier_transfer=[transferred]).sentences[2].startswith(sentence)
    other = rung("bert", 0.95, 9.0, given="pre-training: RoBERTa")
    assert (
        of(best, alone, classifier_transfer=[other])
        .sentences[2]
        .startswith(
            "The gain from word vectors or pre-training was not measured: the network of bert was not trained without "
        )
    )
    trees = rung("trees", 0.9, 9.0, given="trees")  # which nobody learnt
    assert of(alone, trees).sentences[2].startswith("The effect of word vectors or pre-training was not measured")


@pytest.mark.parametrize(
    ("low", "gain", "high", "says"),
    [
        (0.015, 0.03, 0.05, "; with twice the labels (400 instead of 200) n-net would have accuracy 84.0 % (82.5 % to "
         "86.0 %) instead of 81.0 %, if its learning curve continues in the same way."),
        (-0.002, 0.003, 0.008, "; twice the labels (400 instead of 200) would improve n-net by at most 0.8 points "
         "of accuracy."),
        (-0.01, 0.02, 0.05, "; it is unclear if twice the labels (400 instead of 200) would help n-net: its "
         "learning curve predicts −1.0 to +5.0 points of accuracy."),
    ],
)  # fmt: skip
def test_what_more_labels_would_give_is_reported_where_it_can_be(
    low: float, gain: float, high: float, says: str
) -> None:
    points = [CurvePoint(texts=texts, accuracy=0.7, models=1) for texts in (25, 50, 100, 200)]
    more_labels = MoreLabels(points=points, accuracy=0.81, gain=gain, low=low, high=high)
    other = MoreLabels(points=points, accuracy=0.5, gain=0.1, low=0.05, high=0.2)
    advised = of(rung("n-net", 0.82, 40.0, more_labels=more_labels), rung("tf-idf", 0.70, 1.5, more_labels=other))
    assert advised.sentences[2].endswith(says)


def test_who_has_learnt_nothing_is_no_measure_of_labels() -> None:
    points = [CurvePoint(texts=100, accuracy=0.5, models=1)]
    more_labels = MoreLabels(points=points, accuracy=0.5, gain=0.1, low=0.05, high=0.2, learnt=False)
    sentence = of(rung("net", 0.5, 40.0, more_labels=more_labels)).sentences[2]
    assert sentence.endswith("cannot be estimated, because net hardly learns anything from fewer.")


def test_of_too_few_labels_nothing_is_reported() -> None:
    few = {"labels": {"splits": {"train": {"examples": 63}}}}
    [result] = advice(replace(report_of(classifier=[rung("net", 0.82, 40.0)]), data=few))
    assert result.sentences[2].endswith("the gain from more labels cannot be estimated from fewer than 64 texts.")


def lms(**seconds: float) -> list[Entry[Any]]:
    entries = [
        entry("lm", language_model(name, name, per_word, 1000), timing=Timing(seconds=seconds[name]))
        for name, per_word in (("counted", 90.0), ("gpt", 60.0))
        if name in seconds
    ]
    work = {"gpt": Work(flops=1.0, training_bytes=1)}
    return [replace(item, page=item.page.model_copy(update={"work": work.get(item.name)})) for item in entries]


def test_language_models_are_better_where_perplexity_is_lower() -> None:
    [result] = advice(replace(report_of(lm=lms(counted=0.5, gpt=100.0)), data=DATA))
    first, second, third = result.sentences
    assert first.startswith("Trained on 7 documents, 4,000 words in Thai script, the best of 2 rungs by perplexity")
    assert "is gpt with 60.0" in first and result.rung == "gpt"
    assert "200 times as long" in second and "between seeds was not measured" in second and "by 30.0" in second
    assert "`tunes`" in third


@pytest.mark.parametrize(
    ("size", "seconds", "warned"),
    [
        (50_000, {"counted": 0.5}, True),
        (200_000, {"counted": 0.5}, True),
        (200_001, {"counted": 0.5}, False),
        (50_000, {"counted": 0.5, "gpt": 100.0}, False),  # its own figures say it
        (None, {"counted": 0.5}, False),
    ],
)
def test_a_small_text_is_no_text_for_networks(size: int | None, seconds: dict[str, float], warned: bool) -> None:
    train = {"documents": 7, "words": 4_000} | ({} if size is None else {"bytes": size})
    [result] = advice(replace(report_of(lm=lms(**seconds)), data={"text": {"splits": {"train": train}}}))
    assert result.sentences[2].startswith("Networks are not worth their time on less than 200 kB of text") == warned
    assert "docs/small-languages.md" in result.sentences[2] or not warned


def test_counted_rungs_have_no_seeds_to_measure() -> None:
    worse, better = lms(counted=0.5, gpt=2.0)
    better = replace(better, page=better.page.model_copy(update={"work": None}))
    [result] = advice(replace(report_of(lm=[worse, better]), data=DATA))
    assert "as long as the best cheaper rung" in result.sentences[1] and "seeds" not in result.sentences[1]


def test_the_command_and_the_page_say_the_same(tmp_path: Path) -> None:
    inputs: ReportInputs = replace(report_of(lm=lms(counted=0.5, gpt=100.0)), data=DATA)
    runner = CliRunner()
    nothing = runner.invoke(app, ["advise", str(tmp_path)])
    assert nothing.exit_code == 0 and nothing.output.startswith("Nothing was measured on this text, so")
    (tmp_path / "metrics" / "clean").mkdir(parents=True)
    for side, report in DATA.items():
        (tmp_path / "metrics" / "clean" / f"{side}.json").write_text(json.dumps(report))
    assert "Here are 4,000" not in nothing.output
    assert "4,000 words in Thai script" in runner.invoke(app, ["advise", str(tmp_path)]).output
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "ladder.json").write_text(json.dumps(ladder_summary(inputs)))
    (tmp_path / "reports" / "timings.json").write_text(json.dumps(ladder_timings(inputs)))
    text = " ".join(advice(inputs)[0].sentences)
    done = runner.invoke(app, ["advise", str(tmp_path)])
    assert done.output == f"Language models: {text}\n"
    [parsed] = json.loads(runner.invoke(app, ["advise", str(tmp_path), "--json"]).output)
    assert parsed["rung"] == "gpt" and " ".join(parsed["sentences"]) == text
    assert code(text) in build_page(inputs)


@pytest.mark.parametrize("family", ["lm", "classifier"])
def test_no_rung_no_advice(family: str) -> None:
    assert advice(report_of(**{family: []})) == []


def steps(*rungs: Entry[Any]) -> str:
    return ladder_steps(rungs, family_columns(family("classifier"), [item.page for item in rungs]))


def dated(measured: Entry[Any], year: int, approach: str = "") -> Entry[Any]:
    page = measured.page.model_copy(update={"approach": approach})
    return replace(measured, page=page, metadata=measured.metadata.model_copy(update={"year": year}))


def test_a_step_of_history_goes_from_the_best_of_an_approach_to_the_best_of_the_next() -> None:
    """In order of years, whatever the ladder's; a step that lost says so, and so does one that changed nothing."""
    net, bag = dated(rung("net", 0.90, 60.0), 2014, "convolutional"), dated(rung("tf-idf", 0.80, 1.5), 1972, "counted")
    weak = dated(rung("weak", 0.60, 1.0), 2013, "convolutional")
    lost = dated(rung("bert", 0.70, 240.0), 2019, "Transformer")
    first = (
        "net is ahead of tf-idf by 10.0 points (accuracy 90.0 % ± 2.0 % instead of 80.0 % ± 2.0 %), for 40 × its "
        "training time."
    )
    assert steps(lost, net, weak, bag) == (
        f"{first} bert is behind net by 20.0 points (accuracy 70.0 % ± 2.0 % instead of 90.0 % ± 2.0 %), for 4.0 × "
        "its training time, so this step did not pay here."
    )
    cheap = dated(rung("bert", 0.70, 24.0), 2019, "Transformer")
    assert steps(net, cheap).endswith("instead of 90.0 % ± 2.0 %), for 0.40 × its training time.")
    level = dated(rung("bert", 0.81, 1.5), 2019, "Transformer")
    assert steps(bag, level).startswith("bert is not significantly different from tf-idf (") and steps(
        bag, level
    ).endswith("), in the same training time.")
    slower = dated(rung("bert", 0.81, 3.0), 2019, "Transformer")
    assert steps(bag, slower).endswith("so these figures do not show that the step pays.")
    assert steps(dated(rung("a", 0.8, None), 2001), dated(rung("b", 0.9, None), 2002)).endswith("80.0 % ± 2.0 %).")
    tuned = dated(rung("tuned", 0.95, 90.0, given="pre-training: RoBERTa"), 2018, "Transformer")
    assert steps(net, tuned).endswith("for 1.5 × its training time (without the pre-training).")
    assert steps(tuned, dated(rung("rnn", 0.85, 180.0), 2020, "recurrent")).endswith(
        "for 2.0 × its training time (without the pre-training), which is also given pre-training."
    )
    assert of(net, tuned).sentences[1].startswith("It took 1 min 30 s without the pre-training, 1.5 times as long")
    assert steps(net) == "net is the only rung that was measured: there is no step to compare."


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (90.0, 60.0, "gpt predicts 33 % better than counted (perplexity per word 60.00 instead of 90.00), for 1 min "
         "40 s of training instead of 0.5 s."),
        (60.0, 63.0, "gpt predicts 5.0 % worse than counted (perplexity per word 63.00 instead of 60.00), for 1 min "
         "40 s of training instead of 0.5 s, so this step did not pay here."),
        (60.0, 60.0, "gpt is as good as counted (perplexity per word 60.00 instead of 60.00), for 1 min 40 s of "
         "training instead of 0.5 s, so this step did not pay here."),
        (math.inf, 60.0, "gpt gives the whole test text a probability above 0 (perplexity per word 60.00), which "
         "counted does not (its perplexity per word is infinite), for 1 min 40 s of training instead of 0.5 s."),
        (60.0, math.inf, "gpt gives some of the test text probability 0 (its perplexity per word is infinite), which "
         "counted does not (perplexity per word 60.00): this step did not pay here."),
        (math.inf, math.inf, "gpt and counted both give some of the test text probability 0 (their perplexity per "
         "word is infinite)."),
    ],
)  # fmt: skip
def test_a_step_depends_on_any_perplexity(old: float, new: float, says: str) -> None:
    pair = lms(counted=0.5, gpt=100.0)
    for measured, value in zip(pair, (old, new), strict=True):
        scores = measured.page.scores.model_copy(update={"perplexity_per_word": value})
        pair[pair.index(measured)] = replace(measured, page=measured.page.model_copy(update={"scores": scores}))
    assert ladder_steps(pair, family_columns(family("lm"), [item.page for item in pair])) == says


def test_the_page_tells_what_each_step_bought_and_what_to_use() -> None:
    page = build_page(replace(report_of(lm=lms(counted=0.5, gpt=100.0)), data=DATA))
    assert '<p class="finding">gpt predicts 33 % better than counted' in page
    assert (
        '<p class="finding">From line 2 of a document to lines 3–4, the entropy floor falls by 3 %, the perplexity of '
        "gpt falls by 2 % and the perplexity of counted falls by 1 %: gpt and counted gain about equally from the "
        "lines in between.</p>" in page
    )
    [row] = re.findall(r"<tr><th scope=\"row\">Language models</th>.*?</tr>", page)
    assert re.findall(r"<td[^>]*>(.*?)</td>", row) == [
        "<strong>gpt</strong>", "perplexity per word 60.00", "1 min 40 s", "1 k parameters"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (1.02, 1.03, ": neither gains from the lines in between."),
        (1.02, 0.97, ": of the two, only gpt gains from the lines in between."),
        (0.97, 0.96, ": gpt and counted gain about equally from the lines in between."),
        (0.98, 0.80, ": gpt gains more from the lines in between than counted."),
    ],
)
def test_who_gets_worse_along_a_document_gains_nothing_from_it(old: float, new: float, says: str) -> None:
    pair = []
    for measured, change in zip(lms(counted=0.5, gpt=100.0), (old, new), strict=True):
        first, *_, last = measured.page.scores.positions
        positions = [first, last.model_copy(update={"perplexity": first.perplexity * change})]
        scores = measured.page.scores.model_copy(update={"positions": positions})
        pair.append(replace(measured, page=measured.page.model_copy(update={"scores": scores})))
    assert positions_finding(pair).endswith(says)
