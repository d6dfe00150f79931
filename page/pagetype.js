// pagetype: which of the known kinds the page is.
