"""Compares an embedding by Tributary with scikit-learn's of the same features and initial points.

    /usr/bin/python3 tests/embedding/tsne_reference.py DUMP.safetensors

The descent is chaotic, so embeddings cannot be compared point by point. Compared are the divergence they reach and how
many nearest neighbours of the features are neighbours in the plane. The divergence is recomputed in double precision over
all pairs, from scikit-learn's own affinities.
"""
import argparse
import json
import os
import sys

import numpy as np
from sklearn.manifold import TSNE, trustworthiness
from sklearn.manifold._t_sne import _joint_probabilities_nn
from sklearn.neighbors import NearestNeighbors

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "parity"))

from tensor_file import read  # noqa: E402


def neighbours(points, count):
    """The set of nearest neighbours of every point."""
    found = NearestNeighbors(n_neighbors=count).fit(points).kneighbors(return_distance=False)
    return [set(row) for row in found]


def preserved(features, embedding, count=10):
    """Fraction of nearest neighbours that an embedding preserves."""
    pairs = zip(neighbours(features, count), neighbours(embedding, count))
    return np.mean([len(before & after) / count for before, after in pairs])


def divergence(features, embedding, perplexity):
    """KL(p || q) with scikit-learn's p and q over all pairs."""
    count = min(len(features) - 1, int(3 * perplexity + 1))
    graph = NearestNeighbors(n_neighbors=count).fit(features).kneighbors_graph(mode="distance")
    graph.data **= 2
    p = _joint_probabilities_nn(graph, perplexity, verbose=0).toarray().astype(np.float64)
    y = embedding.astype(np.float64)
    w = 1 / (1 + ((y[:, None] - y[None]) ** 2).sum(-1))
    np.fill_diagonal(w, 0)
    q = w / w.sum()
    nonzero = p > 0
    return (p[nonzero] * np.log(p[nonzero] / q[nonzero])).sum()


def main(path):
    dump, metadata = read(path)
    config = json.loads(metadata["config"])
    features, ours = dump["features"].numpy(), dump["embedding"].numpy()
    perplexity = config["perplexity"]
    model = TSNE(perplexity=perplexity, n_iter=config["iterations"], init=dump["start"].numpy(), learning_rate="auto",
                 method="barnes_hut", random_state=0)
    theirs = model.fit_transform(features)

    failures = []

    def compare(what, our_value, their_value, allowed):
        print(f"{what:<36} ours {our_value:.4f}   scikit-learn's {their_value:.4f}")
        if not allowed:
            failures.append(what)

    exact = divergence(features, ours, perplexity)
    compare("divergence", exact, divergence(features, theirs, perplexity),
            exact <= 1.03 * divergence(features, theirs, perplexity))
    compare("divergence as reported", config["divergence"], model.kl_divergence_,
            abs(config["divergence"] - exact) <= 0.01 * exact)
    for what, quality in (("10 nearest neighbours preserved", preserved), ("trustworthiness", trustworthiness)):
        a, b = (quality(features, embedding) for embedding in (ours, theirs))
        compare(what, a, b, a >= b - 0.01)
    for what in failures:
        print(f"FAIL {what}")
    return 1 if failures else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="compares a dumped embedding with scikit-learn's")
    parser.add_argument("dump")
    sys.exit(main(parser.parse_args().dump))
