"""Where the program meets files and consoles as people have them; every other room stands on it, and it on none."""
