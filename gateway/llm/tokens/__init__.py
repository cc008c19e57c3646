"""How many tokens something is: estimated by what it is made of, corrected by what endpoints count, or exact."""
