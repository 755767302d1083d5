// All options of an adaptation in one table, and the run that they describe: for the program, C++ and Python alike.
#pragma once

#include "tributary/base/options.h"
#include "tributary/methods/method_choice.h"
#include "tributary/run/adaptation_run.h"
#include "tributary/run/command_options.h"
#include "tributary/run/distributed_session.h"

namespace tributary {

struct AdaptationSetup {
  CommonOptions common;
  DataOptions data;
  AdaptationRunOptions options;
  MethodChoice choice;
  DistributedSession session;
  OptionTable table;

  // Declares all options in `table`.
  AdaptationSetup();
  AdaptationSetup(const AdaptationSetup&) = delete;  // the table points to the fields
  AdaptationSetup& operator=(const AdaptationSetup&) = delete;

  // Applies the values that flags, or the TOML file, gave to the table, and checks those of the method. Throws an
  // InputError before anything is read.
  void resolve();
  // Sets the number of threads, chooses the device and completes the options. Call it after resolve(), and after
  // `session` has begun, if it is to have several ranks.
  AdaptationRun prepare(RunListener& listener);
};

}  // namespace tributary
