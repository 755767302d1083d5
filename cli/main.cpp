#include "cli/program.h"

int main(int argc, char** argv) {
  return tributary::cli::run_program(argc, argv);
}
