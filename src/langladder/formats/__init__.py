"""Export: word vectors and models in the formats of other tools, and their cards."""
