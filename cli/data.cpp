#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/pack.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/staged_folder.h"
#include "tributary/base/text.h"
#include "tributary/benchmarks/catalogue.h"
#include "tributary/data/digits/digits.h"
#include "tributary/data/digits/idx.h"
#include "tributary/data/image/encode_png.h"
#include "tributary/terminal/table.h"

namespace tributary::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCheckExample = "tributary data check office-31 photos/office31";

enum class DigitFormat { kIdx, kPng };

nlohmann::json facts_of(const Benchmark& benchmark, const std::vector<DomainCheck>& checks) {
  nlohmann::json domains = nlohmann::json::array();
  bool complete = true;
  for (size_t i = 0; i < checks.size(); ++i) {
    const DomainCheck& check = checks[i];
    complete &= check.problem.empty();
    domains.push_back({{"name", benchmark.domains[i].name},
                       {"column", benchmark.domains[i].column},
                       {"train", check.data.train},
                       {"test", check.data.test},
                       {"train_pictures", check.train_pictures},
                       {"test_pictures", check.test_pictures},
                       {"classes", check.classes.size()},
                       {"ok", check.problem.empty()},
                       {"problem", check.problem}});
  }
  return {{"benchmark", benchmark.name},
          {"architecture", benchmark.architecture},
          {"complete", complete},
          {"source", benchmark.source},
          {"domains", domains}};
}

void show(const Benchmark& benchmark, const std::vector<DomainCheck>& checks) {
  std::vector<Column> columns = {{"domain"}, {"found"}, {"pictures", Align::kRight}};
  if (benchmark.has_test_part) columns.push_back({"for testing", Align::kRight});
  columns.insert(columns.end(), {{"classes", Align::kRight}, {"state"}});
  Table table(columns);
  const auto number = [](int64_t value) { return value > 0 ? thousands(value) : "-"; };
  for (size_t i = 0; i < checks.size(); ++i) {
    const DomainCheck& check = checks[i];
    const auto classes = static_cast<int64_t>(check.classes.size());
    std::vector<std::string> row = {benchmark.domains[i].name, check.data.train.empty() ? "-" : check.data.train,
                                    number(check.train_pictures)};
    if (benchmark.has_test_part) row.push_back(number(check.test_pictures));
    row.insert(row.end(), {number(classes), check.problem.empty() ? "ok" : check.problem});
    table.add_row(row);
  }
  print(table.to_text());
}

class Data : public Command {
 public:
  std::string name() const override { return "data"; }
  std::string summary() const override {
    return "Make data sets, check those of benchmarks and pack pictures into shards";
  }
  std::string example() const override { return "tributary data make digits digits/ --pictures 1000"; }

  void declare(CLI::App& app) override {
    app.require_subcommand(1);
    CLI::App* make = app.add_subcommand("make", "Write a data set that is built in");
    make->require_subcommand(1);
    CLI::App* digits = make->add_subcommand("digits", "Drawn digits in five domains, 32x32, ten classes");
    digits->add_option("out", out_, "folder to write to; new or empty")->required()->type_name("FOLDER");
    table_.integer("", "pictures", &pictures_, 1, 10000000, "training pictures per domain");
    table_.integer("", "test_pictures", &test_pictures_, 1, 10000000, "test pictures per domain");
    table_.integer("", "seed", &seed_, 0, INT64_MAX, "random seed").metavar("NUMBER");
    table_.choice("", "format", &format_, {{"idx", DigitFormat::kIdx}, {"png", DigitFormat::kPng}},
                  "one pair of IDX files per split, or class folders of PNG files");
    table_.add_to(*digits);
    check_ = app.add_subcommand("check", "Check which parts of a benchmark are present, and say how to get the rest");
    check_
        ->add_option("name", benchmark_,
                     fmt::format("{}, or a .toml file of your own domains", fmt::join(benchmark_names(), ", ")))
        ->required()
        ->type_name("NAME");
    check_->add_option("folder", folder_, "folder of its domains; not needed for a .toml file")->type_name("FOLDER");
    check_table_.flag("", "json", &json_, "print the result as JSON").transient();
    check_table_.add_to(*check_);
    check_->footer(std::string("Example:\n  ") + kCheckExample);
    pack_.declare(app);
  }

  const OptionTable& options() const override { return table_; }
  std::vector<FurtherOptions> further_options() const override {
    return {{"check", kCheckExample, check_table_}, {"pack", kPackExample, pack_.options()}};
  }

  void run() override {
    if (pack_.chosen())
      pack_.run();
    else if (check_->parsed())
      check();
    else
      make_all_digits();
  }

 private:
  // Shows all findings, even if something is missing and the check fails.
  void check() {
    check_table_.apply_flags();
    const Benchmark chosen = benchmark(benchmark_);
    const bool own = chosen.layout == Layout::kPaths;
    if (own && !folder_.empty())
      input_error("{} already names the folders of its domains; leave out {}", benchmark_, folder_);
    if (!own && folder_.empty())
      input_error("name the folder of {} too: tributary data check {} FOLDER", chosen.title, chosen.name);
    const std::vector<DomainCheck> checks = check_domains(chosen, folder_);
    if (json_)
      print(json_text(facts_of(chosen, checks), 2) + "\n");
    else
      show(chosen, checks);
    std::vector<std::string> problems;
    for (size_t i = 0; i < checks.size(); ++i)
      if (!checks[i].problem.empty())
        problems.push_back(fmt::format("{} ({})", chosen.domains[i].name, checks[i].problem));
    if (!problems.empty())
      input_error("{} is not complete: {}; {}", chosen.title, fmt::join(problems, ", "), chosen.source);
  }

  void make_all_digits() {
    table_.apply_flags();
    std::error_code error;
    if (fs::exists(out_, error) && !is_empty_folder(out_))
      input_error("{} already exists and is not an empty folder; choose another", out_);
    require_writable_target(out_);
    for (const std::string& domain : digit_domain_names()) {
      const std::string folder = out_ + "/" + domain;
      const auto seed = static_cast<uint64_t>(seed_);
      write(folder, "train", make_digits(digit_domain(domain), pictures_, 2 * seed));
      write(folder, "test", make_digits(digit_domain(domain), test_pictures_, 2 * seed + 1));
    }
    print(fmt::format("{}: {} domains of {} training and {} test pictures\n", safe_line(out_),
                      digit_domain_names().size(), thousands(pictures_), thousands(test_pictures_)));
  }

  void write(const std::string& folder, const std::string& part, const LabelledImages& data) const {
    if (format_ == DigitFormat::kIdx) {
      make_folder(folder);
      write_idx_images(folder + "/" + part + "-images.idx", data.images);
      write_idx_labels(folder + "/" + part + "-labels.idx", data.labels);
      return;
    }
    for (const std::string& name : data.labels.classes) make_folder(fmt::format("{}/{}/{}", folder, part, name));
    for (int64_t i = 0; i < data.images.size(); ++i)
      write_file_atomically(
          fmt::format("{}/{}/{}/{:06}.png", folder, part, data.labels.classes[data.labels.values[i]], i),
          encode_png({data.images.picture(i), static_cast<size_t>(data.images.picture_bytes())}, data.images.height,
                     data.images.width));
  }

  std::string out_;
  int64_t pictures_ = 1000, test_pictures_ = 1000, seed_ = 0;
  DigitFormat format_ = DigitFormat::kIdx;
  OptionTable table_;
  CLI::App* check_ = nullptr;
  std::string benchmark_, folder_;
  bool json_ = false;
  OptionTable check_table_;
  Pack pack_;
};

}  // namespace

std::unique_ptr<Command> make_data() {
  return std::make_unique<Data>();
}

}  // namespace tributary::cli
