"""What everything rests on: validation, documents, files, tables of text, progress, names that load when used."""
