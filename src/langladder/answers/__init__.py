"""What one can ask a model: how a text is prepared for it, what is computed, and the answer as typed values.

score      how surprising a text is; perplexity; the likeliest of several options      language models
surprisal  the same for each token and word of one text, as it stands there            language models
generate   how a text goes on                                                          language models
fill       the likeliest words for gaps                                                encoders
translate  a sentence in the other language                                            translators
classify   the label of a text, and why                                                classifiers
tag        a tag for each word                                                         taggers
answer     what a paragraph says to a question                                         readers
words      neighbours, analogies, similarity, the odd one out, the vector of a text    word vectors
chat       the next turn of a dialogue                                                 models that follow instructions
tokenize   the tokens of a text, and how a tokenizer arrives at them                     tokenizers

`requests` says what can be set of each question: names, limits, defaults, help. `loading` reads the models from their
folders, `kinds` tells from its files what a folder holds. The command line, the servers and the MLflow functions differ
only in how a question comes in and how its answer goes out.
"""
