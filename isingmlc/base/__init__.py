"""What every other folder uses: arguments, arrays, read-only objects, printing, files."""
