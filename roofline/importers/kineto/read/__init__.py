"""A file -> columns: batches of typed events, whatever state it is in, one array a field."""
