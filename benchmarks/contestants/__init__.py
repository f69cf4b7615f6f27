"""The contestants: each module offers `in_memory()` and `stdio()`, async context managers that give a `call`."""
