// Runs exported models with ONNX Runtime in Node, independently of Torch.
//
// `npm install --ignore-scripts` in tests/node creates the folder node_modules. Set the environment variable
// TRIBUTARY_NODE_MODULES to its path; otherwise, these tests are skipped.
#pragma once

#include <stdio.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/python.h"

namespace tributary::test {

constexpr const char* kNoOnnxRuntime = "skipped: no onnxruntime-node (npm)";

// Node on the PATH, with a package folder.
struct Node {
  std::string modules;  // the folder node_modules

  std::string command() const { return "NODE_PATH=" + shell_quoted(modules) + " node"; }
};

// Node with `package` in $TRIBUTARY_NODE_MODULES; nullopt if it is missing or does not load.
inline std::optional<Node> node_with(const std::string& package = "onnxruntime-node") {
  const char* modules = std::getenv("TRIBUTARY_NODE_MODULES");
  if (modules == nullptr || *modules == '\0') return std::nullopt;
  Node node{modules};
  const std::string command = node.command() + " -e " + shell_quoted("require('" + package + "')") + " >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) return std::nullopt;
  return node;
}

// Runs `script`, a path from the repository's root. Returns its output, or nullopt if it does not exit with 0.
inline std::optional<std::string> run_node(const Node& node, const std::string& script,
                                           const std::vector<std::string>& arguments) {
  std::string command = node.command() + " " + shell_quoted(std::string(TRIBUTARY_SOURCE_DIR) + "/" + script);
  for (const std::string& argument : arguments) command += " " + shell_quoted(argument);
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string printed;
  std::array<char, 4096> part{};
  while (const size_t got = ::fread(part.data(), 1, part.size(), pipe)) printed.append(part.data(), got);
  if (::pclose(pipe) != 0) return std::nullopt;
  return printed;
}

}  // namespace tributary::test
