"""One file a method that yields word vectors; all end as `WordVectors`."""
