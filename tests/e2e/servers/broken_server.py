"""No server at all: it fails while it is loaded."""

raise ValueError("this file is broken")
