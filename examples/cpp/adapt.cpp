// Adapts source models to a folder of pictures: adapt TARGET RUN SOURCE...
#include <tributary/tributary.h>

#include <iostream>

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 3) return 2;
  try {
    const std::vector<std::string> sources(arguments.begin() + 2, arguments.end());
    const tributary::Run run =
        tributary::adapt(sources, arguments[0], arguments[1], {{"rounds", 2}, {"inner_epochs", 1}, {"report", false}});
    const tributary::Predictions predictions = run.model().predict(arguments[0]);
    for (size_t i = 0; i < predictions.names.size(); ++i)
      std::cout << predictions.names[i] << ',' << run.model().classes()[predictions.labels[i].item<int64_t>()] << '\n';
    run.model().export_onnx(arguments[1] + "/model.onnx");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
