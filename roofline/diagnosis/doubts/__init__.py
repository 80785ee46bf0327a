"""RF0xx: can the model be believed?  These come first and silence advice built on what is not."""
