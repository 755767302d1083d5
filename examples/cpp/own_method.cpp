// Adapts with a method that Tributary does not have, that of ../method/entropy.cpp: own_method TARGET RUN SOURCE...
#include <tributary/method.h>
#include <tributary/tributary.h>

#include <iostream>

namespace tributary {
MethodEntry entropy_method();
}

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 3) return 2;
  try {
    tributary::register_method(tributary::entropy_method);
    const std::vector<std::string> sources(arguments.begin() + 2, arguments.end());
    const tributary::Run run =
        tributary::adapt(sources, arguments[0], arguments[1],
                         {{"method", "entropy"}, {"entropy_rate", 1e-3}, {"epochs", 1}, {"report", false}});
    for (const std::string& round : run.rounds()) std::cout << round << '\n';
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
