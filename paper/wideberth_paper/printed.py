"""The numbers that the paper prints, as data.

"Gap Safe Screening Rules for Fast Training of Robust Support Vector Machines under
Feature Noise" (Nguyen, Tran, Nguyen): its ranges over the 16 configurations of a data
set, for Algorithm 1 against SCS.
"""

from __future__ import annotations

#: (least, largest) by data set and quantity: times as fast as SCS, and the screening
#: rate (n − |F|)/n.
PRINTED = {
    "breast_cancer": {"speedup": (1.07, 18.96), "rate_paper": (0.965, 0.989)},
    "spambase": {"speedup": (1.54, 9.85), "rate_paper": (0.893, 0.998)},
}
#: The figures of the paper with the time and with the screening rate of a data set.
FIGURES = {
    "breast_cancer": {"speedup": 2, "rate_paper": 3},
    "spambase": {"speedup": 4, "rate_paper": 5},
}
