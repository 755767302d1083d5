"""An estimator for scikit-learn, which it does not need."""
import inspect

import numpy

from ._errors import InputError
from ._options import ADAPTATION
from ._run import adapt, as_array

try:
    from sklearn.exceptions import NotFittedError
except ImportError:
    class NotFittedError(ValueError, AttributeError):
        """predict was called before fit."""

_OPTIONS = [key for key in ADAPTATION if key != "test"]


class MultiSourceAdapter:
    """Adapts source models to unlabelled pictures: fit(X), predict(X), score(X, y).

    sources: as in tributary.adapt; run, progress and every option of it (help(tributary.adapt)) are parameters, too.
        None is the default.
    X: a path, or uint8 [n, height, width, 3].

    After fit: run_ (the Run), classes_ (integers if the class names are "0", "1", ..., else the names).
    """

    _estimator_type = "classifier"
    _PARAMETERS = ["sources", "run", "progress", *_OPTIONS]

    def __init__(self, sources=None, *, run=None, progress=False, **options):
        unknown = sorted(set(options) - set(_OPTIONS))
        if unknown:
            raise TypeError(f"MultiSourceAdapter has no parameter {unknown[0]}")
        self.sources = sources
        self.run = run
        self.progress = progress
        for key in _OPTIONS:
            setattr(self, key, options.get(key))

    def get_params(self, deep=True):
        """All parameters, by name."""
        return {name: getattr(self, name) for name in self._PARAMETERS}

    def set_params(self, **parameters):
        """Sets parameters and returns the estimator."""
        for name, value in parameters.items():
            if name not in self._PARAMETERS:
                raise InputError(f"MultiSourceAdapter has no parameter {name}")
            setattr(self, name, value)
        return self

    def fit(self, X, y=None):
        """Adapts the sources to X. Ignores y: adaptation never sees labels."""
        options = {key: getattr(self, key) for key in _OPTIONS if getattr(self, key) is not None}
        self.run_ = adapt(self.sources if self.sources is not None else [], X, run=self.run, progress=self.progress,
                          **options)
        names = self.run_.classes
        numbered = names == [str(number) for number in range(len(names))]
        self.classes_ = numpy.arange(len(names)) if numbered else numpy.asarray(names)
        return self

    def _fitted(self):
        if not hasattr(self, "run_"):
            raise NotFittedError("this MultiSourceAdapter is not fitted yet; call fit with the target's pictures")
        return self.run_

    def predict(self, X):
        """The class of every picture, of classes_."""
        run = self._fitted()
        return self.classes_[as_array(run.predict(X).labels)]

    def predict_proba(self, X):
        """The probabilities float32 [n, classes], in the order of classes_."""
        return as_array(self._fitted().predict(X).probabilities)

    def score(self, X, y):
        """The accuracy (0..1) of the predictions."""
        predicted, y = self.predict(X), numpy.asarray(y)
        if y.shape != predicted.shape:
            raise InputError(f"labels must be the classes of the pictures, [{len(predicted)}]; these are {list(y.shape)}")
        return float(numpy.mean(predicted == y))

    def __sklearn_tags__(self):
        """What scikit-learn 1.6 and later ask instead of _estimator_type."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags
        return Tags(estimator_type=self._estimator_type, target_tags=TargetTags(required=False), transformer_tags=None,
                    classifier_tags=ClassifierTags(), regressor_tags=None, input_tags=InputTags(two_d_array=False))

    def __sklearn_is_fitted__(self):
        return hasattr(self, "run_")

    def __repr__(self):
        given = [f"{name}={value!r}" for name, value in self.get_params().items()
                 if value is not None and (name, value) != ("progress", False)]
        return f"MultiSourceAdapter({', '.join(given)})"


_own = [p for p in inspect.signature(MultiSourceAdapter.__init__).parameters.values()
        if p.kind is not inspect.Parameter.VAR_KEYWORD]
MultiSourceAdapter.__init__.__signature__ = inspect.Signature(
    _own + [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None) for key in _OPTIONS])
