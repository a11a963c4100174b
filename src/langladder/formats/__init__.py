"""What is taken away: word vectors and models in the formats that other tools read, and their cards."""
