// Prints on standard output and standard error. Nothing else writes to them (tests/layout/calls_test.py).
//
// Much of the text comes from strangers: class names, paths, messages of libraries. Terminals obey control characters,
// so they are shown as "?". Failed writes are remembered, and the program exits with an error at its end.
#pragma once

#include <string_view>

namespace tributary {

// Writes lines to standard output. Their control characters, but for line feeds and tabs, become "?".
void print(std::string_view lines);

// Writes one line to standard error. `line` has no line feed at its end; within it, one is a control character. A
// longer line than any message of ours, of a file's text, is cut.
void print_message(std::string_view line);

// The errno of the first write to standard output that failed, or 0. A closed pipe (`| head`) does not count.
int output_error();

}  // namespace tributary
