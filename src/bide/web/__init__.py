"""The HTTP API and the page of `bide serve`. No arithmetic: the functions of the command line are called."""
