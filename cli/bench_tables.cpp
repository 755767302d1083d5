#include "cli/bench_tables.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/table_check.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/folder_lock.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/process.h"
#include "tributary/base/staged_folder.h"
#include "tributary/base/text.h"
#include "tributary/benchmarks/catalogue.h"
#include "tributary/experiments/skewed_target.h"
#include "tributary/experiments/table_page.h"
#include "tributary/experiments/tables.h"
#include "tributary/methods/method_choice.h"
#include "tributary/report/report_page.h"
#include "tributary/terminal/progress.h"
#include "tributary/train/source_training.h"

namespace tributary::cli {
namespace {

// Raise it when source training gives other results with the same options, so that older sources are not taken.
constexpr const char* kSourceFormat = "2";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

// The last line that a program printed to standard error.
std::string complaint_of(const Finished& finished) {
  const size_t end = finished.err.find_last_not_of('\n');
  if (end == std::string::npos) return fmt::format("exited with code {}", finished.code);
  const size_t begin = finished.err.find_last_of('\n', end);
  return finished.err.substr(begin + 1, end - begin);
}

nlohmann::json call_program(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {own_program()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.push_back("--json");
  check_interrupt();
  const Finished finished = run_process(command);
  check_interrupt();
  if (finished.code == kMemoryError) throw MemoryError(complaint_of(finished));
  if (finished.code != 0) throw WorkError(complaint_of(finished));
  return nlohmann::json::parse(finished.out);
}

void draw_digits(const std::string& folder, int64_t pictures) {
  namespace fs = std::filesystem;
  if (fs::exists(folder)) return;
  // Another start of the same table may draw them now.
  const FolderLock lock(fs::absolute(folder).parent_path().string(), std::chrono::minutes(10));
  if (fs::exists(folder)) return;
  StagedFolder staged(folder);
  const std::string count = std::to_string(pictures);
  const Finished made = run_process(
      {own_program(), "data", "make", "digits", staged.path(), "--pictures", count, "--test-pictures", count});
  check_interrupt();
  if (made.code != 0) work_error("cannot generate the digits: {}", made.err);
  staged.commit({});
}

// Only in the folders that tables write to: OUT may hold much else.
void remove_leftovers_of_table(const std::string& out) {
  remove_leftovers(out);
  for (const char* written : {"/runs", "/skewed", "/sources"}) remove_leftovers_below(out + written);
}

std::map<std::string, double> paper_of(const Benchmark& benchmark, const std::vector<PaperRow>& rows,
                                       const std::string& key) {
  std::map<std::string, double> figures;
  for (const Domain& domain : benchmark.domains)
    if (const auto figure = paper_accuracy(benchmark, rows, key, domain.name)) figures[domain.name] = *figure;
  return figures;
}

void add_number(std::vector<std::string>& flags, const std::string& flag, int64_t value) {
  if (value > 0) flags.insert(flags.end(), {flag, std::to_string(value)});
}

// The flags that choose a method and set how long it trains.
std::vector<std::string> method_flags(const MethodEntry& entry, const BenchTableOptions& options) {
  std::vector<std::string> flags = {"--method", entry.name};
  for (const std::string& option : entry.length_options) {
    if (option == "rounds") add_number(flags, "--rounds", options.rounds);
    if (option == "inner_epochs") add_number(flags, "--inner-epochs", options.inner_epochs);
    if (option == "epochs") add_number(flags, "--epochs", options.epochs);
  }
  return flags;
}

// The name of a row. "Ours" only makes sense beside the paper's figures.
std::string row_title(const Benchmark& benchmark, const std::string& title, const std::string& row) {
  return row.empty() || benchmark.methods.empty() ? title : row;
}

// The paper's own method without our ingredients, which the paper's figures belong to.
TableRow published_row(TableRow row) {
  row.title += ", as published";
  row.key += "-published";
  row.flags.insert(row.flags.end(), {"--variant", "recommended"});
  return row;
}

// Every method in the order of the paper's tables, the own one also as published, followed by its oracle if it has one.
std::vector<TableRow> all_methods(const Benchmark& benchmark, const BenchTableOptions& options) {
  std::vector<TableRow> all;
  for (const MethodEntry& entry : registered_methods()) {
    const std::vector<std::string> flags = method_flags(entry, options);
    const std::map<std::string, double> paper = paper_of(benchmark, benchmark.methods, entry.name);
    const std::string title = row_title(benchmark, entry.title, entry.row);
    if (entry.is_own) all.push_back(published_row({title, entry.name, flags, false, paper}));
    all.push_back({title, entry.name, flags, false, entry.is_own ? std::map<std::string, double>() : paper});
    if (!entry.oracle) continue;
    all.push_back({row_title(benchmark, entry.oracle->title, entry.oracle->row), entry.oracle->name, flags, true,
                   paper_of(benchmark, benchmark.methods, entry.oracle->name)});
  }
  return all;
}

auto find_row(std::vector<TableRow>& rows, const std::string& key) {
  return std::find_if(rows.begin(), rows.end(), [&](const TableRow& row) { return row.key == key; });
}

// The 1 of "ma:1"; 0 if there is none.
int64_t seeds_after(const std::string& word, size_t colon) {
  if (colon == std::string::npos) return 0;
  const std::string digits = word.substr(colon + 1);
  if (digits.empty() || digits.size() > 3 || digits.find_first_not_of("0123456789") != std::string::npos)
    input_error("--methods {}: write a number of seeds after the colon, as in ma:1", printable(word));
  return std::stoll(digits);
}

// The rows of "all", "shot,selective" or "all,ma:1". A method that is named again gets its own number of seeds.
std::vector<TableRow> method_rows(const Benchmark& benchmark, const BenchTableOptions& options) {
  std::vector<TableRow> all = all_methods(benchmark, options), rows;
  for (const std::string& word : split(options.methods)) {
    if (word == "all") {
      rows = all;
      continue;
    }
    const size_t colon = word.find(':');
    const auto known = find_row(all, word.substr(0, colon));
    if (known == all.end()) {
      std::string names = "all";
      for (const TableRow& row : all) names += ", " + row.key;
      input_error("--methods {}: choose among {}", printable(word), names);
    }
    if (find_row(rows, known->key) == rows.end()) rows.push_back(*known);
    find_row(rows, known->key)->seeds = seeds_after(word, colon);
  }
  return rows;
}

// The row of the paper's own method.
TableRow own_row(const Benchmark& benchmark, const BenchTableOptions& options) {
  std::vector<TableRow> all = all_methods(benchmark, options);
  for (const MethodEntry& entry : registered_methods())
    if (entry.is_own) return *find_row(all, entry.name);
  input_error("no registered method has ablations");
}

// The same method with further flags.
TableRow changed(TableRow row, const std::string& title, const std::string& suffix,
                 const std::vector<std::string>& flags, std::map<std::string, double> paper) {
  row.title = title;
  row.key += suffix;
  row.flags.insert(row.flags.end(), flags.begin(), flags.end());
  row.paper = std::move(paper);
  return row;
}

// An ingredient of our variant (docs/method.md, Our variant): key of the row, title, flags.
using Ingredient = std::tuple<std::string, std::string, std::vector<std::string>>;

std::vector<Ingredient> without_ingredient() {
  return {{"augmentation", "w/o strong augmentation", {"--augment", "standard"}},
          {"cross-entropy", "lambda_ce = 0.2", {"--lambda-ce", "0.2"}},
          {"statistics", "w/o target statistics", {"--target-statistics", "0"}},
          {"class-cap", "w/o class cap", {"--class-cap", "0", "--no-leave-dominated"}},
          {"prior", "w/o class prior of skewed targets", {"--class-prior", "uniform"}}};
}

std::vector<Ingredient> with_ingredient() {
  return {{"augmentation", "as published + strong augmentation", {"--augment", "strong"}},
          {"cross-entropy", "as published + lambda_ce = 1", {"--lambda-ce", "1"}},
          {"statistics", "as published + target statistics", {"--target-statistics", "2"}},
          {"class-cap", "as published + class cap", {"--class-cap", "1.5"}},
          {"unit-score", "as published + unit score", {"--score-scale", "unit"}},
          {"prior", "as published + class prior", {"--class-prior", "auto"}},
          {"neighbours", "as published + neighbours", {"--neighbours", "5"}},
          {"label-balance", "as published + label balance", {"--label-balance", "1"}},
          {"per-class", "as published + selection per class", {"--per-class"}},
          {"sample-weights", "as published + sample weights", {"--sample-weights"}},
          {"memory", "as published + score memory", {"--score-memory", "0.5"}},
          {"share", "as published + final share 0.9", {"--final-share", "0.9"}},
          {"round-statistics", "as published + statistics per round", {"--round-statistics", "2"}},
          {"model-average", "as published + model average", {"--model-average", "0.5"}},
          {"cross-labels", "as published + cross-source labels", {"--cross-labels"}},
          {"agreement-start", "as published + first weights by agreement", {"--weight-start", "agreement"}}};
}

// Rows without one part each, and the published variant with one ingredient each.
std::vector<TableRow> ablation_rows(const Benchmark& benchmark, const BenchTableOptions& options) {
  const TableRow own = own_row(benchmark, options), published = published_row(own);
  std::vector<TableRow> rows = {own, published};
  for (const auto& [row, title, part] :
       {std::tuple("weights", "w/o domain weights", "weights"), std::tuple("denoise", "w/o denoising", "denoise"),
        std::tuple("information", "information of all data", "information-all"),
        std::tuple("alignment", "w/o alignment", "alignment"), std::tuple("mixup", "w/o mixup", "mixup")}) {
    rows.push_back(changed(own, title, std::string("-without-") + row, {"--ablations", part}, {}));
    rows.push_back(changed(published, std::string(title) + ", as published", std::string("-without-") + row,
                           {"--ablations", part}, paper_of(benchmark, benchmark.ablations, row)));
  }
  for (const auto& [key, title, flags] : without_ingredient())
    rows.push_back(changed(own, title, "-without-" + key, flags, {}));
  for (const auto& [key, title, flags] : with_ingredient())
    rows.push_back(changed(published, title, "-with-" + key, flags, {}));
  return rows;
}

// One row per value of "lambda_alpha=0.5,0.7".
std::vector<TableRow> sweep_rows(const Benchmark& benchmark, const BenchTableOptions& options) {
  const std::string& sweep = options.sweep;
  const size_t equals = sweep.find('=');
  if (equals == std::string::npos || split(sweep.substr(equals + 1)).empty())
    input_error("--sweep {}: write OPTION=VALUE,VALUE,…, as in lambda_alpha=0.5,0.7,1.0", printable(sweep));
  std::string flag = sweep.substr(0, equals);
  const std::string title = flag;
  std::replace(flag.begin(), flag.end(), '_', '-');
  std::vector<TableRow> rows;
  for (const std::string& value : split(sweep.substr(equals + 1))) {
    rows.push_back(changed(
        own_row(benchmark, options), title + " = " + value, "-" + flag + "-" + value,
        flags_of_option(title, value, "--sweep " + printable(sweep)),
        title == "lambda_alpha" ? paper_of(benchmark, benchmark.sensitivity, value) : std::map<std::string, double>{}));
  }
  return rows;
}

// Adds the options of "bait_rate=1e-4,cuda_graph=false" to the rows whose method uses them.
void set_options(const std::string& set, std::vector<TableRow>& rows) {
  OptionTable table;
  MethodChoice methods;
  methods.declare(table);
  for (const std::string& word : split(set)) {
    const size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == word.size())
      input_error("--set {}: write OPTION=VALUE,OPTION=VALUE,…, as in bait_rate=1e-4", printable(word));
    std::string key = word.substr(0, equals);
    std::replace(key.begin(), key.end(), '-', '_');
    const std::vector<std::string> flags = flags_of_option(key, word.substr(equals + 1), "--set " + printable(word));
    const std::vector<std::string> users = methods.users_of(key);
    bool used = false;
    for (TableRow& row : rows) {
      const std::string& method = row.flags.at(1);  // method_flags() begins with --method NAME
      if (std::find(users.begin(), users.end(), method) == users.end()) continue;
      used = true;
      const bool has = std::search(row.flags.begin(), row.flags.end(), flags.begin(), flags.end()) != row.flags.end();
      if (!has) row.flags.insert(row.flags.end(), flags.begin(), flags.end());
    }
    if (!used)
      input_error("--set {}: no method of this table uses it; {} would", printable(word), fmt::join(users, ", "));
  }
}

std::vector<TableDomain> located(const Benchmark& benchmark, const std::string& root) {
  std::vector<TableDomain> domains;
  for (const Domain& domain : benchmark.domains) {
    const DomainData data = locate(benchmark, domain, root);
    if (!data.missing.empty())
      input_error("{} is not complete in {}: {}; see: tributary data check {} {}", benchmark.name, root, data.missing,
                  benchmark.name, root);
    SourceRecipe recipe = {{"data", data_digest(data.train)}};
    if (data.test != data.train) recipe["validation"] = data_digest(data.test);
    domains.push_back({domain.name, domain.column, domain.settings, data.train, data.test, std::move(recipe)});
  }
  return domains;
}

// The skew of --skew; nothing if it is not given.
std::optional<Skew> skew_of(const std::string& name) {
  if (name.empty()) return {};
  if (name == "one-class") return Skew::kOneClass;
  if (name == "long-tail") return Skew::kLongTail;
  input_error("--skew {}: choose one-class or long-tail", printable(name));
}

// Draws a skewed subset of every target for every seed.
void draw_subsets(Skew skew, const std::string& name, TableTask& task) {
  for (const TableDomain& domain : task.domains) {
    if (std::find(task.targets.begin(), task.targets.end(), domain.name) == task.targets.end()) continue;
    int64_t seeds = task.seeds;
    for (const TableRow& row : task.rows) seeds = std::max(seeds, row.seeds);
    for (int64_t seed = 0; seed < seeds; ++seed)
      task.subsets[{domain.name, seed}] =
          write_skewed(domain.train, skew, static_cast<uint64_t>(seed),
                       fmt::format("{}/skewed/{}-{}-seed{}", task.out, domain.name, name, seed));
  }
}

std::vector<TableRow> rows_of(const Benchmark& benchmark, const BenchTableOptions& options) {
  if (options.ablation_rows) return ablation_rows(benchmark, options);
  return options.sweep.empty() ? method_rows(benchmark, options) : sweep_rows(benchmark, options);
}

std::vector<std::string> targets_of(const Benchmark& benchmark, const std::string& chosen) {
  std::vector<std::string> targets;
  if (chosen == "all")
    for (const Domain& domain : benchmark.domains) targets.push_back(domain.name);
  else
    for (const std::string& name : split(chosen)) targets.push_back(domain_named(benchmark, name).name);
  return targets;
}

// How the sources are trained, and what they depend on.
void plan_sources(const Benchmark& benchmark, const BenchTableOptions& options, const CommonOptions& common,
                  const SharedFlags& shared, TableTask& task) {
  SourceTrainingOptions training;
  if (!benchmark.has_test_part) training.batch = 32;
  if (options.source_epochs > 0) training.epochs = options.source_epochs;
  const std::string architecture = shared.architecture.empty() ? benchmark.architecture : shared.architecture;
  const bool gpu = common.device == DeviceChoice::kCuda;
  training.deterministic = gpu;  // a table that is continued on another day then starts from the same sources
  if (options.init.empty())
    task.train_flags = {"--architecture", architecture};
  else
    task.train_flags = {"--init", options.init};
  add_number(task.train_flags, "--batch", training.batch);
  add_number(task.train_flags, "--epochs", training.epochs);
  if (training.deterministic) task.train_flags.push_back("--deterministic");

  OptionTable table;
  tributary::declare(table, training);
  task.recipe = {{"format", kSourceFormat},
                 {"benchmark", benchmark.name},
                 {"options", table.to_toml()},
                 {"device", gpu ? "cuda" : "cpu"}};
  if (options.init.empty())
    task.recipe["architecture"] = architecture;
  else
    task.recipe["init"] = file_digest(options.init);
  if (!gpu) task.recipe["threads"] = std::to_string(common.threads);  // they change the order of summation
}

// The whole task except for the location of the pictures.
TableTask plan(const Benchmark& benchmark, const BenchTableOptions& options, const CommonOptions& common,
               const SharedFlags& shared) {
  TableTask task;
  task.targets = targets_of(benchmark, options.targets);
  task.rows = rows_of(benchmark, options);
  task.seeds = options.seeds;
  task.jobs = static_cast<int>(options.jobs);
  task.gpu_memory = shared.gpu_memory;
  plan_sources(benchmark, options, common, shared, task);
  set_options(options.set, task.rows);
  task.adapt_flags = {"--no-history"};
  if (!shared.precision.empty()) task.adapt_flags.insert(task.adapt_flags.end(), {"--precision", shared.precision});
  task.common_flags = {"--threads",    std::to_string(common.threads),
                       "--device",     common.device == DeviceChoice::kCuda ? "cuda" : "cpu",
                       "--save-every", fmt::format("{}", options.checkpoints.every)};
  task.restart = options.checkpoints.restart;
  if (task.restart) task.common_flags.push_back("--restart");
  for (const Domain& domain : benchmark.domains)
    task.domains.push_back({domain.name, domain.column, domain.settings, domain.name, domain.name});
  require_valid_adaptations(task);
  return task;
}

std::vector<std::pair<std::string, TableFigure>> titled_tables(const TableTask& task) {
  const std::string brackets = has_paper_figures(task) ? " (in brackets the paper's)" : "";
  return {{"accuracy in the last round, or in the kept one, %" + brackets, TableFigure::kLast},
          {"in the round picked without labels", TableFigure::kPicked},
          {"in the best round, picked with labels: not a result", TableFigure::kWithLabels}};
}

std::string notes_text(const TableTask& task, const TableResult& result) {
  std::string text;
  for (const std::string& note : table_notes(task, result)) text += note + "\n";
  return text;
}

void show(const TableTask& task, const TableResult& result, bool markdown) {
  for (const auto& [title, figure] : titled_tables(task))
    print(fmt::format("{}\n\n{}\n", title, table_text(task, result, figure, markdown)));
  if (const std::string notes = notes_text(task, result); !notes.empty()) print(notes + "\n");
  print(fmt::format("{}; {}/table.md, table.csv, table.json, report.html\n", duration(result.seconds),
                    safe_line(task.out)));
}

// One line that says which sources exist already.
std::string sources_line(const TableTask& task) {
  const std::vector<StoredSource> sources = sources_of(task);
  const auto found = std::count_if(sources.begin(), sources.end(), [](const auto& source) { return source.trained(); });
  return fmt::format("sources: {} of {} found in {}{}", found, sources.size(), task.sources,
                     found == static_cast<int64_t>(sources.size()) ? "" : ", the others are trained");
}

// Links OUT/sources/DOMAIN-seedN.safetensors to the sources of this table. A file of an earlier version stays.
void link_sources(const TableTask& task) {
  namespace fs = std::filesystem;
  std::error_code ignored;  // links are a convenience
  fs::create_directories(task.out + "/sources", ignored);
  for (const StoredSource& source : sources_of(task)) {
    const fs::path link = fmt::format("{}/sources/{}-seed{}.safetensors", task.out, source.domain, source.seed);
    if (!source.trained() || (fs::exists(link, ignored) && !fs::is_symlink(link, ignored))) continue;
    const fs::path near = fs::relative(source.model, link.parent_path(), ignored);
    const fs::path target = near.empty() ? fs::absolute(source.model) : near;
    if (fs::read_symlink(link, ignored) == target) continue;
    fs::remove(link, ignored);
    fs::create_symlink(target, link, ignored);
  }
}

}  // namespace

void declare(OptionTable& table, BenchTableOptions& options) {
  const std::string section = "table";
  table.text(section, "data", &options.data, "folder of the benchmark's data; see tributary data check")
      .metavar("FOLDER");
  table.text(section, "out", &options.out, "folder of the runs and tables; by default bench/NAME")
      .metavar("FOLDER")
      .transient();
  table
      .text(section, "source_store", &options.source_store,
            "folder of trained sources, which tables with the same source training share; by default OUT/sources")
      .metavar("FOLDER")
      .transient();
  table
      .text(section, "methods", &options.methods,
            "rows: all, or method names joined by commas; ma:1 runs one seed only")
      .metavar("NAMES");
  table.text(section, "targets", &options.targets, "columns: all, or domain names joined by commas").metavar("NAMES");
  table.integer(section, "seeds", &options.seeds, 1, 1000,
                "repetitions; the tables then show means and standard deviations");
  table.integer(section, "jobs", &options.jobs, 1, 256,
                "runs at the same time; on a GPU only as many as fit into its memory");
  table.integer(section, "source_epochs", &options.source_epochs, 0, 100000,
                "epochs of source training; 0 takes the default of tributary train");
  table.integer(section, "rounds", &options.rounds, 0, 10000, "rounds of selective; 0 takes those of the variant");
  table.integer(section, "inner_epochs", &options.inner_epochs, 0, 10000,
                "inner epochs of selective; 0 takes those of the variant");
  table.integer(section, "epochs", &options.epochs, 0, 100000,
                "epochs of the other methods; 0 takes each method's default");
  table.text(section, "init", &options.init, "initial weights of the sources' backbones, as from ImageNet")
      .metavar("FILE");
  table.flag(section, "ablations", &options.ablation_rows, "run the paper's ablations instead of methods");
  table
      .text(section, "sweep", &options.sweep,
            "run selective with several values of one option: lambda_alpha=0.5,0.7,1.0")
      .metavar("VALUES");
  table
      .text(section, "set", &options.set,
            "options of every adaptation: bait_rate=1e-4,cuda_graph=false; other values need another --out")
      .metavar("VALUES");
  table
      .text(section, "skew", &options.skew,
            "adapt to subsets of the targets with skewed classes, one per seed: one-class (one class has 75 %) or "
            "long-tail (50 : 1); accuracy is that on the subset; needs its own --out")
      .metavar("one-class|long-tail");
  table.flag(section, "markdown", &options.markdown, "print tables as Markdown");
  declare(table, options.checkpoints);
}

void run_bench_table(const std::string& name, const BenchTableOptions& options, const CommonOptions& common,
                     const SharedFlags& shared, Communicator* comm) {
  const bool first = !comm || comm->first();
  const bool drawn = name == kDrawnDigits;
  const std::string out = options.out.empty() ? "bench/" + std::filesystem::path(name).stem().string() : options.out;
  skew_of(options.skew);  // a mistake is found before anything is drawn
  const Benchmark chosen = drawn ? drawn_digits(out + "/data") : benchmark(name);
  if (!drawn && options.data.empty() && chosen.layout != Layout::kPaths)
    input_error("name the folder of {} with --data; {}", chosen.title, chosen.source);
  TableTask task = plan(chosen, options, common, shared);
  task.out = out;
  task.sources = options.source_store.empty() ? out + "/sources" : options.source_store;
  if (drawn && first) draw_digits(out + "/data", shared.pictures > 0 ? shared.pictures : 1000);
  if (comm) {
    task.machine = comm->rank();
    task.machines = comm->size();
    task.barrier = [comm] { comm->barrier(); };
    comm->barrier();
  }
  task.domains = located(chosen, options.data);
  if (const auto skew = skew_of(options.skew)) draw_subsets(*skew, options.skew, task);
  require_same_adaptations(task);
  if (first) {
    std::filesystem::create_directories(out);
    remove_leftovers_of_table(out);
  }
  if (comm) comm->barrier();
  Progress progress(std::cerr, is_terminal(), common.json || !first);
  progress.line(sources_line(task));
  const TableResult result = run_table(task, call_program, [&](int64_t done, int64_t total, const std::string& what) {
    progress.line(fmt::format("{}/{}  {}", done, total, what));
  });
  progress.finish();
  if (!first) return;
  remove_leftovers_of_table(out);  // of starts that were killed meanwhile
  link_sources(task);
  const std::string notes = notes_text(task, result);
  write_file_atomically(out + "/table.md",
                        table_text(task, result, TableFigure::kLast, true) + (notes.empty() ? "" : "\n" + notes));
  write_file_atomically(out + "/table.csv", table_csv(task, result));
  write_file_atomically(out + "/table.json", json_text(table_json(task, result), 2) + "\n");
  write_file_atomically(out + "/report.html",
                        report_page(table_page(task, result, chosen.title.empty() ? name : chosen.title, own_command(),
                                               titled_tables(task))));
  if (common.json)
    print(json_text(table_json(task, result), 2) + "\n");
  else
    show(task, result, options.markdown);
  for (const auto& [row, cells] : result.cells)
    for (const auto& [target, cell] : cells)
      if (!cell.failure.empty()) work_error("{} on {} failed: {}", row, target, cell.failure);
}

}  // namespace tributary::cli
