"""The speed of what reads sentences, measured beside others.

    python benchmarks/reading.py                      # all of it
    python benchmarks/reading.py crf                  # loss, gradient, Viterbi beside pytorch-crf
    python benchmarks/reading.py networks             # Tree-LSTM, TextCNN, BiLSTM, fastText beside plain loops
    python benchmarks/reading.py networks --peer-python /path/to/python    # one that has the package fasttext

Quality: classifier_quality.py, tagger_quality.py.
"""

import click
from reading_crf import crf
from reading_networks import networks

COMMANDS = (networks, crf)


@click.group(invoke_without_command=True)
@click.pass_context
def main(context: click.Context) -> None:
    """Measure what reads sentences; without a command, all."""
    if context.invoked_subcommand is None:
        for command in COMMANDS:
            command.main(args=[], standalone_mode=False)


for one in COMMANDS:
    main.add_command(one)

if __name__ == "__main__":
    main()
