"""Where notes are kept: as files in the home, or as rows where many machines share them."""
