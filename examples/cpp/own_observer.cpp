// Watches an adaptation and stops it when the predictions settle: own_observer TARGET RUN SOURCE...
//
// Pictures may also come from memory: tributary::adapt takes a uint8 tensor [n, height, width, 3] in place of a path.
#include <tributary/tributary.h>

#include <iostream>

namespace {

class Settled : public tributary::Observer {
 public:
  void on_round(const tributary::RoundEvent& event) override {
    const torch::Tensor label = event.probabilities.argmax(1);
    if (last_.defined()) changed_ = label.ne(last_).to(torch::kFloat32).mean().item<double>();
    last_ = label;
    std::cout << "round " << event.round << " of " << event.rounds << ": " << 100 * changed_ << " % changed\n";
  }
  // Asked after every round.
  bool wants_stop() const override { return changed_ < 0.001; }

 private:
  torch::Tensor last_;
  double changed_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 3) return 2;
  try {
    Settled observer;
    const std::vector<std::string> sources(arguments.begin() + 2, arguments.end());
    const tributary::Run run =
        tributary::adapt(sources, arguments[0], arguments[1],
                         {{"rounds", 3}, {"inner_epochs", 1}, {"save_every", 60.0}}, {.observer = &observer});
    run.report(arguments[1] + "/settled.html");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
