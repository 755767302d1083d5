// The paper's tables: sources trained, every row adapted to every target under every seed, one cell each.
//
// The work is done by the program itself, several processes side by side, each leaving a finished file or run folder
// behind. What is finished is not done again, so a table that was interrupted goes on where it stopped.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tributary {

struct TableDomain {
  std::string name, column;  // of files and folders; of the table
  std::string settings;      // of `adapt --benchmark`; empty: none
  std::string train, test;   // labelled pictures: what sources learn and targets adapt to, and what figures are of
};

// One way to adapt, a row of the table.
struct TableRow {
  std::string title;
  std::string key;                      // of its run folders
  std::vector<std::string> flags;       // of `tributary adapt`
  bool oracle = false;                  // is told the target's labels
  std::map<std::string, double> paper;  // the paper's figure by target, in percent
  int64_t seeds = 0;                    // 0: as many as the others
};

struct TableTask {
  std::string out;  // folder for models and runs
  std::vector<TableDomain> domains;
  std::vector<std::string> targets;  // names of domains
  std::vector<TableRow> rows;
  int64_t seeds = 1;     // of every row that does not say otherwise
  int jobs = 1;          // processes side by side
  bool restart = false;  // trains sources and adapts anew, whatever is there
  std::vector<std::string> train_flags, adapt_flags, common_flags;
  // Where several share the work in one folder: this does every `machines`-th job from number `machine` on, and waits
  // for the others with `barrier`. The first of them then collects what all have done.
  int64_t machine = 0, machines = 1;
  std::function<void()> barrier = [] {};
};

// The accuracies of a cell in percent, a seed each.
struct TableCell {
  std::vector<double> last;         // the result
  std::vector<double> picked;       // in the round that a label-free rule picks
  std::vector<double> with_labels;  // in the best round, which takes labels to find: not a result
  std::string failure;              // why there is none
};

struct TableResult {
  std::map<std::string, std::map<std::string, TableCell>> cells;  // by row's key and target
  double seconds = 0;
};

// Runs a command of the program and gives what it prints as JSON; throws where it fails.
using TableCall = std::function<nlohmann::json(const std::vector<std::string>& arguments)>;
// Hears of every job that is done.
using TableProgress = std::function<void(int64_t done, int64_t total, const std::string& what)>;

// The result is whole on the first machine only.
TableResult run_table(const TableTask& task, const TableCall& call, const TableProgress& progress);

enum class TableFigure { kLast, kPicked, kWithLabels };

// A cell as it is shown.
struct TableCellFigure {
  std::vector<double> percents;  // a seed each; empty where there is no figure
  std::string missing;           // what is shown in its place
  std::optional<double> paper;
};
// A row: its targets, and the mean over them.
std::vector<TableCellFigure> row_figures(const TableTask& task, const TableResult& result, const TableRow& row,
                                         TableFigure figure);
// Rows and targets with mean and deviation, the paper's figure in brackets, and the mean over the targets.
std::string table_text(const TableTask& task, const TableResult& result, TableFigure figure, bool markdown);
std::string table_csv(const TableTask& task, const TableResult& result);
nlohmann::json table_json(const TableTask& task, const TableResult& result);

}  // namespace tributary
