// The extension module tributary._core: the public C++ interface for the Python package beside it.
//
// Arrays are shared, not copied. Calls release Python's lock, and callbacks take it. The package (python/tributary/)
// adds what is Python's own: keywords, progress bars, the estimator.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/version.h>

#include <chrono>
#include <new>
#include <optional>
#include <stdexcept>

#include "tributary/api/plain_errors.h"
#include "tributary/data/digits/digits.h"
#include "tributary/tributary.h"

namespace py = pybind11;

namespace {

using tributary::Hooks;
using tributary::Model;
using tributary::Pictures;
using tributary::Predictions;
using tributary::Run;
using tributary::Settings;
using tributary::Tensor;

using NamedTexts = std::vector<std::pair<std::string, std::vector<std::string>>>;

Settings settings_of(const NamedTexts& texts) {
  Settings settings;
  for (const auto& [key, values] : texts) settings.emplace_back(key, values);
  return settings;
}

// Runs `work` without Python's lock. In Python's main thread, Ctrl-C interrupts it.
template <typename Work>
auto unlocked(bool is_main_thread, Work work) {
  const py::gil_scoped_release release;
  std::optional<tributary::InterruptScope> scope;
  if (is_main_thread) scope.emplace();
  return work();
}

// An object of Python that may be released by any thread.
std::shared_ptr<py::object> shared(py::object object) {
  return {new py::object(std::move(object)), [](py::object* held) {
            const py::gil_scoped_acquire lock;
            delete held;
          }};
}

Pictures pictures_of(const py::array& array) {
  std::string shape;
  for (py::ssize_t i = 0; i < array.ndim(); ++i) shape += (i > 0 ? ", " : "") + std::to_string(array.shape(i));
  if (!py::isinstance<py::array_t<uint8_t>>(array) || array.ndim() != 4 || array.shape(3) != 3)
    tributary::input_error("pictures in memory must be uint8 [n, height, width, 3]; these are {} [{}]",
                           py::str(array.dtype()).cast<std::string>(), shape);
  auto pixels = py::array_t<uint8_t, py::array::c_style>::ensure(array);  // copies only other layouts
  if (!pixels) throw py::error_already_set();
  const auto held = shared(pixels);
  return Pictures(std::shared_ptr<const uint8_t>(held, pixels.data()), array.shape(0), static_cast<int>(array.shape(1)),
                  static_cast<int>(array.shape(2)));
}

// The tensor as an array that shares its memory.
template <typename T>
py::array array_of(const Tensor& tensor) {
  auto* const held = new Tensor(tensor.contiguous());
  const py::capsule owner(held, [](void* pointer) { delete static_cast<Tensor*>(pointer); });
  return py::array_t<T>(std::vector<py::ssize_t>(held->sizes().begin(), held->sizes().end()), held->data_ptr<T>(),
                        owner);
}

// A path as Python has them: bytes that are not UTF-8 are surrogates.
py::object path_of(const std::string& path) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

// A message, in which bytes that are not UTF-8 appear as U+FFFD.
py::object message_of(const std::string& text) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

py::list skipped_of(const std::vector<tributary::SkippedPicture>& skipped) {
  py::list all;
  for (const auto& picture : skipped) all.append(py::make_tuple(path_of(picture.path), message_of(picture.reason)));
  return all;
}

py::dict dictionary(const Predictions& made) {
  py::dict all;
  py::list names;
  for (const std::string& name : made.names) names.append(path_of(name));
  all["names"] = names;
  all["skipped"] = skipped_of(made.skipped);
  all["labels"] = array_of<int64_t>(made.labels);
  all["probabilities"] = array_of<float>(made.probabilities);
  all["logits"] = array_of<float>(made.logits);
  return all;
}

py::dict dictionary(const tributary::Evaluation& made) {
  py::dict all;
  all["pictures"] = made.pictures;
  all["accuracy"] = made.accuracy;
  all["source_accuracies"] = made.source_accuracies;
  all["class_accuracies"] = made.class_accuracies;
  all["confusion"] = made.confusion;
  all["skipped"] = skipped_of(made.skipped);
  return all;
}

py::list dictionaries(const std::vector<tributary::OptionInfo>& options) {
  constexpr const char* kKinds[] = {"bool", "int", "float", "str", "list"};
  py::list all;
  for (const auto& option : options)
    all.append(py::dict(py::arg("key") = option.key, py::arg("help") = tributary::without_flags(option.help),
                        py::arg("kind") = kKinds[static_cast<int>(option.kind)], py::arg("default") = option.initial,
                        py::arg("allowed") = option.allowed, py::arg("choices") = option.choices,
                        py::arg("method") = option.method));
  return all;
}

// Calls a function of Python with (kind, value): at most ten times a second for steps, for all other news.
class Callback : public tributary::Observer, public tributary::RunListener {
 public:
  explicit Callback(py::object function) : function_(std::move(function)) {}

  void on_step(const tributary::StepEvent& event) override {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    call("step", [&] { return py::make_tuple(event.round, event.rounds, event.step, event.steps); });
  }
  void on_round(const tributary::RoundEvent& event) override {
    call("round", [&] { return py::make_tuple(event.round, event.rounds); });
  }
  void on_skipped(const std::vector<tributary::SkippedPicture>& skipped, int64_t) override {
    if (!skipped.empty()) call("skipped", [&] { return skipped_of(skipped); });
  }
  void on_resume(int64_t round) override {
    call("resume", [&] { return py::int_(round); });
  }
  void on_memory_retry(const tributary::PassMemory& memory) override {
    if (memory.micro_batch > 0)
      call("micro_batch", [&] { return py::int_(memory.micro_batch); });
    else
      call("recompute", [&] { return py::str(tributary::name_of(memory.recompute)); });
  }
  void on_warning(const std::string& message) override {
    call("warning", [&] { return message_of(message); });
  }

 private:
  template <typename Value>
  void call(const char* kind, Value value) {
    const py::gil_scoped_acquire lock;
    if (!function_.is_none()) function_(kind, value());
  }

  py::object function_;
  std::chrono::steady_clock::time_point next_;
};

// Raises the class of tributary._errors with this name.
void raise(const char* name, const char* what) {
  const py::object type = py::module_::import("tributary._errors").attr(name);
  PyErr_SetObject(type.ptr(), message_of(what).ptr());
}

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const tributary::Interrupted& interrupted) {
    PyErr_SetString(PyExc_KeyboardInterrupt, interrupted.what());
  } catch (const tributary::MissingFileError& error) {
    raise("MissingFileError", error.what());
  } catch (const tributary::InputError& error) {
    raise("InputError", error.what());
  } catch (const tributary::MemoryError& error) {
    raise("OutOfMemoryError", error.what());
  } catch (const tributary::WorkError& error) {
    raise("Error", error.what());
  } catch (const std::bad_alloc&) {
    raise("OutOfMemoryError", "out of memory; use fewer or smaller pictures");
  } catch (const std::length_error&) {  // more than can be addressed
    raise("OutOfMemoryError", "out of memory; use fewer or smaller pictures");
  }
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  py::register_exception_translator(translate);
  module.attr("version") = tributary::kVersion;
  module.attr("commit") = tributary::build_commit();
  module.attr("torch_version") = TORCH_VERSION;
  module.def("adaptation_options", [] { return dictionaries(tributary::adaptation_options()); });
  module.def("model_options", [] { return dictionaries(tributary::model_options()); });
  module.def("digits", [](const std::string& domain, int64_t count, uint64_t seed) {
    if (count < 1) tributary::input_error("there are no {} digits to draw; ask for at least one", count);
    tributary::LabelledImages made = tributary::make_digits(tributary::digit_domain(domain), count, seed);
    const auto& images = made.images;
    py::array_t<uint8_t> pixels({static_cast<py::ssize_t>(count), static_cast<py::ssize_t>(images.height),
                                 static_cast<py::ssize_t>(images.width), py::ssize_t{3}});
    std::copy(images.pixels.begin(), images.pixels.end(), pixels.mutable_data());
    return py::make_tuple(pixels, py::array_t<int64_t>(count, made.labels.values.data()));
  });

  py::class_<Pictures>(module, "Pictures")
      .def(py::init<std::string>())
      .def(py::init(&pictures_of))
      .def("with_labels", &Pictures::with_labels);

  py::class_<Model>(module, "Model")
      .def(py::init([](const std::vector<std::string>& sources, const NamedTexts& settings, bool is_main_thread) {
        return unlocked(is_main_thread, [&] { return Model(sources, settings_of(settings)); });
      }))
      .def_property_readonly("classes", &Model::classes)
      .def_property_readonly("sources", &Model::sources)
      .def_property_readonly("size", [](const Model& model) { return model.preprocessing().size; })
      .def_property_readonly("resize", [](const Model& model) { return model.preprocessing().resize; })
      .def("predict",
           [](const Model& model, const Pictures& pictures, bool is_main_thread) {
             return dictionary(unlocked(is_main_thread, [&] { return model.predict(pictures); }));
           })
      .def("evaluate",
           [](const Model& model, const Pictures& pictures, bool is_main_thread) {
             return dictionary(unlocked(is_main_thread, [&] { return model.evaluate(pictures); }));
           })
      .def("export", [](const Model& model, const std::string& format, const std::string& path) {
        const py::gil_scoped_release release;
        if (format == "onnx") return model.export_onnx(path);
        if (format == "torchscript") return model.export_torchscript(path);
        if (format == "safetensors") return model.export_safetensors(path);
        if (format == "state_dict") return model.export_state_dict(path);
        return model.export_card(path);
      });

  py::class_<Run>(module, "Run")
      .def(py::init(
          [](const std::string& folder, const NamedTexts& settings) { return Run(folder, settings_of(settings)); }))
      .def_property_readonly("folder", [](const Run& run) { return path_of(run.folder()); })
      .def_property_readonly("summary", &Run::summary)
      .def_property_readonly("rounds", &Run::rounds)
      .def_property_readonly("model", &Run::model)
      .def("report", [](const Run& run, const std::string& path, const Pictures* target, bool is_main_thread) {
        unlocked(is_main_thread, [&] { run.report(path, target); });
      });

  module.def("adapt", [](const std::vector<std::string>& sources, const Pictures& target, const std::string& folder,
                         const NamedTexts& settings, const Pictures* test, py::object function, bool is_main_thread) {
    Callback callback(std::move(function));
    return unlocked(is_main_thread, [&] {
      return tributary::adapt(sources, target, folder, settings_of(settings), Hooks{&callback, &callback, test});
    });
  });
}
