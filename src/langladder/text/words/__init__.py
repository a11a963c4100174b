"""Words of a text: splitting, vocabulary, streams of word ids."""
