#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "tributary/base/error.h"
#include "tributary/base/text.h"
#include "tributary/bench/speed.h"
#include "tributary/report/table.h"

namespace tributary::cli {
namespace {

class Bench : public Command {
 public:
  std::string name() const override { return "bench"; }
  std::string summary() const override { return "Measure how fast this machine is"; }
  std::string example() const override { return "tributary bench speed --architecture resnet50 --sources 2"; }

  void declare(CLI::App& app) override {
    app.add_option("what", what_, "speed: pictures per second in evaluation and training")->required();
    common_.declare(table_);
    tributary::declare(table_, options_);
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }

  void run() override {
    common_.apply(table_);
    if (what_ != "speed") input_error("there is no benchmark '{}'; choose speed", printable(what_));
    const torch::Device device = common_.prepare();
    const nlohmann::json result = measure_speed(options_, device, static_cast<int>(common_.threads));
    if (common_.json) {
      std::cout << result.dump(2) << '\n';
      return;
    }
    std::cout << fmt::format("{} x {}, batch {}, {} on {}\n\n", options_.sources, options_.architecture, options_.batch,
                             result.at("precision").get<std::string>(), result.at("device").get<std::string>());
    Table table({{"work"}, {"pictures/s", Align::kRight}});
    for (const auto& [key, title] :
         {std::pair("evaluate", "evaluation, one source"), std::pair("train_eager", "training, every source, eager"),
          std::pair("train_recorded", "training, every source, recorded")})
      if (result.contains(key)) table.add_row({title, thousands(std::llround(result.at(key).get<double>()))});
    std::cout << table.to_text();
  }

 private:
  CommonOptions common_;
  SpeedOptions options_;
  std::string what_;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_bench() {
  return std::make_unique<Bench>();
}

}  // namespace tributary::cli
