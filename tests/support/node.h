// Node as a reference: ONNX Runtime from npm runs exported models without Torch or pip.
//
// `npm ci --ignore-scripts` in a copy of tests/node creates the folder node_modules; the environment variable
// TRIBUTARY_NODE_MODULES names it. Without it, the tests that need it are skipped.
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

// A node on the PATH with packages it can require.
struct Node {
  std::string modules;  // the folder node_modules

  std::string command() const { return "NODE_PATH=" + shell_quoted(modules) + " node"; }
};

// Node with the package in $TRIBUTARY_NODE_MODULES; nullopt if either is missing or does not work, or if
// TRIBUTARY_SKIP_REFERENCES is set (scripts/sanitize).
inline std::optional<Node> node_with(const std::string& package = "onnxruntime-node") {
  if (std::getenv("TRIBUTARY_SKIP_REFERENCES")) return std::nullopt;
  const char* modules = std::getenv("TRIBUTARY_NODE_MODULES");
  if (modules == nullptr || *modules == '\0') return std::nullopt;
  Node node{modules};
  const std::string command = node.command() + " -e " + shell_quoted("require('" + package + "')") + " >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) return std::nullopt;
  return node;
}

// Runs `script`, a path relative to the repository's root, with arguments. Returns its output, or nullopt if it does
// not exit with 0.
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
