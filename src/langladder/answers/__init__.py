"""Questions to models: how a text is prepared for a model, what is computed, and the answer as typed values.

score      surprisal and perplexity of texts; the likeliest of several options         language models
surprisal  surprisal of each token and word of one text                                language models
generate   the continuation of a text                                                  language models
fill       the likeliest words for gaps                                                encoders
translate  a sentence in the other language                                            translators
classify   the label of a text, and why                                                classifiers
tag        a tag for each word                                                         taggers
answer     the answer to a question about a paragraph                                  readers
words      neighbours, analogies, similarity, the odd one out, the vector of a text    word vectors
chat       the next turn of a dialogue                                                 models that follow instructions
tokenize   the tokens of a text, and the steps of the tokenizer                        tokenizers

`requests` defines the settings of each question: names, limits, defaults, help. `loading` reads the models from their
folders; `kinds` finds the kind of a model from its files. The command line, the servers and the MLflow functions differ
only in how they receive a question and return its answer.
"""
