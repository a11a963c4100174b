"""Stage `evaluate_lm`: score one language model on the test text, and its input embedding; let it continue prompts."""

from pathlib import Path
from typing import Any

from langladder.artefacts import read_json, write_json
from langladder.decoding.prompts import draw_prompts
from langladder.decoding.sampling import SamplingConfig, complete
from langladder.evaluation.perplexity import score
from langladder.export.input_embedding import input_embedding
from langladder.infinity import from_plain, show
from langladder.models.base import LanguageModel
from langladder.models.neural import NeuralLanguageModel
from langladder.progress import tracked
from langladder.text.corpus_ids import TokenStream
from langladder.text.tokenizers import Tokenizer
from langladder.text.vocabulary import Vocabulary
from pipeline.evaluate_embedding import page_of
from pipeline.provenance.job import tracked_job
from pipeline.settings.stage import stage

TOKENS = Path("data/tokens/text")
WORDS = Path("data/words/vocabulary.json")
INSIDE = "inside language models"  # the family of these vectors


def word_vectors(model: LanguageModel, folder: Path, job: Any) -> dict[str, Any] | None:
    """The input embedding, judged as the word vectors of other rungs are; nothing where the model has none."""
    if not isinstance(model, NeuralLanguageModel) or model.input_embedding() is None:
        return None
    vectors = input_embedding(folder, Vocabulary.load(WORDS))
    names = {"name": f"{job.lm.name}_input", "title": f"{job.lm.title}, input embedding", "family": INSIDE}
    return names | page_of(vectors, job)


@stage
def main(job: Any, out: Path) -> None:
    name = job.lm.name
    folder = Path("models/lm") / name
    inputs = {"model": folder, "test": TOKENS / "test.arrow", "sizes": TOKENS / "sizes.json", "words": WORDS}
    sets = {key: Path(value) for key, value in job.paths.model_dump().items()}
    with tracked_job("lm", "evaluate_lm", job, inputs | sets) as work:
        model = LanguageModel.load(folder)
        tokenizer = Tokenizer.load(folder / "tokenizer.json")
        scores = score(model, TokenStream.open(TOKENS / "test.arrow"), **read_json(TOKENS / "sizes.json")["test"])
        sampling = SamplingConfig(temperature=job.evaluation.temperature, max_tokens=job.evaluation.sample_tokens)
        prompts = job.evaluation.prompts
        if isinstance(prompts, int):
            prompts = draw_prompts(TokenStream.open(TOKENS / "test.arrow"), tokenizer, prompts)
        begun = tracked(prompts, "sampling", unit="prompts")
        samples = [{"prompt": prompt, "text": complete(model, tokenizer, prompt, sampling)} for prompt in begun]
        page = {"name": name, "title": job.lm.title, "family": model.approach}
        page |= {"parameters": model.number_of_parameters(), "scores": scores, "samples": samples}
        page["vectors"] = word_vectors(model, folder, job)
        write_json(out / "reports" / "rungs" / "lm" / f"{name}.json", page)
        write_json(out / "metrics" / "lm" / f"{name}.json", {"parameters": page["parameters"], **scores})
        figures = from_plain(scores)
        work.run.test_scores(folder, figures)
    floor = figures.get("above_floor_percent")
    above = "" if floor is None else f", {show(floor, '.1f')} % above the entropy floor"
    perplexity = show(figures["perplexity_per_word"], ".2f")
    print(f"evaluate_lm {name}: test perplexity {perplexity} a word{above}")


if __name__ == "__main__":
    main()
