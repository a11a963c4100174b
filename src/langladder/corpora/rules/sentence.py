"""The kinds of sentence and their shares."""

from langladder.corpora.grammar import Rule
from langladder.corpora.world import World, production

SHARES = {"Action": 0.62, "Geography": 0.08, "Question": 0.02, "Comparison": 0.12, "Review": 0.06, "Pair": 0.1}


@production("Sentence")
def sentence(_world: World) -> list[Rule]:
    """Sentence → one of the kinds, and a full stop."""
    return [Rule(share, ((kind,), "."), (0, ".")) for kind, share in SHARES.items()]
