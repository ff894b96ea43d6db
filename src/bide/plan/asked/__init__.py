"""The parts of a service file, each read into values of the question with every field checked."""
