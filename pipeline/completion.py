"""Tab completion of the stages' command lines in bash: modules, families, groups, choices and settings.

    eval "$(python -m pipeline.completion bash)"     # from then on: python -m pipeline.train lm lm=<TAB>

Hydra completes `python script.py` and installed commands; this script adds modules. In zsh, first
`autoload -Uz bashcompinit && bashcompinit`. Other command lines of Python still complete file names.
"""

import argparse
import sys

from pipeline.settings import plan

SCRIPT = """_langladder_stage() {{
    local words=($COMP_LINE) word=${{COMP_WORDS[COMP_CWORD]}} first=3 choices="" families=""
    [[ ${{COMP_LINE: -1}} == " " ]] && words+=("")
    word=${{words[-1]}}
    if [[ ${{words[1]}} != -m || ${{words[2]}} != pipeline* ]]; then return; fi
    case ${{words[2]}} in
{families}
    esac
    [[ -n $families ]] && first=4
    if (( ${{#words[@]}} == 3 )); then choices="{modules}"
    elif (( ${{#words[@]}} == 4 )) && [[ -n $families ]]; then choices=$families
    else
        choices=$(COMP_LINE="stage ${{words[*]:first}}" "${{words[@]:0:first}}" -sc query=bash 2> /dev/null)
    fi
    COMPREPLY=($(compgen -W "$choices" -- "$word"))
}}
COMP_WORDBREAKS=${{COMP_WORDBREAKS//[=:]}}
complete -o nospace -o default -F _langladder_stage python python3
"""


def script() -> str:
    """The script for bash: it completes modules and families itself, and asks a stage for the rest."""
    modules = sorted({stage.module for stage in plan.stages().values()})
    named = {module: [name for name in plan.stages_of(module) if name] for module in modules}
    families = "\n".join(
        f'        pipeline.{module}) families="{" ".join(names)}" ;;' for module, names in named.items() if names
    )
    return SCRIPT.format(families=families, modules=" ".join(f"pipeline.{module}" for module in modules))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shell", choices=["bash"], help="whose script is written to the output")
    parser.parse_args(arguments)
    sys.stdout.write(script())


if __name__ == "__main__":
    main()
