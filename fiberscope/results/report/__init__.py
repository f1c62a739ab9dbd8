"""What a run reports: the document, how it is shown, drawn and compared."""
