"""The contract of scikit-learn's estimators."""
import collections
import inspect
import pickle
import unittest
import unittest.mock
import warnings

import numpy
import torch
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.validation import check_is_fitted

import tributary
from fixtures import SHORT, Fixture


def setUpModule():
    global DATA, FITTED
    warnings.simplefilter("ignore", UserWarning)
    DATA = Fixture()
    FITTED = tributary.MultiSourceAdapter(DATA.sources, **SHORT).fit(DATA.pixels)


class Contract(unittest.TestCase):
    def test_init_sets_nothing_but_parameters(self):
        estimator = tributary.MultiSourceAdapter(DATA.sources, rounds=3)
        self.assertEqual(vars(estimator), estimator.get_params())
        self.assertIs(estimator.sources, DATA.sources)
        self.assertEqual(set(inspect.signature(tributary.MultiSourceAdapter).parameters), set(vars(estimator)))

    def test_get_and_set_parameters(self):
        estimator = tributary.MultiSourceAdapter()
        self.assertIs(estimator.set_params(rounds=4, method="selective"), estimator)
        self.assertEqual((estimator.get_params()["rounds"], estimator.method), (4, "selective"))
        self.assertEqual(repr(estimator), "MultiSourceAdapter(method='selective', rounds=4)")
        with self.assertRaises(ValueError):
            estimator.set_params(roundz=4)
        with self.assertRaises(TypeError):
            tributary.MultiSourceAdapter(roundz=4)

    def test_scikit_learn_sees_a_classifier(self):
        self.assertTrue(is_classifier(FITTED))
        check_is_fitted(FITTED)
        # From version 1.6 on, it asks for tags. These have the fields of its dataclasses.
        kinds = {"Tags": "estimator_type target_tags transformer_tags classifier_tags regressor_tags input_tags",
                 "TargetTags": "required", "ClassifierTags": "", "InputTags": "two_d_array"}
        made = {name: collections.namedtuple(name, fields) for name, fields in kinds.items()}
        with unittest.mock.patch.multiple("sklearn.utils", create=True, **made):
            tags = FITTED.__sklearn_tags__()
        self.assertEqual((tags.estimator_type, tags.target_tags.required), ("classifier", False))
        self.assertEqual((tags.classifier_tags, tags.regressor_tags, tags.input_tags.two_d_array), ((), None, False))

    def test_score_takes_one_label_per_picture(self):
        with self.assertRaisesRegex(ValueError, r"\[100\]; these are \[3\]"):
            FITTED.score(DATA.pixels, DATA.labels[:3])

    def test_clone(self):
        copy = clone(FITTED)
        self.assertEqual(copy.get_params(), FITTED.get_params())
        self.assertFalse(hasattr(copy, "run_"))

    def test_not_fitted(self):
        for method, arguments in (("predict", 1), ("predict_proba", 1), ("score", 2)):
            with self.assertRaises(NotFittedError):
                getattr(clone(FITTED), method)(*[DATA.pixels, DATA.labels][:arguments])

    def test_fit_ignores_labels_and_returns_itself(self):
        estimator = clone(FITTED)
        self.assertIs(estimator.fit(DATA.pixels, DATA.labels), estimator)
        self.assertTrue((estimator.predict_proba(DATA.pixels) == FITTED.predict_proba(DATA.pixels)).all())

    def test_predictions_are_classes(self):
        probabilities = FITTED.predict_proba(DATA.pixels)
        self.assertEqual(probabilities.shape, (100, 10))
        numpy.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
        predicted = FITTED.predict(DATA.pixels)
        self.assertTrue((predicted == FITTED.classes_[probabilities.argmax(1)]).all())
        tensors = torch.from_numpy(DATA.pixels)
        self.assertIsInstance(FITTED.predict_proba(tensors), numpy.ndarray)
        self.assertTrue((FITTED.predict(tensors) == predicted).all())
        self.assertAlmostEqual(FITTED.score(DATA.pixels, DATA.labels), (predicted == DATA.labels).mean())

    def test_pickle(self):
        again = pickle.loads(pickle.dumps(FITTED))
        self.assertTrue((again.predict(DATA.pixels) == FITTED.predict(DATA.pixels)).all())
        self.assertEqual(again.get_params(), FITTED.get_params())

    def test_grid_search_over_rounds(self):
        search = GridSearchCV(clone(FITTED), {"rounds": [1, 2]}, cv=2)
        search.fit(DATA.pixels, DATA.labels)
        self.assertIn(search.best_params_["rounds"], (1, 2))
        self.assertEqual(len(search.best_estimator_.run_.rounds), search.best_params_["rounds"] + 1)
        self.assertTrue(numpy.isfinite(search.cv_results_["mean_test_score"]).all())


if __name__ == "__main__":
    unittest.main()
