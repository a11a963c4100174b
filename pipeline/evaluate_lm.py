"""Stage `evaluate_lm`: score one language model on the test text, and let it continue the prompts."""

from pathlib import Path
from typing import Any

from langladder.artefacts import read_json, write_json
from langladder.decoding.sampling import SamplingConfig, complete
from langladder.evaluation.perplexity import score
from langladder.models.base import LanguageModel
from langladder.text.corpus_ids import TokenStream
from langladder.text.tokenizers import Tokenizer
from pipeline.stage import stage
from pipeline.work import work

TOKENS = Path("data/tokens/text")


@stage
def main(job: Any, out: Path) -> None:
    name = job.lm.name
    folder = Path("models/lm") / name
    with work("lm", "evaluate_lm", job, {"model": folder, "test": TOKENS / "test.arrow"}) as open_work:
        model = LanguageModel.load(folder)
        tokenizer = Tokenizer.load(folder / "tokenizer.json")
        scores = score(model, TokenStream.open(TOKENS / "test.arrow"), **read_json(TOKENS / "sizes.json")["test"])
        sampling = SamplingConfig(temperature=job.evaluation.temperature, max_tokens=job.evaluation.sample_tokens)
        prompts = job.evaluation.prompts
        samples = [{"prompt": prompt, "text": complete(model, tokenizer, prompt, sampling)} for prompt in prompts]
        page = {"name": name, "title": job.lm.title, "parameters": model.number_of_parameters()}
        page |= {"scores": scores, "samples": samples}
        write_json(out / "reports" / "rungs" / "lm" / f"{name}.json", page)
        write_json(out / "metrics" / "lm" / f"{name}.json", {"parameters": page["parameters"], **scores})
        open_work.run.metrics(scores)
    floor = scores.get("above_floor_percent")
    above = "" if floor is None else f", {floor:.1f} % above the entropy floor"
    print(f"evaluate_lm {name}: test perplexity {scores['perplexity_per_word']:.2f} a word{above}")


if __name__ == "__main__":
    main()
