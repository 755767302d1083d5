#include "tributary/experiments/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_number.h"
#include "tributary/base/stopwatch.h"
#include "tributary/experiments/table_jobs.h"
#include "tributary/run/source_training_run.h"

namespace tributary {
namespace {

using Arguments = std::vector<std::string>;

const TableDomain& domain_named(const TableTask& task, const std::string& name) {
  for (const TableDomain& domain : task.domains)
    if (domain.name == name) return domain;
  input_error("this benchmark has no domain '{}'", name);
}

// Whether some target other than the domain itself is adapted to.
bool is_source(const TableTask& task, const TableDomain& domain) {
  return std::any_of(task.targets.begin(), task.targets.end(),
                     [&](const std::string& target) { return target != domain.name; });
}

int64_t most_seeds(const TableTask& task) {
  int64_t most = 0;
  for (const TableRow& row : task.rows) most = std::max(most, seeds_of(task, row));
  return most;
}

Arguments joined(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

StoredSource source_of(const TableTask& task, const TableDomain& domain, int64_t seed) {
  SourceRecipe recipe = task.recipe;
  recipe.insert(domain.recipe.begin(), domain.recipe.end());
  return stored_source(task.sources, domain.name, seed, std::move(recipe));
}

std::string run_folder(const TableTask& task, const TableRow& row, const std::string& target, int64_t seed) {
  return fmt::format("{}/runs/{}-{}-seed{}", task.out, row.key, target, seed);
}

Arguments training_of(const TableTask& task, const StoredSource& source) {
  const TableDomain& domain = domain_named(task, source.domain);
  Arguments own = {"train", "--data",    domain.train, "--name", domain.name, "--seed", std::to_string(source.seed),
                   "--out", source.model};
  if (domain.test != domain.train) own = joined(own, {"--validation", domain.test});
  return joined(joined(own, task.train_flags), task.common_flags);
}

// Flags joined to one text, without those that set how long a job runs: they do not change the memory it takes.
std::string lasting_flags(const Arguments& flags) {
  std::string text;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == "--epochs" || flags[i] == "--rounds" || flags[i] == "--inner-epochs")
      ++i;
    else
      text += (text.empty() ? "" : " ") + flags[i];
  }
  return text;
}

// The kinds of jobs that take the same amount of GPU memory (table_jobs.h).
std::string training_kind(const TableTask& task) {
  return "train " + lasting_flags(task.train_flags);
}

std::string adaptation_kind(const TableTask& task, const TableRow& row, const TableDomain& target) {
  const std::string preset = target.settings.substr(0, target.settings.find('/'));
  const Arguments flags = joined(row.flags, task.adapt_flags);
  return fmt::format("adapt {}{} --benchmark {}, {} sources: {}", lasting_flags(flags), row.oracle ? " (oracle)" : "",
                     preset.empty() ? "none" : preset, task.domains.size() - 1, lasting_flags(task.train_flags));
}

// The peak memory that a job reports; 0 if the job was short of memory, since others may take more. The last key is
// that of runs of 0.1.
int64_t gpu_peak_of(const nlohmann::json& summary) {
  const auto has = [&](const char* key) { return summary.contains(key); };
  if (!summary.is_object() || has("recompute") || has("micro_batch") || has("pictures_at_once")) return 0;
  return whole_number(summary, "gpu_peak_bytes", 0);
}

// The jobs of this machine.
std::vector<TableJob> own_jobs(const TableTask& task, const std::vector<TableJob>& all) {
  std::vector<TableJob> own;
  for (size_t i = 0; i < all.size(); ++i)
    if (static_cast<int64_t>(i) % task.machines == task.machine) own.push_back(all[i]);
  return own;
}

void train_sources(const TableTask& task, const TableCall& call, JobAdmission& admission, const TableProgress& progress,
                   TableResult& result) {
  make_folder(task.sources);
  std::vector<TableJob> jobs;
  for (const StoredSource& source : sources_of(task)) {
    ++(source.trained() ? result.found_sources : result.trained_sources);
    if (source.trained()) continue;
    jobs.push_back({fmt::format("source {}, seed {}", source.domain, source.seed), training_kind(task),
                    [&task, &call, source] {
                      TableJob::Result done;
                      const bool trained =
                          train_stored(source, [&] { done.gpu_peak = gpu_peak_of(call(training_of(task, source))); });
                      if (!trained) done.text = ": trained by another process";
                      return done;
                    },
                    [source](const std::string& why) { work_error("source {} failed: {}", source.domain, why); },
                    [file = training_memory_file(source.model)] { return gpu_peak_of_training(file); }});
  }
  task.barrier();  // every machine has listed the same jobs before the first is done
  run_jobs(own_jobs(task, jobs), task.jobs, admission, progress);
  task.barrier();
}

TableJob adaptation_job(const TableTask& task, const TableCall& call, const TableRow& row, const std::string& target,
                        int64_t seed, TableCell& cell) {
  TableJob job;
  job.what = fmt::format("{} on {}, seed {}", row.title, target, seed);
  job.kind = adaptation_kind(task, row, domain_named(task, target));
  job.work = [&task, &call, &row, target, seed, &cell]() -> TableJob::Result {
    const nlohmann::json summary = call(adaptation_arguments(task, row, target, seed));
    const nlohmann::json& accuracy = summary.at("accuracy");
    const auto index = static_cast<size_t>(seed);
    cell.last[index] = accuracy.at("last");
    cell.picked[index] = accuracy.at(accuracy.contains("kept") ? "kept" : "label_free").at("accuracy");
    cell.with_labels[index] = accuracy.at("best_with_labels");
    return {fmt::format(": {:.1f} %", cell.last[index]), gpu_peak_of(summary)};
  };
  job.failed = [&cell](const std::string& why) { cell.failure = why; };
  job.peak_so_far = [metrics = run_folder(task, row, target, seed) + "/metrics.jsonl"] {
    return gpu_peak_of_metrics(metrics);
  };
  return job;
}

// A task that only collects the results of finished jobs.
TableTask collecting(TableTask task) {
  task.machine = 0;
  task.machines = 1;
  task.barrier = [] {};
  task.restart = false;
  std::erase(task.common_flags, "--restart");
  return task;
}

}  // namespace

int64_t seeds_of(const TableTask& task, const TableRow& row) {
  return row.seeds > 0 ? row.seeds : task.seeds;
}

Arguments adaptation_arguments(const TableTask& task, const TableRow& row, const std::string& target, int64_t seed) {
  const TableDomain& domain = domain_named(task, target);
  const auto subset = task.subsets.find({target, seed});
  const bool whole = subset == task.subsets.end();
  const std::string& pictures = whole ? domain.train : subset->second;
  Arguments own = {"adapt",
                   "--target",
                   pictures,
                   "--test",
                   whole ? domain.test : pictures,
                   "--seed",
                   std::to_string(seed),
                   "--run",
                   run_folder(task, row, target, seed)};
  if (!domain.settings.empty()) own = joined(own, {"--benchmark", domain.settings});
  for (const TableDomain& source : task.domains)
    if (source.name != target) own = joined(own, {"--source", source_of(task, source, seed).model});
  if (row.oracle) own = joined(own, {"--oracle-labels", pictures});
  return joined(joined(joined(own, row.flags), task.adapt_flags), task.common_flags);
}

std::vector<StoredSource> sources_of(const TableTask& task) {
  std::vector<StoredSource> sources;
  for (int64_t seed = 0; seed < most_seeds(task); ++seed)
    for (const TableDomain& domain : task.domains)
      if (is_source(task, domain)) sources.push_back(source_of(task, domain, seed));
  return sources;
}

TableResult run_table(const TableTask& task, const TableCall& call, const TableProgress& progress) {
  const Stopwatch watch;
  for (const std::string& target : task.targets) domain_named(task, target);
  JobAdmission admission(task.jobs, task.gpu_memory, task.gpu_memory ? read_known_peaks(task.out) : KnownPeaks{});
  TableResult result;
  train_sources(task, call, admission, progress, result);
  std::vector<TableJob> jobs;
  for (const TableRow& row : task.rows)
    for (const std::string& target : task.targets) {
      TableCell& cell = result.cells[row.key][target];
      for (auto* figures : {&cell.last, &cell.picked, &cell.with_labels})
        figures->resize(static_cast<size_t>(seeds_of(task, row)));
      for (int64_t seed = 0; seed < seeds_of(task, row); ++seed)
        jobs.push_back(adaptation_job(task, call, row, target, seed, cell));
    }
  run_jobs(own_jobs(task, jobs), task.jobs, admission, progress);
  if (task.gpu_memory) write_known_peaks(task.out, admission.peaks());
  task.barrier();
  if (task.machines > 1 && task.machine == 0) {
    const auto [found, trained] = std::pair(result.found_sources, result.trained_sources);
    result = run_table(collecting(task), call, [](auto...) {});
    result.found_sources = found;
    result.trained_sources = trained;
  }
  for (auto& [row, cells] : result.cells)
    for (auto& [target, cell] : cells)
      if (!cell.failure.empty()) cell.last = cell.picked = cell.with_labels = {};
  std::vector<std::string> domains;
  for (const TableDomain& domain : task.domains) domains.push_back(domain.name);
  result.mixed = mixed_sources(task.out, domains);
  result.seconds = watch.seconds();
  return result;
}

}  // namespace tributary
