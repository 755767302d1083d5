// The program: runs a subcommand and turns exceptions into one sentence and an exit code.
#include "cli/program.h"

#include <signal.h>
#include <torch/version.h>

#include <sstream>
#include <system_error>

#include "cli/command.h"
#include "cli/manual.h"
#include "cli/unexpected_arguments.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/memory.h"
#include "tributary/base/message.h"
#include "tributary/base/print.h"
#include "tributary/base/process.h"
#include "tributary/base/text.h"
#include "tributary/device/device.h"
#include "tributary/distributed/heartbeat.h"
#include "tributary/launch/launcher.h"
#include "tributary/run/distributed_session.h"
#include "tributary/version.h"

#ifdef TRIBUTARY_CUDA
#include <cuda_runtime_api.h>
#endif

namespace {

using namespace tributary;

int complain(const std::string& who, const std::string& what, int code) {
  print_message((who.empty() ? "tributary: " : "tributary " + who + ": ") + what);
  return code;
}

// Reports a failure to the other ranks and prints it, on one rank only. Returns the exit code.
int fail(const cli::Command& command, const std::string& what, int code) {
  const DistributedSession* const session = command.session();
  if (session) session->fail(what);
  return session && !session->speaks() ? code : complain(command.name(), what, code);
}

int run(cli::Command& command) {
  try {
    require_files();
    command.run();
    return 0;
  } catch (const ExitWith& others) {
    return others.code;
  } catch (const Interrupted& interrupted) {  // a signal reaches all processes
    if (command.session() && !command.session()->speaks()) return interrupted.exit_code();
    return complain(command.name(), interrupted.what(), interrupted.exit_code());
  } catch (const LostPeer& lost) {
    command.session()->fail(lost.what());
    return lost.quiet() ? exit_code_for_lost_peer() : complain(command.name(), lost.what(), exit_code_for_lost_peer());
  } catch (const InputError& error) {
    return fail(command, error.what(), kInputError);
  } catch (const MemoryError& error) {
    return fail(command, error.what(), kMemoryError);
  } catch (const std::bad_alloc&) {
    return fail(command, "out of memory; use fewer or smaller pictures", kMemoryError);
  } catch (const std::exception& error) {
    if (is_out_of_memory(error))
      return fail(command, "out of memory; use fewer or smaller pictures, or a smaller --batch", kMemoryError);
    if (is_out_of_gpu_memory(error))
      return fail(command, "out of GPU memory; use a smaller --batch, or free memory of other programs", kMemoryError);
    return fail(command, first_line(error.what()), kWorkError);
  }
}

// Prints the reference of all options, docs/options.md.
int print_reference(const std::vector<std::unique_ptr<cli::Command>>& commands) {
  print(
      "# Options\n\nWritten by `tributary options`. Every option is a flag, and a key of the TOML file given "
      "with `--config`; flags win. [method.md](method.md#choices) compares the paper's choices with its code's.\n");
  for (const auto& command : commands) {
    const std::string same = command->same_options();
    print(fmt::format("\n## tributary {}\n\n{}. For example: `{}`\n\n{}", command->name(), command->summary(),
                      command->example(),
                      same.empty() ? command->options().to_markdown()
                                   : fmt::format("Its options are those of `tributary {}`.\n", same)));
    for (const cli::FurtherOptions& further : command->further_options())
      print(fmt::format("\n### tributary {} {}\n\nFor example: `{}`\n\n{}", command->name(), further.action,
                        further.example, further.options.to_markdown()));
  }
  return 0;
}

// The first argument, if it is neither a command nor a flag.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return {};
  for (const CLI::App* sub : app.get_subcommands({}))
    if (sub->get_name() == argv[1]) return {};
  return argv[1];
}

// Prints the help or the version, which the parser reports as an exception.
int print_help(const CLI::App& app, const CLI::ParseError& help) {
  std::ostringstream text, none;
  const int code = app.exit(help, text, none);
  print(text.str());
  return code;
}

// The version of the program, of LibTorch and of what LibTorch was built with.
std::string version_text() {
  const auto has = [](bool there) { return there ? "yes" : "no"; };
#ifdef TRIBUTARY_CUDA
  const std::string cuda = fmt::format("{}.{}", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
#else
  const std::string cuda = "no";
#endif
#ifdef TRIBUTARY_GLOO
  constexpr bool kGloo = true;
#else
  constexpr bool kGloo = false;
#endif
#ifdef TRIBUTARY_NCCL
  constexpr bool kNccl = true;
#else
  constexpr bool kNccl = false;
#endif
  return fmt::format("tributary {}, commit {}\nLibTorch {}, CUDA {}, Gloo {}, NCCL {}", kVersion, build_commit(),
                     TORCH_VERSION, cuda, has(kGloo), has(kNccl));
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Many pretrained models flow in, one adapted model flows out.", "tributary");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text());
  const std::vector<std::unique_ptr<cli::Command>> commands = cli::make_commands();
  for (auto& command : commands) {
    CLI::App* sub = app.add_subcommand(command->name(), command->summary());
    sub->footer("Example:\n  " + command->example());
    command->declare(*sub);
  }
  CLI::App* reference = app.add_subcommand("options", "Print the reference of all options as Markdown");
  std::string manual;
  reference->add_option("--manual", manual, "write manual pages and shell completions to this folder instead");
  if (const std::string word = unknown_command(app, argc, argv); !word.empty())
    return complain("", cli::unknown_command_text(app, word) + "; see: tributary --help", kInputError);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return print_help(app, error);
    const CLI::App& command = cli::parsed_command(app);
    if (command.get_parent() == nullptr || argv[1][0] == '-')
      return complain("", cli::missing_command_text(app, argc > 1 ? argv[1] : "") + "; see: tributary --help",
                      kInputError);
    const std::string who = cli::path_of(command);
    const bool has_actions = !command.get_subcommands({}).empty();
    const bool surplus =
        !command.remaining().empty() && (has_actions || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr);
    const std::string repeated = cli::repeated_text(error, command);
    const std::string what = !repeated.empty() ? repeated
                             : surplus         ? cli::unexpected_text(app, command)
                             : has_actions     ? cli::missing_command_text(command, "")
                                               : first_line(error.what());
    return complain(who, fmt::format("{}; see: tributary {} --help", what, who), kInputError);
  } catch (const InputError& error) {
    return complain("", error.what(), kInputError);
  }
  if (reference->parsed() && !manual.empty()) {
    try {
      cli::write_manual(manual, cli::places_of(app, commands));
      return 0;
    } catch (const InputError& error) {
      return complain("options", error.what(), kInputError);
    }
  }
  if (reference->parsed()) return print_reference(commands);
  for (auto& command : commands)
    if (app.got_subcommand(command->name())) return run(*command);
  return kInputError;
}

}  // namespace

namespace tributary::cli {

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  for (const auto make : {make_demo, make_train, make_adapt, make_predict, make_evaluate, make_suggest, make_continue,
                          make_distill, make_export, make_report, make_inspect, make_data, make_bench})
    commands.push_back(make());
  return commands;
}

int run_program(int argc, char** argv) {
  end_with_parent();
  signal(SIGXFSZ, SIG_IGN);  // report a full disk quota as a failed write
  signal(SIGPIPE, SIG_IGN);  // a reader that needs no more output must not end a run
  const int code = parse_and_run(argc, argv);
  remove_leftovers_where_written();
  const int error = output_error();
  if (code != 0 || error == 0) return code;
  return complain("",
                  fmt::format("cannot write to standard output: {}; free some space, or write elsewhere",
                              std::error_code(error, std::generic_category()).message()),
                  kWorkError);
}

}  // namespace tributary::cli
