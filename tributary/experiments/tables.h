// Reproduces the paper's tables: trains the sources and adapts with every row's method to every target with every seed.
//
// Each job runs the program itself as a child process, several in parallel, and leaves a model file or run folder.
// Finished jobs are not repeated, so an interrupted table resumes where it stopped. Sources are shared between tables
// (source_store.h).
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tributary/experiments/source_store.h"

namespace tributary {

struct TableDomain {
  std::string name, column;  // in file names; in the table
  std::string settings;      // value of `adapt --benchmark`; empty: none
  std::string train, test;   // labelled pictures for training and adaptation, and for the reported accuracy
  SourceRecipe recipe = {};  // what the domain's source depends on beyond TableTask::recipe, as its pictures
};

// A row of the table: one method.
struct TableRow {
  std::string title;
  std::string key;                      // in the names of run folders
  std::vector<std::string> flags;       // of `tributary adapt`
  bool oracle = false;                  // uses the target's labels
  std::map<std::string, double> paper;  // the paper's accuracy per target, in percent
  int64_t seeds = 0;                    // 0: TableTask::seeds
};

struct TableTask {
  std::string out;      // folder of the runs
  std::string sources;  // store of the trained sources
  SourceRecipe recipe;  // what all sources depend on beyond domain and seed
  std::vector<TableDomain> domains;
  std::vector<std::string> targets;  // names of domains
  // Pictures of a target, by name and seed, that take the place of its training and test pictures.
  std::map<std::pair<std::string, int64_t>, std::string> subsets;
  std::vector<TableRow> rows;
  int64_t seeds = 1;                  // per row, unless it sets its own
  int jobs = 1;                       // parallel processes
  std::optional<int64_t> gpu_memory;  // free bytes before the first job; nothing on a CPU
  bool restart = false;               // repeat finished adaptations; sources are shared, so they are never repeated
  std::vector<std::string> train_flags, adapt_flags, common_flags;
  // If several machines share the work in one folder, this one does every `machines`-th job, starting at `machine`, and
  // waits for the others with `barrier`. Machine 0 then collects the results.
  int64_t machine = 0, machines = 1;
  std::function<void()> barrier = [] {};
};

// Accuracies of a cell in percent, one per seed.
struct TableCell {
  std::vector<double> last;         // after the last round: the result
  std::vector<double> picked;       // in the round that a label-free rule picks
  std::vector<double> with_labels;  // in the best round, which needs labels to find: not a result
  std::string failure;              // error message if a job failed
};

struct TableResult {
  std::map<std::string, std::map<std::string, TableCell>> cells;  // by row key and target
  double seconds = 0;
  int64_t found_sources = 0, trained_sources = 0;
  std::vector<MixedSources> mixed;  // if runs in the table's folder start from different sources
};

// The sources that the targets of a table need: of seed 0 in the order of the domains, then of seed 1 and so on.
std::vector<StoredSource> sources_of(const TableTask& task);

// The number of seeds of a row.
int64_t seeds_of(const TableTask& task, const TableRow& row);
// The arguments of the adaptation of a row.
std::vector<std::string> adaptation_arguments(const TableTask& task, const TableRow& row, const std::string& target,
                                              int64_t seed);

// Runs a command of the program and returns its JSON output; throws if it fails.
using TableCall = std::function<nlohmann::json(const std::vector<std::string>& arguments)>;
// Called after every job.
using TableProgress = std::function<void(int64_t done, int64_t total, const std::string& what)>;

// The result is complete on machine 0 only.
TableResult run_table(const TableTask& task, const TableCall& call, const TableProgress& progress);

enum class TableFigure { kLast, kPicked, kWithLabels };

// A cell as displayed.
struct TableCellFigure {
  std::vector<double> percents;  // one per seed; empty if there is no result
  std::string missing;           // shown instead of a missing result
  std::optional<double> paper;
};
// The cells of a row: one per target, and the mean over them.
std::vector<TableCellFigure> row_figures(const TableTask& task, const TableResult& result, const TableRow& row,
                                         TableFigure figure);
// Whether the table shows figures of the paper.
bool has_paper_figures(const TableTask& task);
// What a reader must know to compare the figures: how the paper's were chosen, and rows from different sources.
std::vector<std::string> table_notes(const TableTask& task, const TableResult& result);
// A table of mean and standard deviation per row and target, with the paper's value in brackets.
std::string table_text(const TableTask& task, const TableResult& result, TableFigure figure, bool markdown);
std::string table_csv(const TableTask& task, const TableResult& result);
nlohmann::json table_json(const TableTask& task, const TableResult& result);

}  // namespace tributary
