"""What calls cost: this library, the official SDK and a hand-written floor, side by side in one run.

Every contestant runs in processes of its own, and its turns are interleaved with the others', so that a busy moment of
the machine hits all of them alike. Figures are medians; what counts is their ratio.
"""
