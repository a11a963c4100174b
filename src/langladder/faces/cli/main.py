"""`langladder <command>`: all commands, and error messages for bad input: one sentence on stderr, exit code 2."""

from typing import Any

import click

from langladder.faces.cli.advise import advise
from langladder.faces.cli.attention import attention
from langladder.faces.cli.bias import bias
from langladder.faces.cli.export import export
from langladder.faces.cli.import_model import copy, import_model
from langladder.faces.cli.input import refuse_broken_text
from langladder.faces.cli.judging import errors, evaluate
from langladder.faces.cli.language_models import chat, generate, perplexity, prompt, score
from langladder.faces.cli.new import new
from langladder.faces.cli.readers import answer, classify, fill, tag
from langladder.faces.cli.serve import explore, serve
from langladder.faces.cli.translate import translate
from langladder.faces.cli.vectors import analogy, convert, draw_map, neighbours, similarity
from langladder.ground.atomic import disk_error
from langladder.ground.errors import InputError, printable


class Refused(click.ClickException):
    """Bad input: a message without a traceback."""

    exit_code = 2

    def format_message(self) -> str:
        """What is printed."""
        return printable(self.message)


LONGEST = 1000  # characters of a message


def shortened(message: str) -> str:
    """A message without its middle if it is longer than `LONGEST`: the user's input can have any length."""
    half = LONGEST // 2
    return message if len(message) <= LONGEST else f"{message[:half]} … {message[-half:]}"


class App(click.Group):
    """The group of all commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; refuse arguments that are not valid Unicode."""
        refuse_broken_text(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; `InputError` and system errors become messages."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            if len(error.message) <= LONGEST:
                raise
            raise Refused(shortened(error.format_message())) from error
        except InputError as error:
            raise Refused(shortened(str(error))) from error
        except (OSError, ImportError, RuntimeError, MemoryError) as error:
            from langladder.ground.memory import out_of_memory

            if out_of_memory(error):
                text = str(error)[:200] or "the system gives no more"
                raise Refused(f"there is not enough memory for this ({text})") from error
            if not isinstance(error, OSError):
                raise
            if error.filename is None:
                if disk_error(error) is None:  # a closed pipe, which click handles
                    raise
                raise Refused(f"the standard output: {str(error.strerror).lower()}") from error
            raise Refused(f"{str(error.filename)[:300]}: {error.strerror}") from error
        except UnicodeEncodeError as error:
            text = f"{error.object[error.start : error.end][:20]!a} cannot be written in {error.encoding}"
            raise Refused(f"{text}, the encoding of the output; set PYTHONIOENCODING=utf-8") from error


@click.group(
    cls=App,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: langladder neighbours models/embedding/skipgram king",
)
@click.version_option(package_name="langladder", prog_name="langladder", message="%(prog)s %(version)s")
def app() -> None:
    """Use word vectors and models from the command line.

    Word vectors: neighbours, analogies, similarity, bias, maps, conversion. Language models: generate, score, prompt,
    chat, export, import. Other models: translate, classify texts, tag words, answer questions about a paragraph, fill
    gaps. Evaluate any model on a labelled file, and compare two models item by item.

    VECTORS is anything with word vectors: a folder that the pipeline wrote (models/embedding/skipgram), a language
    model (models/lm/lstm: its input embedding), or a file in word2vec's text or binary format or GloVe's format, also
    gzipped.
    """


OF_VECTORS = (neighbours, analogy, similarity, draw_map, bias, convert)
OF_MODELS = (generate, score, perplexity, prompt, chat, serve, explore, export, import_model, copy)
OF_READERS = (translate, classify, tag, answer, fill, attention, advise)
OF_JUDGEMENTS = (evaluate, errors)
for command in (*OF_VECTORS, *OF_MODELS, *OF_READERS, *OF_JUDGEMENTS, new):
    app.add_command(command)
