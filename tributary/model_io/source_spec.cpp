#include "tributary/model_io/source_spec.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "tributary/base/error.h"

namespace tributary {
namespace {

constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-";

// The position of '=' if `text` at `begin` starts with NAME=.
std::optional<size_t> equals_after_name(const std::string& text, size_t begin) {
  const size_t end = text.find_first_not_of(kNameCharacters, begin);
  if (end == begin || end == std::string::npos || text[end] != '=') return std::nullopt;
  return end;
}

// The first ':' that NAME= follows.
size_t end_of_path(const std::string& text) {
  for (size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', colon + 1))
    if (equals_after_name(text, colon + 1)) return colon;
  return std::string::npos;
}

// Pairs of "classes=a.txt,mean=0.5,0.5,0.5": a comma only separates options if NAME= follows it.
std::vector<std::pair<std::string, std::string>> pairs_of(const std::string& text, size_t begin) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (begin < text.size()) {
    const size_t equals = *equals_after_name(text, begin);
    size_t end = text.find(',', equals);
    while (end != std::string::npos && !equals_after_name(text, end + 1)) end = text.find(',', end + 1);
    end = std::min(end, text.size());
    pairs.emplace_back(text.substr(begin, equals - begin), text.substr(equals + 1, end - equals - 1));
    begin = end + 1;
  }
  return pairs;
}

// Throws an InputError if `text` is FILE:LIST or FILE,FILE, where FILE exists.
void refuse_misspelled(const std::string& text) {
  std::error_code error;
  const size_t end = text.find_first_of(":,");
  const std::string file = text.substr(0, end);
  if (end == std::string::npos || !std::filesystem::exists(file, error)) return;
  if (text[end] == ',') input_error("{}: no such file; separate sources by spaces", text);
  input_error("{}: no such file; options of a source follow it as in {}:classes={}", text, file, text.substr(end + 1));
}

}  // namespace

SourceSpec parse_source(const std::string& text, const ImportOptions& common) {
  if (text.empty()) input_error("the name of a model file is empty; name one");
  SourceSpec spec{text, "", common};
  std::error_code error;
  if (std::filesystem::exists(text, error)) return spec;
  const size_t colon = end_of_path(text);
  if (colon == std::string::npos) {
    refuse_misspelled(text);
    return spec;
  }
  spec.path = text.substr(0, colon);
  OptionTable table;
  declare(table, spec.options);
  table.text("", "name", &spec.name, "name of the source");
  const bool holds_scores = is_score_file(spec.path);
  if (holds_scores)
    table.choice(
        "", "scores", &spec.scores,
        {{"auto", ScoreKind::kAuto}, {"probabilities", ScoreKind::kProbabilities}, {"logits", ScoreKind::kLogits}},
        "what the scores are");
  for (auto& [name, value] : pairs_of(text, colon + 1)) {
    if (name == "classes") spec.own_classes = true;
    if (name != "name" && name != "trust" && name != "classes" && name != "scores") spec.describing = name;
    table.set_flag(text, name, std::move(value));
  }
  try {
    table.apply_flags();
  } catch (const InputError& bad) {
    input_error("{}: {}", text, bad.what());
  }
  // Sources may stand in a TOML file, which must not be able to run code.
  if (spec.options.trust && !common.trust && !common.trusts_specs)
    input_error("{}: trust cannot be set for a source; remove it, and give the flag --trust if you mean it", text);
  return spec;
}

}  // namespace tributary
