"""`langladder score`, `perplexity`, `generate`, `prompt` and `chat`: what language models make of texts."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from langladder.answers.requests import ChatRequest, GenerateRequest, OptionsRequest
from langladder.faces.cli.input import is_folder, standard_input, typed_lines
from langladder.faces.cli.options import FOLDER, json_option, options
from langladder.faces.cli.output import Cell, echo, interval, note, note_reading, print_json, print_table
from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.answers.chat import Conversation
    from langladder.answers.loading import LoadedModel
    from langladder.evaluation.prompting import Item, Prompter
    from langladder.experiments.prompting import PromptTask

COLUMNS = ("text", "model", "per word", "bits per character", "bits per byte", "per token", "tokens", "unknown")


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="MODEL... SENTENCE...")
@click.option("--file", "file", metavar="FILE", help="Sentences, one per line, also .gz; - is the standard input.")
@click.option("--tokens/--no-tokens", "show_tokens", default=True, help="Show each token's surprisal [default: yes].")
@json_option
def score(words: tuple[str, ...], file: str | None, show_tokens: bool, as_json: bool) -> None:
    """Rank sentences by their probability under each MODEL.

    Surprisal is −log₂ P(token | previous tokens), in bits; that of a sentence is the sum, its end (<eos>) included.
    Arguments that are folders are models, the others are sentences. To compare models, use the bits of sentences, not
    of tokens.

    \b
    Examples:
      langladder score models/lm/* "apple and pear salad" "apple and pair salad"
      langladder score models/lm/gpt --file candidates.txt --no-tokens
    """
    folders, sentences = _models_and_others(words)
    for sentence in sentences:
        if "/" in sentence and not any(character.isspace() for character in sentence):
            raise InputError(f"{sentence}: no such folder (if this is a sentence, put it into a file and use --file)")
    if file is not None:
        sentences += _filled_lines(file)
    if not folders or not sentences:
        raise click.UsageError(f"{len(folders)} models and {len(sentences)} sentences: give at least one of each")
    from langladder.answers.loading import read_model
    from langladder.answers.score import score_sentences

    scores = {}
    for folder in folders:
        loaded = read_model(folder)
        note_reading(folder, sentences)
        scores[str(folder)] = score_sentences(loaded, sentences)
    if as_json:
        models = [{"model": model, "sentences": ranked} for model, ranked in scores.items()]
        print_json({"unit": "bits", "models": models})
        return
    for model, ranked in scores.items():
        rows: list[list[Cell]] = []
        for scored in ranked:
            tokens = [f"{token['token'] or '␣'} {_bits(token['bits'])}" for token in scored["tokens"]]
            last: list[Cell] = [" · ".join(tokens)] if show_tokens else []
            rows.append([scored["rank"], scored["sentence"], _bits(scored["bits"]), *last])
        columns = ["", "sentence", "bits"] + ["of which"] * show_tokens
        print_table(columns, rows, title=model)


def _models_and_others(words: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Split arguments: folders are models, the rest is what they score."""
    folders = [Path(word) for word in words if is_folder(word)]
    return folders, [word for word in words if not is_folder(word)]


def _filled_lines(file: str) -> list[str]:
    if file == "-":
        return [line.strip() for line in standard_input() if line.strip()]
    from langladder.text.read.lines import filled_lines

    return [line for _, line in filled_lines(Path(file))]


def _bits(bits: float | None) -> str:
    return "∞" if bits is None else f"{round(bits, 2) + 0.0:.2f}"  # a certain token's 0.00 has no sign


@click.command(short_help="Perplexity of language models on any texts.")
@click.argument("words", nargs=-1, required=True, metavar="MODEL... FILE...")
@json_option
def perplexity(words: tuple[str, ...], as_json: bool) -> None:
    """Compute the perplexity of each FILE (text, one sentence per line; also .gz) under each MODEL.

    Arguments that are folders are models, the others are files. A blank line begins a new document. All characters and
    line ends are predicted. To compare models with different tokenizers, use perplexity per word or bits per character.
    If `unknown` is not 0, the model cannot spell these words, and its figures are too good. Words are counted as in the
    model's training text. If that text does not separate words, they are graphemes; then compare bits per character.

    \b
    Examples:
      langladder perplexity models/lm/* input/text/mine.txt
      langladder perplexity models/lm/gpt wikitext.txt reviews.txt.gz
    """
    folders, files = _models_and_others(words)
    if not folders or not files:
        raise click.UsageError(f"{len(folders)} models and {len(files)} files: give at least one of each")
    from langladder.answers.loading import read_model
    from langladder.answers.score import score_file
    from langladder.answers.surprisal import finite

    rows: list[list[Any]] = []
    units: list[str] = []
    models = [read_model(folder) for folder in folders]
    for file in files:
        for folder, loaded in zip(folders, models, strict=True):
            bits, normalised, _ = score_file(loaded, Path(file))
            note(normalised)
            figures = [
                bits.perplexity_per_word,
                bits.bits_per_character,
                bits.bits_per_byte,
                bits.perplexity_per_token,
            ]
            units.append(bits.word_unit)
            rows.append([file, str(folder), *map(finite, figures), bits.tokens, round(bits.unknown_rate, 4)])
    if as_json:
        print_json(
            [dict(zip(COLUMNS, row, strict=True)) | {"word": unit} for row, unit in zip(rows, units, strict=True)]
        )
        return
    columns = ["per grapheme" if name == "per word" and "graphemes" in units else name for name in COLUMNS]
    print_table(columns, [[*row[:2], *map(_figure, row[2:6]), *row[6:]] for row in rows], title="perplexity")


def _figure(value: float | None) -> str:
    if value is None:
        return "∞"
    return f"{value:,.2f}" if value < 1e6 else f"{value:.1e}"


@click.command(short_help="Continue a prompt with each model.")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", type=FOLDER)
@click.option("--prompt", "prompts", multiple=True, default=("",), help="Text to continue; may be given several times.")
@options(GenerateRequest)
@json_option
def generate(models: tuple[Path, ...], prompts: tuple[str, ...], request: GenerateRequest, as_json: bool) -> None:
    """Continue a prompt with each MODEL, up to the end of the line.

    \b
    Examples:
      langladder generate models/lm/gpt models/lm/lstm --prompt "the king"
      langladder generate models/lm/* --prompt "the king" --top-p 0.9 --samples 3 --seed 7
      langladder generate models/lm/gpt --prompt "the king" --draft models/lm/kneser_ney
    """
    from langladder.answers.generate import generate as generated
    from langladder.answers.loading import read_models
    from langladder.decoding.speculative import Speculation

    config, samples = request.sampling(), request.samples
    repeated = [prompt for prompt in prompts for _ in range(samples)]
    drafted, results = {}, {}
    for folder, loaded in zip(models, read_models(models), strict=True):
        note_reading(folder, prompts)
        drafted[loaded.name] = counts = Speculation()
        results[loaded.name] = generated(
            loaded, repeated, config, draft=request.draft, lookahead=request.lookahead, counts=counts
        )
    if as_json:
        texts = [
            {"model": name, "prompt": prompt, "text": text.text}
            for name, continued in results.items()
            for prompt, text in zip(repeated, continued, strict=True)
        ]
        others = {"logit_bias", "presence_penalty", "frequency_penalty"}  # no options of this command
        answer = {"settings": config.model_dump(mode="json", exclude=others), "texts": texts}
        print_json(
            answer
            | ({"draft": {name: asdict(speculation) for name, speculation in drafted.items()}} if request.draft else {})
        )
        return
    for number, prompt in enumerate(prompts):
        part = slice(number * samples, (number + 1) * samples)
        rows = [[name, continuation.text] for name, continued in results.items() for continuation in continued[part]]
        print_table(["model", "text"], rows, title=f"“{prompt}” …" if prompt else "from the beginning of a line")
    for name, speculation in drafted.items() if request.draft else ():
        share = speculation.accepted / max(1, speculation.proposed)
        echo(
            f"{name}: {speculation.tokens / max(1, speculation.steps):.2f} tokens per step, "
            f"{share:.0%} of the draft accepted"
        )


@click.command(short_help="Ask a language model in words, with no, one or several examples.")
@click.argument("model", type=FOLDER)
@click.argument("text", required=False)
@options(OptionsRequest, options="--option")
@click.option("--task", metavar="FILE|NAME", help="A file of conf/prompt/, or its name.")
@click.option("--data", type=FOLDER, help="Your own items: .tsv or .jsonl.")
@click.option(
    "--shots", type=click.IntRange(0, 1000), help="Number of examples in the prompt [default: that of the task]."
)
@click.option("--items", type=click.IntRange(1, 100_000), help="Maximum number of items [default: that of the task].")
@click.option(
    "--show", type=click.IntRange(0, 1000), default=0, help="Number of items to show with the scores of their options."
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31),
    default=1,
    show_default=True,
    help="Seed of the choice of items and examples.",
)
@json_option
def prompt(
    model: Path,
    text: str | None,
    request: OptionsRequest,
    task: str | None,
    data: Path | None,
    shots: int | None,
    items: int | None,
    show: int,
    seed: int,
    as_json: bool,
) -> None:
    """Score the answers to TEXT under MODEL, or run a task. Without TEXT and --task, the command asks for texts.

    A task is a template with answers in words. The command prints the accuracy for each number of examples in the
    prompt, with 95 % intervals over items and orders of examples. A text can have several lines: $'first\\nsecond'.

    \b
    Examples:
      langladder prompt models/lm/gpt "she lives in paris ," --option france --option italy
      langladder prompt models/lm/gpt --task knowledge --shots 4 --show 2
      langladder prompt models/lm/lstm --task mine.yaml --data mine.tsv
    """
    from langladder.answers.loading import read_model

    loaded, choices = read_model(model), request.options
    if task is not None:
        if text is not None or choices:
            raise click.UsageError("--task has its own texts and options; give either --task, or TEXT with --option")
        from langladder.experiments.prompt_files import read_task

        changes = {} if items is None else {"items": items}
        settings = read_task(task, data=data, shots=shots, **changes)
        _do_task(loaded, settings, show, seed, as_json)
        return
    if data is not None or shots is not None:
        raise click.UsageError("--data and --shots work with --task only")
    if len(choices) < 2 or len(set(choices)) < len(choices):
        raise click.UsageError(f"{len(choices)} options: give --option two or more times, each with a different answer")
    if text is not None:
        note_reading(model, [text, *choices])
        _print_options(loaded, text, request, as_json)
        return
    for line in typed_lines("One text per line; Ctrl-D ends.") if sys.stdin.isatty() else sys.stdin:
        if line.strip():
            note_reading(model, [line, *choices])
            _print_options(loaded, line.strip(), request, as_json)


def _print_options(loaded: "LoadedModel", text: str, request: OptionsRequest, as_json: bool) -> None:
    from langladder.answers.score import rank_options

    results = rank_options(loaded, text, request)
    if as_json:
        print_json({"model": loaded.name, "text": text, "options": results})
        return
    names = {"option": "option", "log_prob": "log P", "per_token": "per token", "share": "share"}
    names |= {"calibrated": "calibrated"} if request.calibrate is not None else {}
    cells: list[dict[str, Any]] = [{**row} for row in results]
    print_table(list(names.values()), [[row[name] for name in names] for row in cells], title=text)


def _do_task(loaded: "LoadedModel", settings: "PromptTask", show: int, seed: int, as_json: bool) -> None:
    from langladder.evaluation.prompting import Prompter, chance
    from langladder.evaluation.significance import crossed_share_interval
    from langladder.experiments.experiment import Data
    from langladder.experiments.prompting import Prompting

    chosen, orders = Prompting(settings).items(Data(), seed)
    prompter = Prompter(loaded.model, loaded.tokenizer, settings)
    rows: list[list[Any]] = []
    for number in settings.shots:
        result = prompter.measure(chosen, orders, number)
        accuracies = {scoring: float(right.mean()) for scoring, right in result.right.items()}
        rows.append(
            [number, result.used, *accuracies.values(), crossed_share_interval(result.right[settings.scorings[0]])]
        )
    examples = [_example(prompter, item, orders[0][: settings.shots[-1]]) for item in chosen[:show]]
    columns = ["examples", "in the prompt", *settings.scorings, f"95 % of {settings.scorings[0]}"]
    if as_json:
        table = [dict(zip(columns, row, strict=True)) for row in rows]
        figures = {"model": loaded.name, "items": len(chosen), "chance": chance(chosen)}
        print_json(figures | {"by": table, "shown": examples})
        return
    title = f"{loaded.name}: {len(chosen)} items, chance {chance(chosen):.3f}"
    print_table(columns, [[*row[:-1], interval(row[-1])] for row in rows], title=title)
    for example in examples:
        echo(example["prompt"])
        print_table(
            ["option", "", settings.scorings[0]], [[o["option"], o["right"], o["score"]] for o in example["options"]]
        )


def _example(prompter: "Prompter", item: "Item", examples: "Sequence[Item]") -> dict[str, Any]:
    """Print an item with its whole prompt and the scores of its options."""
    from langladder.answers.surprisal import finite

    scores = prompter.scores([item], examples)
    figures = next(iter(scores.values()))[0].tolist() if scores else [float("nan")] * len(item.options)
    ranked = sorted(zip(item.options, figures, range(len(figures)), strict=True), key=lambda option: -option[1])
    choices = [
        {"option": option, "right": "right" if index == item.right else "", "score": finite(value)}
        for option, value, index in ranked
    ]
    return {"prompt": prompter.prompt(examples, item.fields).rstrip(" ") + " …", "options": choices}


@click.command(short_help="Chat with a model that follows instructions, or with several side by side.")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", type=FOLDER)
@click.option("--say", "turns", multiple=True, help="Your turn; may be given several times.")
@options(ChatRequest)
@json_option
def chat(models: tuple[Path, ...], turns: tuple[str, ...], request: ChatRequest, as_json: bool) -> None:
    """Chat with each MODEL, the folder of a rung that follows instructions.

    Without --say, the command asks for turns, or reads them from a pipe. All models answer the same turns; each keeps
    its own answers in its prompt. When the context is full, the oldest turns are dropped, and a line on stderr says so.
    A best-of-n rung draws n answers, and its reward model chooses one.

    \b
    Examples:
      langladder chat models/instruct/sft
      langladder chat models/instruct/sft models/align/ppo --say "in which country is paris ?"
      langladder chat models/instruct/sft models/align/best_of_n
      langladder chat models/instruct/sft --best-of 16 --judge models/reward/reward
    """
    from langladder.answers.chat import read_conversations

    conversations = read_conversations(models, request)
    if turns or not sys.stdin.isatty():
        filled = [turn for turn in turns or standard_input() if turn.strip()]
        if not filled:
            raise InputError("no turns; give --say TEXT, or turns through a pipe, one per line")
        for folder in models:
            note_reading(folder, filled)
        answers = [(turn, _replies(conversations, turn)) for turn in filled]
        if as_json:
            dialogue = [{"user": turn, "answers": replies} for turn, replies in answers]
            print_json({"system": request.system, "turns": dialogue})
            return
        for turn, replies in answers:
            echo(f"> {turn}")
            _print_replies(replies)
        return
    if as_json:
        raise click.UsageError("--json needs turns: give --say TEXT, or turns through a pipe")
    for turn in typed_lines("Type your turn, or Ctrl-D to end."):
        try:
            if turn.strip():
                for folder in models:
                    note_reading(folder, [turn])
                _print_replies(_replies(conversations, turn))
        except InputError as error:
            echo(f"Error: {error}", err=True)


def _replies(conversations: "dict[str, Conversation]", turn: str) -> dict[str, str]:
    """Print each model's answer; stderr says which turns no longer fit into its prompt."""
    replies = {}
    for name, conversation in conversations.items():
        reply = conversation.say(turn.strip())
        replies[name] = reply.text
        if reply.left_out:
            turns = "the oldest turn was" if reply.left_out == 1 else f"the {reply.left_out} oldest turns were"
            why = f"its context of {conversation.assistant.model.context:,} tokens has no room for more"
            echo(f"{name}: {turns} left out of the prompt: {why}", err=True)
    return replies


def _print_replies(replies: dict[str, str]) -> None:
    """Print one answer as it is, several side by side."""
    if len(replies) == 1:
        echo(next(iter(replies.values())))
    else:
        print_table([*replies], [[*replies.values()]])
