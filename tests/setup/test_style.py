"""Style of every module: one form for what can be written in several ways, and names that say what they name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from pipeline import ROOT

SOURCES = sorted((ROOT / "src").rglob("*.py"))
NETWORK_ROOMS = ("nn", "models", "data", "decoding", "tasks", "formats", "faces/cli")
# not the field's word → the field's word
WORDS = {
    r"hangs? on": "depends on",
    r"thin(s|ned|ning)? out": "subsample",
    r"keeps? company": "co-occur",
    r"(perplexity|nats) a (word|token)": "per word, per token",
    r"bits a byte": "bits per byte",
    r"tokens a second": "tokens per second",
}


def _name(path: Path) -> str:
    """From langladder's rooms on; of the other package with its name."""
    return path.relative_to(ROOT / "src").as_posix().removeprefix("langladder/")


def _methods(tree: ast.Module) -> Iterator[tuple[ast.ClassDef, ast.FunctionDef]]:
    for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        yield from ((owner, part) for part in owner.body if isinstance(part, ast.FunctionDef))


def test_a_class_that_returns_itself_says_self() -> None:
    """Class methods and validators; a method may well return another object of its very class (a slice, a sum)."""
    for path in SOURCES:
        for owner, method in _methods(ast.parse(path.read_text(encoding="utf-8"))):
            decorated = {ast.unparse(decorator).partition("(")[0] for decorator in method.decorator_list}
            returned = ast.unparse(method.returns).strip("'\"") if method.returns else ""
            if decorated & {"classmethod", "model_validator"}:
                assert returned != owner.name, f"{_name(path)}:{method.lineno}: returns {returned}; write Self"


def test_letters_of_shapes_are_explained_in_one_form() -> None:
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        docstring = ast.get_docstring(ast.parse(text)) or ""
        assert not re.search(r"^Shapes?:", docstring, re.MULTILINE), (
            f"{_name(path)}: the line begins with 'Shape legend:'"
        )
        if path.is_relative_to(ROOT / "src/langladder/nn") and re.search(r"# \(B,", text):
            assert re.search(r"^Shape legend: ", docstring, re.MULTILINE), f"{_name(path)}: which letter is which?"


def test_the_words_are_the_fields() -> None:
    for path in (path for path in SOURCES if _name(path).startswith(NETWORK_ROOMS)):
        text = path.read_text(encoding="utf-8")
        for word, better in WORDS.items():
            match = re.search(rf"\b{word}\b", text)
            assert not match, f"{_name(path)}: {match[0]!r}; write {better!r}"  # type: ignore[index]


OURS = ("claims", "langladder", "microworld", "pipeline")


def _imported(tree: ast.Module) -> tuple[set[str], list[str]]:
    """The names under which a module imports other libraries, and the private names among them."""
    known: set[str] = set()
    private: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {name.asname or name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith(OURS):
            known |= {name.asname or name.name for name in node.names}
            names = [f"{node.module}.{name.name}" for name in node.names]
            private += [name for name in names if re.search(r"(^|\.)_[a-zA-Z]", name)]
    return known - {*OURS}, private


def test_nothing_private_of_a_library_is_used_or_replaced() -> None:
    """`os._exit` is documented, `_target_` is Hydra's key; other names with an underscore are the library's own."""
    for path in [*SOURCES, *sorted((ROOT / "pipeline").rglob("*.py"))]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        known, result = _imported(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and re.match(r"_[a-zA-Z]", node.attr):
                name = ast.unparse(node)
                result += [name] if name.partition(".")[0] in known and node.attr not in ("_exit", "_target_") else []
            if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
                result += [ast.unparse(node)] if ast.unparse(node.value) == "sys.modules" else []
        assert not result, f"{path.relative_to(ROOT)}: private names of a library, or modules replaced: {result}"


# names that do not say what a thing is; write: message, report, result, request, path, location, index, position …
VAGUE = "aside|asked|elsewhere|found|given|growth|grown|grows|made|one|places?|said|shown|taken|told|together|warm|wide"
# keys of settings and of files, names of weights, and what other rooms import
KEPT = {
    "pipeline/settings/params.py": {"given"},
    "pipeline/take.py": {"given"},
    "src/claims/declaration.py": {"given"},
    "src/langladder/answers/classify.py": {"given"},
    "src/langladder/answers/translate.py": {"found"},
    "src/langladder/corpora/instructions/answers.py": {"given"},
    "src/langladder/corpora/scenes.py": {"place"},
    "src/langladder/evaluation/captions.py": {"asked", "said"},
    "src/langladder/evaluation/classifier.py": {"said", "shown"},
    "src/langladder/evaluation/instructed.py": {"asked"},
    "src/langladder/evaluation/label_scores.py": {"said"},
    "src/langladder/evaluation/tagger.py": {"said", "shown"},
    "src/langladder/evaluation/transcripts.py": {"found"},
    "src/langladder/experiments/findings.py": {"found"},
    "src/langladder/faces/explorer/inside.py": {"place"},
    "src/langladder/faces/explorer/surprisal.py": {"place"},
    "src/langladder/faces/explorer/typed.py": {"asked"},
    "src/langladder/faces/python/results.py": {"given"},
    "src/langladder/faces/report/classifiers.py": {"said"},
    "src/langladder/ground/errors.py": {"found"},
    "src/langladder/models/classification/tree_lstm.py": {"places"},
    "src/langladder/nn/attention.py": {"place"},
    "src/langladder/tasks/settings.py": {"shown"},
    "src/langladder/text/labelled/instructions.py": {"asked"},
    "tests/evaluation/test_metrics.py": {"one"},
    "tests/formats/test_bert_heads_folder.py": {"made"},
    "tests/models/spoken.py": {"asked"},
    "tests/remote_servers.py": {"asked"},
}


def _defined(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of every function, class, argument and assignment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def test_names_say_what_they_name() -> None:
    vague, unused = [], {(file, name) for file, names in KEPT.items() for name in names}
    paths = [*SOURCES, *(ROOT / "pipeline").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    files = {path.relative_to(ROOT).as_posix(): path for path in paths}
    for file, path in files.items():
        for line, name in _defined(ast.parse(path.read_text(encoding="utf-8"))):
            if re.fullmatch(VAGUE, name.strip("_")) and name not in KEPT.get(file, ()):
                vague.append(f"{file}:{line}: {name}")
            unused.discard((file, name))
    assert not vague, f"names that do not say what they name: {vague}"
    assert not unused, f"KEPT lists names that are not there: {unused}"
