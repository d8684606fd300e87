"""Two species of iris that overlap, by the length and width of their petals."""

from sklearn.datasets import load_iris

_flowers = load_iris(as_frame=True)
_two = _flowers.target > 0
X = _flowers.data.loc[_two, ["petal length (cm)", "petal width (cm)"]]
y = _flowers.target_names[_flowers.target[_two]]
