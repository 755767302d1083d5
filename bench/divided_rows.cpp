// Measures what ranks save by keeping their own rows of the target set.
//
//   divided_rows PICTURES CLASSES SOURCES STEPS PROCESSES
//
// Generates logits and features, then computes domain weights, prototypes, scores and the selection of the more
// confident half: in one process, and on several with Gloo. Compares results and peak memory, and times the search of
// the highest 4 of 10 million scores. docs/scale.md: divided_rows 400000 345 3 100 4
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "tributary/adapt/aggregation.h"
#include "tributary/adapt/prototypes.h"
#include "tributary/adapt/selection.h"
#include "tributary/base/memory.h"
#include "tributary/checkpoint/checkpoint.h"
#include "tributary/comm/highest_rows.h"
#include "tributary/device/device.h"
#include "tributary/distributed/process_group.h"
#include "tributary/launch/launcher.h"
#include "tributary/model/mixture.h"

namespace {

using namespace tributary;

constexpr int64_t kFeatures = 64;

struct Plan {
  int64_t pictures, classes, sources, steps, processes;
  std::string folder;  // of the results
};

// A number in [0, 1) that depends on the four keys alone (SplitMix64).
float uniform(uint64_t what, uint64_t row, uint64_t column) {
  uint64_t x = (what * 0x9E3779B97F4A7C15U) ^ (row * 0xD1B54A32D192ED03U) ^ (column * 0x8CB92BA72F3D8DD7U);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return static_cast<float>((x ^ (x >> 31)) >> 40) / static_cast<float>(1 << 24);
}

// The class of a picture; source 0 is right most often.
int64_t truth(int64_t row, int64_t classes) {
  return static_cast<int64_t>(uniform(0, static_cast<uint64_t>(row), 0) * static_cast<float>(classes));
}

Tensor generated_logits(const Plan& plan, const Shard& own) {
  Tensor logits = torch::empty({plan.sources, own.count(), plan.classes});
  float* value = logits.data_ptr<float>();
  for (int64_t j = 0; j < plan.sources; ++j)
    for (int64_t i = own.begin; i < own.end; ++i) {
      const auto what = static_cast<uint64_t>(j + 1), row = static_cast<uint64_t>(i);
      for (int64_t k = 0; k < plan.classes; ++k) *value++ = 4 * uniform(what, row, static_cast<uint64_t>(k));
      if (uniform(100 + what, row, 0) < 0.8F / static_cast<float>(j + 1))
        *(value - plan.classes + truth(i, plan.classes)) += 6 * uniform(200 + what, row, 0);
    }
  return logits;
}

// A cluster for every class.
Tensor generated_features(const Plan& plan, int64_t source, const Shard& own) {
  Tensor features = torch::empty({own.count(), kFeatures});
  float* value = features.data_ptr<float>();
  const auto what = static_cast<uint64_t>(300 + source);
  for (int64_t i = own.begin; i < own.end; ++i) {
    const auto label = static_cast<uint64_t>(truth(i, plan.classes));
    for (uint64_t d = 0; d < kFeatures; ++d)
      *value++ = uniform(what, label + (uint64_t{1} << 40), d) + 0.5F * uniform(what, static_cast<uint64_t>(i), d);
  }
  return features;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Seconds to find the highest 4 of 10 million scores.
double search_seconds(Communicator& comm) {
  constexpr int64_t kScores = 10'000'000, kHighest = 4'000'000;
  const RowBlock rows(&comm, kScores);
  const Shard own = rows.shard(kScores);
  Tensor score = torch::empty({own.count()});
  for (int64_t i = own.begin; i < own.end; ++i)
    score.data_ptr<float>()[i - own.begin] = uniform(999, static_cast<uint64_t>(i), 0);
  comm.barrier();
  const auto start = std::chrono::steady_clock::now();
  const Tensor highest = highest_rows(score, kHighest, rows);
  const double seconds = seconds_since(start);
  if (highest.size(0) != kHighest) work_error("{} rows were found", highest.size(0));
  return seconds;
}

// The selected half by the mixture of these weights, and by prototypes if they are defined.
Selection selected_half(const Tensor& logits, const Tensor& weights, const Tensor& posteriors, const RowBlock& rows) {
  const Tensor mixture = combine(logits, weighted_mixture(weights, MixtureSpace::kLogits));
  const Tensor score =
      posteriors.defined() ? denoised_score(mixture, normalised_weights(weights), posteriors) : mixture;
  return select_confident(score, rows.total(score.size(0)) / 2, rows);
}

std::string result_file(const Plan& plan, int64_t processes) {
  return plan.folder + "/" + std::to_string(processes);
}

// What one rank does.
void work(const Plan& plan, const RankInfo& rank_info) {
  const torch::NoGradGuard no_grad;
  const auto start = std::chrono::steady_clock::now();
  set_threads(1);
  keep_freed_memory();
  const std::unique_ptr<ProcessGroup> comm = join(rank_info, torch::Device(torch::kCPU), {});
  const RowBlock rows(comm.get(), plan.pictures);
  const Shard own = rows.shard(plan.pictures);
  Checkpoint result;
  {
    const Tensor logits = generated_logits(plan, own);
    AggregationOptions options;
    options.steps = plan.steps;
    const auto weights_start = std::chrono::steady_clock::now();
    const Tensor first = initial_weights(plan.sources, WeightStart::kUniform, Random(0));
    const Tensor weights = optimise_weights(logits, first, options, {}, {}, {}, rows);
    result.facts()["weights_seconds"] = seconds_since(weights_start);
    Tensor given = weights;  // of one process
    if (comm->size() > 1) given = read_checkpoint(result_file(plan, 1)).at("weights");
    const Selection same = selected_half(logits, given, {}, rows);
    const Tensor posteriors = torch::empty_like(logits);
    for (int64_t j = 0; j < plan.sources; ++j) {
      const Tensor p = logits[j].softmax(-1);
      posteriors[j].copy_(refined_posterior(generated_features(plan, j, own), p.argmax(-1), p, {}, {}, {}, rows));
    }
    const Selection whole = selected_half(logits, weights, posteriors, rows);
    result.tensors = {
        {"weights", weights}, {"same.label", same.label}, {"same.confident", same.confident}, {"label", whole.label}};
  }
  const Tensor peaks = comm->all_gather(torch::tensor({peak_memory()}, torch::kInt64));
  result.facts()["seconds"] = seconds_since(start);
  result.facts()["peak"] = peaks.max().item<int64_t>();
  result.facts()["search_seconds"] = search_seconds(*comm);
  if (comm->first()) write_checkpoint(result_file(plan, comm->size()), result);
  comm->barrier();
}

void print_comparison(const Plan& plan) {
  const Checkpoint one = read_checkpoint(result_file(plan, 1)),
                   all = read_checkpoint(result_file(plan, plan.processes));
  for (const Checkpoint* result : {&one, &all})
    fmt::print("{} process{}: peak {:.2f} GiB per rank, {:.0f} s, {:.0f} s of them for the weights; search {:.2f} s\n",
               result == &one ? 1 : plan.processes, result == &one ? "" : "es", result->number("peak", 0) / (1 << 30),
               result->number("seconds", 0), result->number("weights_seconds", 0), result->number("search_seconds", 0));
  const auto different = [&](const char* name) { return (one.at(name) != all.at(name)).sum().item<int64_t>(); };
  const double distance = (one.at("weights") - all.at("weights")).abs().max().item<double>();
  fmt::print(
      "memory {:.3f} of one process; weights differ by {:.1e}; with the same weights {} labels and {} ranks of {} "
      "differ; with prototypes and own weights {} labels\n",
      all.number("peak", 0) / one.number("peak", 1), distance, different("same.label"), different("same.confident"),
      plan.pictures, different("label"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: divided_rows PICTURES CLASSES SOURCES STEPS PROCESSES\n";
    return 2;
  }
  try {
    Plan plan{std::stoll(argv[1]), std::stoll(argv[2]), std::stoll(argv[3]),
              std::stoll(argv[4]), std::stoll(argv[5]), {}};
    if (const RankInfo rank_info = read_rank_info(); rank_info.given) {
      plan.folder = own_environment("DIVIDED_ROWS").value();
      work(plan, rank_info);
      return 0;
    }
    plan.folder = std::filesystem::temp_directory_path() / ("divided-rows-" + std::to_string(getpid()));
    std::filesystem::create_directory(plan.folder);
    setenv("DIVIDED_ROWS", plan.folder.c_str(), 1);
    int code = 0;
    for (const int64_t processes : {int64_t{1}, plan.processes}) {
      Launch own = own_launch(processes);
      own.arguments.assign(argv, argv + argc);
      if (code == 0) code = launch(own);
    }
    if (code == 0) print_comparison(plan);
    std::filesystem::remove_all(plan.folder);
    return code;
  } catch (const std::exception& error) {
    std::cerr << "divided_rows: " << error.what() << '\n';
    return 1;
  }
}
