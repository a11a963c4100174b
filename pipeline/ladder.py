"""The full ladder: every rung that conf/ offers, as changes to params.yaml for `dvc exp run`.

    make repro LADDER=full            # = dvc exp run $(python -m pipeline.ladder)

DVC writes the changes into params.yaml, where they can be seen (`git diff`) and taken back
(`git checkout params.yaml`).
"""

from pipeline import choices


def changes() -> list[str]:
    """`-S` arguments that list every rung of every ladder, those of params.yaml first, in their order."""
    chosen = choices.load_choices()
    arguments = []
    for group, key in choices.LADDERS.items():
        listed = chosen.rungs(group)
        rungs = listed + [name for name in choices.conf_names(group) if name not in listed]
        arguments += ["-S", f"{key}=[{','.join(rungs)}]"]
    return arguments


if __name__ == "__main__":
    print(" ".join(changes()))
