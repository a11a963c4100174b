"""The command line: python -m microworld draw | score | floors | next | check.

A file of stories has one line a line, its words with spaces between, and an empty line between stories.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from microworld.corpora import SIZES, SPLITS, draw_labels, draw_pairs, draw_shards, draw_tags
from microworld.engine import END, World, world
from microworld.floors import check, document_floor, window_floor
from microworld.lexicon import HERE
from microworld.notation import read_rules
from microworld.translation import Translation

Story = list[list[str]]


class _Parser(argparse.ArgumentParser):
    """A wrong argument is one line, too."""

    def error(self, message: str) -> NoReturn:
        self.exit(1, f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    """The commands and their arguments."""
    top = _Parser(prog="microworld", description="Little stories, drawn and read with exact probabilities.")
    commands = top.add_subparsers(dest="command", required=True, parser_class=_Parser)

    command = commands.add_parser("draw", help="draw text, sentence pairs, labelled texts or tagged lines")
    command.add_argument("--size", choices=SIZES, default="tiny")
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--split", choices=SPLITS, default="train")
    kind = command.add_mutually_exclusive_group()
    kind.add_argument("--pairs", action="store_true", help="English and Esperanto, with a tab between")
    kind.add_argument("--labels", choices=("subject", "mood"), help="label and text, with a tab between")
    kind.add_argument("--tags", choices=("pos", "entities"), help="word and tag, with a tab between, a word a line")
    command.add_argument("--format", choices=("text", "parquet"), default="text")
    command.add_argument(
        "--out", type=Path, help="folder for the file SPLIT.txt or SPLIT.parquet (default: print text)"
    )
    command.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes; the text is the same for all"
    )

    command = commands.add_parser("score", help="the natural log-probability of each line, given the lines before it")
    command.add_argument("file", help="stories; - is the standard input")

    command = commands.add_parser("floors", help="the lowest perplexity that a reader of the last lines can reach")
    command.add_argument("file", help="stories; - is the standard input")
    command.add_argument("--seen", type=int, nargs="+", default=[0, 1, 2, 4], help="lines before the predicted line")
    command.add_argument("--lines", type=int, default=500, help="predicted lines, drawn from all")
    command.add_argument("--ends", type=int, choices=(0, 1), default=0, help="1: the end of a line counts as a word")
    command.add_argument("--seed", type=int, default=1, help="which lines are drawn")

    command = commands.add_parser("next", help="the likeliest next words")
    command.add_argument("text", nargs="?", help="the beginning of a story (default: the standard input)")
    command.add_argument("--top", type=int, default=10)

    command = commands.add_parser("check", help="check files of rules and translations")
    command.add_argument("files", nargs="*", type=Path, default=[HERE / "english.rules", HERE / "esperanto.rules"])
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        exit code: 0; 1 after an error, which is one line on the standard error.
    """
    options = parser().parse_args(arguments)
    try:
        COMMANDS[options.command](options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, ValueError) as error:
        print(f"microworld: {error}", file=sys.stderr)
        return 1
    return 0


# ---- draw


def draw(options: argparse.Namespace) -> None:
    """Print what is drawn, or write it to a new file."""
    if options.format == "parquet" and options.out is None:
        raise ValueError("--format parquet needs --out FOLDER")
    if options.jobs < 1:
        raise ValueError(f"--jobs {options.jobs}: expected at least 1")
    if options.out is None:
        sys.stdout.writelines(_text(options, _tables(options)))
        return
    path = options.out / f"{options.split}.{'txt' if options.format == 'text' else 'parquet'}"
    if path.exists():
        raise ValueError(f"{path} exists already; choose another folder with --out")
    options.out.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if options.format == "text":
            with part.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(_text(options, _tables(options)))
        else:
            tables = _tables(options)
            first = next(tables)
            with pq.ParquetWriter(part, first.schema) as writer:
                for table in (first, *tables):
                    writer.write_table(table)
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)


def _tables(options: argparse.Namespace) -> Iterator[pa.Table]:
    """Shard by shard."""
    counts, split = SIZES[options.size], SPLITS.index(options.split)
    if options.pairs:
        yield draw_pairs(options.seed, options.split, counts.pairs[split])
    elif options.labels:
        yield pa.Table.from_pylist(
            list(draw_labels(options.seed, options.split, counts.labelled[split], options.labels))
        )
    elif options.tags:
        yield pa.Table.from_pylist(list(draw_tags(options.seed, options.split, counts.tagged[split], options.tags)))
    else:
        yield from draw_shards(options.seed, options.split, counts.stories[split], options.jobs)


def _text(options: argparse.Namespace, tables: Iterator[pa.Table]) -> Iterator[str]:
    last = None
    for table in tables:
        if options.pairs:
            yield from (f"{row['source']}\t{row['target']}\n" for row in table.to_pylist())
        elif options.labels:
            yield from (f"{row['label']}\t{row['text']}\n" for row in table.to_pylist())
        elif options.tags:
            for number, row in enumerate(table.to_pylist()):
                words = zip(row["words"], row["tags"], strict=True)
                yield "\n" * (number > 0) + "".join(f"{word}\t{tag}\n" for word, tag in words)
        else:
            for document, line in zip(table["document"].to_pylist(), table["text"].to_pylist(), strict=True):
                yield line + "\n" if last in (None, document) else f"\n{line}\n"
                last = document


# ---- score, floors, next


def score(options: argparse.Namespace) -> None:
    """Print log P of each line, a tab, and the line; stories as in the file."""
    here = world()
    for number, (first, story) in enumerate(_stories(options.file)):
        reading = _read(here, options.file, first, story)
        print("\n" * (number > 0), end="")
        for line, log_probs in zip(story, reading, strict=True):
            print(f"{sum(log_probs):.6f}\t{' '.join(line)}")


def floors(options: argparse.Namespace) -> None:
    """Print the floor of readers of the last lines, and of the whole story."""
    here, results = world(), list(_stories(options.file))
    if min(options.seen) < 0 or options.lines < 1:
        raise ValueError("--seen is 0 or more lines, --lines at least 1")
    if not results:
        raise ValueError(f"{options.file}: there is no story")
    exact = [[sum(line) for line in _read(here, options.file, first, story)] for first, story in results]
    stories = [story for _, story in results]
    print("lines seen\tnats per word\tstandard error\tperplexity per word")
    for seen in sorted(set(options.seen)):
        floor = window_floor(here, stories, seen, options.lines, Random(options.seed), ends=options.ends)
        print(f"{seen}\t{floor.nats:.4f}\t{floor.error:.4f}\t{floor.perplexity:.2f}", flush=True)
    floor = document_floor(exact, stories, ends=options.ends)
    print(f"all\t{floor.nats:.4f}\t{floor.error:.4f}\t{floor.perplexity:.2f}")


def next_words(options: argparse.Namespace) -> None:
    """Print the likeliest next words with their probabilities; a line of the story ends where it must."""
    here, lines, line = world(), list[list[str]](), list[str]()
    text = sys.stdin.read() if options.text is None else options.text
    for word in text.split():
        line.append(word)
        readers = here.begun(lines, line)
        if not readers:
            raise ValueError(f'"{word}" cannot stand here{_instead(here, lines, line[:-1])}')
        if here.next_words(readers).keys() == {END}:
            lines.append(line)
            line = []
    chances = here.next_words(here.begun(lines, line))
    for word, p in sorted(chances.items(), key=lambda pair: (-pair[1], pair[0]))[: options.top]:
        print(f"{p:.6f}\t{word}")


def _stories(name: str) -> Iterator[tuple[int, Story]]:
    """(number of its first line in the file, story)."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: no text in UTF-8 ({error})") from error
    story: Story = []
    number = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            story.append(line.split())
        elif story:
            yield number - len(story), story
            story = []
    if story:
        yield number + 1 - len(story), story


def _read(here: World, name: str, first: int, story: Story) -> list[list[float]]:
    """log P of each word, by line.

    Raises:
        ValueError: the story is none of this world; the message names the first word that cannot stand where it does.
    """
    reading = here.read(story)
    if reading is not None:
        return reading.log_probs
    name = "standard input" if name == "-" else name
    for number, line in enumerate(story):
        for end, readers in enumerate(here.prefixes(story[:number], line)):
            if not readers:
                instead = _instead(here, story[:number], line[: end - 1])
                word = f'"{line[end - 1]}" (word {end})'
                raise ValueError(f"{name}:{first + number}: {word} cannot stand here{instead}")
        if not here.begun(story[: number + 1]):
            instead = _instead(here, story[:number], line)
            raise ValueError(f'{name}:{first + number}: the line cannot end after "{line[-1]}"{instead}')
    raise AssertionError(story)  # a story of which each beginning is possible is read


def _instead(here: World, lines: Story, line: Sequence[str]) -> str:
    chances = here.next_words(here.begun(lines, line))
    words = sorted(chances, key=lambda word: (-chances[word], word))[:5]
    return f"; expected {', '.join(word or 'the end of the line' for word in words)}{', …' * (len(chances) > 5)}"


# ---- check


def check_files(options: argparse.Namespace) -> None:
    """Check rules, with all that can be remembered, and translations, with all forms."""
    for path in options.files:
        rules = read_rules(path)
        if rules.translates:
            Translation(world(), path)
        else:
            check(World(path=path))
        lines = sum(len(written.lines) for written in rules.rules.values())
        print(f"{path.name}: {len(rules.rules)} rules with {lines} lines are in order")


COMMANDS = {"draw": draw, "score": score, "floors": floors, "next": next_words, "check": check_files}

if __name__ == "__main__":
    sys.exit(main())
