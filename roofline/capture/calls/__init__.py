"""A live operator call -> the key it folds under, and the noun that is saved."""
