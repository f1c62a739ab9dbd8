"""MatRaptor (MICRO 2020), as a machine of one's own."""
