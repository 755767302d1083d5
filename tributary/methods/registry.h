// All methods, by name.
//
// A method is a folder beside this file with a class that implements `Method`, usually a `LearnedMethod`, a function
// that describes it as a `MethodEntry`, and the name of that function in registry.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tributary/adapt/given_labels.h"
#include "tributary/methods/keep_rule.h"
#include "tributary/methods/learner.h"
#include "tributary/methods/method_options.h"

namespace tributary {

// Whether the sources were made for photographs, else for digits.
bool for_photographs(const Ensemble& ensemble);

// A variant of a method that sees the target's labels. It shows how well the method could do at best.
struct OracleEntry {
  std::string name;   // in run folders: "selective-oracle"
  std::string title;  // in reports
  std::string row;    // in tables of results
  std::function<std::unique_ptr<Method>(const MethodOptions&, const Labels&)> make;
};

// Makes a method that trains on labels that the user gave for some of the pictures.
using MakeWithLabels = std::function<std::unique_ptr<Method>(const MethodOptions&, const GivenLabels&)>;

struct MethodEntry {
  std::string name;     // on the command line
  std::string title;    // in reports
  std::string summary;  // one line
  // Declares the method's own options. They may be set until `make`.
  std::function<void(OptionTable&)> declare;
  // Makes the method. Unset common options take the method's defaults.
  std::function<std::unique_ptr<Method>(const MethodOptions&)> make;

  std::string row = {};  // in the paper's tables; empty: the title
  // The paper's own method: tables of ablations and sweeps vary it.
  bool is_own = false;
  // Whether the sources may know different classes (docs/method.md, Class sets).
  bool mixes_class_sets = false;
  // Of a method that takes sources that are only predictions (Ensemble::fixed): the flag of an option that excludes
  // them, as the options are set; empty if none does.
  std::function<std::string()> excludes_scores = {};
  // Options that set how long the method trains.
  std::vector<std::string> length_options = {"epochs"};
  // Common options (method_options.h) that have no effect on the method.
  std::vector<std::string> unused_options = {};
  // Applies the presets that the options name, to the method's own and the common options, before other values are
  // applied. May be empty.
  std::function<void(const OptionTable&, MethodOptions&)> apply_presets = {};
  // Resolves the method's own options after all values were applied. May be empty.
  std::function<void()> resolve = {};
  std::optional<OracleEntry> oracle = {};
  MakeWithLabels make_with_labels = {};  // may be empty
  // The keep rule of the resolved options, where the user leaves it to the method. Empty: KeepRule::kLast.
  std::function<KeepRule()> default_keep = {};
};

// In the order of the paper's tables, then those that it does not have, ours last. Each call makes entries with options
// of their own.
std::vector<MethodEntry> registered_methods();

// Adds a method for the rest of the process: `make` describes it, with new options at every call. It comes after the
// built-in ones. Throws an InputError if there is a method of this name. Thread-safe.
void register_method(std::function<MethodEntry()> make);

}  // namespace tributary
