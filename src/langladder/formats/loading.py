"""How to load each foreign format: the example for its model card. `{folder}` is replaced by the folder.

Families say how models of this project are loaded (`langladder.families`).
"""

LOADING = {
    "gpt2": """from transformers import AutoTokenizer, GPT2LMHeadModel

model = GPT2LMHeadModel.from_pretrained("{folder}")
tokenizer = AutoTokenizer.from_pretrained("{folder}")  # puts `< bos >` before a text, as the model expects""",
    "gpt2_chat": """from transformers import AutoTokenizer, GPT2LMHeadModel

model = GPT2LMHeadModel.from_pretrained("{folder}")
tokenizer = AutoTokenizer.from_pretrained("{folder}")
turns = [{"role": "user", "content": "in which country is paris ?"}]
inputs = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=True, return_tensors="pt")
reply = model.generate(**inputs, do_sample=False, max_new_tokens=40)[0, inputs["input_ids"].shape[1] :]
print(tokenizer.decode(reply, skip_special_tokens=True))""",
    "bert": """from transformers import AutoTokenizer, BertForMaskedLM

model = BertForMaskedLM.from_pretrained("{folder}")
tokenizer = AutoTokenizer.from_pretrained("{folder}")  # `< cls >` before a text, `< sep >` behind it, as it expects
inputs = tokenizer("the cat < mask > .", return_tensors="pt")  # `< mask >` hides a token
best = model(**inputs).logits[inputs["input_ids"] == tokenizer.mask_token_id].argmax(-1)
print(tokenizer.decode(best))""",
    "classifier": """from transformers import AutoTokenizer, BertForSequenceClassification

model = BertForSequenceClassification.from_pretrained("{folder}")
tokenizer = AutoTokenizer.from_pretrained("{folder}")  # puts `< cls >` before a text, `< sep >` behind it
best = model(**tokenizer("the cat sleeps .", return_tensors="pt")).logits.argmax(-1)
print(model.config.id2label[int(best)])""",
    "tagger": """from transformers import AutoTokenizer, BertForTokenClassification

model = BertForTokenClassification.from_pretrained("{folder}")
tokenizer = AutoTokenizer.from_pretrained("{folder}")  # a word's tag is that of its first piece
best = model(**tokenizer("the cat sleeps .", return_tensors="pt")).logits.argmax(-1)
print([model.config.id2label[int(tag)] for tag in best[0]])""",
    "reader": """import torch
from transformers import AutoTokenizer, BertForQuestionAnswering

model = BertForQuestionAnswering.from_pretrained("{folder}")
tokenizer = AutoTokenizer.from_pretrained("{folder}")
inputs = tokenizer("where does anna live ?", "anna lives in paris .", return_tensors="pt")
scores = model(**inputs)
inside = inputs["token_type_ids"][0].bool()  # the paragraph
start = scores.start_logits[0].masked_fill(~inside, -torch.inf).argmax()
end = start + scores.end_logits[0, start:].masked_fill(~inside[start:], -torch.inf).argmax()
print(tokenizer.decode(inputs["input_ids"][0, start : end + 1]))""",
    "marian": """from transformers import AutoTokenizer, MarianMTModel

model = MarianMTModel.from_pretrained("{folder}")
source = AutoTokenizer.from_pretrained("{folder}")  # puts `< eos >` after a text, as the model expects
target = AutoTokenizer.from_pretrained("{folder}", subfolder="target")
found = model.generate(**source("the cat sleeps .", return_tensors="pt"))
print(target.decode(found[0], skip_special_tokens=True))""",
    "onnx": """import numpy, onnxruntime

model = onnxruntime.InferenceSession("{folder}/model.onnx")
k, L, _, H = model.get_inputs()[1].shape
state = numpy.zeros((k, L, len(tokens), H), numpy.float32)
log_probs, state = model.run(None, {"tokens": tokens, "state": state})  # (B, T) ids → (B, T, V), to read on from""",
    "onnx_encoder": """import numpy, onnxruntime
from tokenizers import Tokenizer

model = onnxruntime.InferenceSession("{folder}/model.onnx")
tokenizer = Tokenizer.from_file("{folder}/tokenizer.json")  # `< cls >` before a text, `< sep >` behind it
encoding = tokenizer.encode("the cat < mask > .")  # `< mask >` hides a token
tokens, segments = numpy.array([encoding.ids]), numpy.array([encoding.type_ids])
states, log_probs = model.run(None, {"tokens": tokens, "segments": segments})
print(tokenizer.decode([log_probs[0, encoding.tokens.index("< mask >")].argmax()]))""",
    "onnx_classifier": """import json, numpy, onnxruntime
from tokenizers import Tokenizer

model = onnxruntime.InferenceSession("{folder}/model.onnx")
tokenizer = Tokenizer.from_file("{folder}/tokenizer.json")  # puts its specials around a text, or two
tokenizer.encode_special_tokens = True  # `< sep >` in a text is text
labels = json.load(open("{folder}/labels.json"))
tokens = numpy.array([tokenizer.encode("the cat sleeps .").ids])  # of a pair: encode(one, other)
(log_probs,) = model.run(None, {"tokens": tokens})
print(labels[log_probs[0].argmax()])""",
    "onnx_tagger": """import json, numpy, onnxruntime
from tokenizers import Tokenizer

model = onnxruntime.InferenceSession("{folder}/model.onnx")
tokenizer = Tokenizer.from_file("{folder}/tokenizer.json")  # puts `< cls >` before a text, `< sep >` behind it
tokenizer.encode_special_tokens = True  # `< sep >` in a text is text
tags = json.load(open("{folder}/labels.json"))
encoding = tokenizer.encode("the cat sleeps .")
(log_probs,) = model.run(None, {"tokens": numpy.array([encoding.ids])})
print([(piece, tags[best]) for piece, best in zip(encoding.tokens, log_probs[0].argmax(1))])  # words: first piece""",
    "onnx_transformer": """import numpy, onnxruntime

encoder, step = (onnxruntime.InferenceSession(f"{folder}/{name}.onnx") for name in ("encoder", "decoder_step"))
source = numpy.array([[5, 6, 3]])  # ids of the source, EOS last
read = dict(zip([found.name for found in encoder.get_outputs()], encoder.run(None, {"source": source})))
past = {f"past_{name}": read[name][:, :, :0] for name in read if name != "mask"}
prefix = numpy.array([[2]])  # BOS
while prefix[0, -1] != 3 and prefix.shape[1] < 100:
    log_probs, attention, *kept = step.run(None, {"prefix": prefix, **read, **past})
    past = dict(zip(past, kept))
    prefix = numpy.concatenate([prefix, log_probs.argmax(1, keepdims=True)], 1)
print(prefix[0])  # ids of target.json""",
    "arpa": """import kenlm  # or SRILM, or langladder.formats.arpa.read_arpa

model = kenlm.Model("{folder}")  # its tokens are words: it reads lines as they are in the cleaned text
model.score("the cat sleeps .")  # log10 P, the end of the line included""",
    "arpa_tokens": r"""import re

import kenlm  # or SRILM, or langladder.formats.arpa.read_arpa
from tokenizers import Tokenizer

model, tokenizer = kenlm.Model("{folder}"), Tokenizer.from_file("tokenizer.json")


def spell(token):  # as in the file, whose words hold no white space
    if token.lower() in ("<s>", "</s>", "<unk>"):
        return "\\x3c" + token[1:]
    return re.sub(r"[\\\x00-\x20\x7f]", lambda found: f"\\x{ord(found[0]):02x}", token)


def cut(line):  # its tokens are parts of words: text is cut into them first
    return " ".join(map(spell, tokenizer.encode(line, add_special_tokens=False).tokens))


model.score(cut("the cat sleeps ."))  # log10 P, the end of the line included""",
}
LOADING |= {
    name.replace("gpt2", "llama"): LOADING[name].replace("GPT2LMHeadModel", "LlamaForCausalLM")
    for name in ("gpt2", "gpt2_chat")
}
