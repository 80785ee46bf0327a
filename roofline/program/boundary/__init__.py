"""Which boundary the data of each call crossed: where it was before the call ran."""
