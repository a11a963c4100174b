"""What rungs declare whose body is the network of another rung: classifiers and taggers fine-tuned from BERT or GPT."""

from langladder.families.family import Values
from langladder.ground.schema import checked, locate


def takes_weights(kind: type) -> bool:
    """Whether such a rung takes its base's network, and not only its word vectors."""
    from langladder.models.growing import Grown

    return issubclass(kind, Grown)


def unfit(kind: type, value: Values, base: Values) -> str | None:
    """Why a rung's body cannot be the network of its base; None where it can. Both are settings as plain values."""
    from langladder.models.growing import BodyConfig, Grown, too_many

    assert issubclass(kind, Grown), kind

    settings = value.get("model") or {}
    wrong = []
    if settings.get("body") is not None:
        wrong.append("model.body is the network of the base; leave it out")
    if "_target_" in base:  # else the base has its network from its own base
        found = locate(base["_target_"])
        if not issubclass(found, kind.BODY):
            wrong.append(f"it is a {found.__name__}, and a {kind.__name__} grows from {kind.FAMILIES}")
        else:
            body: BodyConfig = checked(found.Config, base["model"], "base: model")
            wrong += filter(
                None, [too_many(settings.get("layers_transferred"), body.layers), kind.refuses(settings, body)]
            )
    return "; ".join(wrong) or None
