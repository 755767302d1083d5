// Options that most commands have: the device, and how pictures are read.
#pragma once

#include <string>

#include "tributary/base/options.h"
#include "tributary/data/load.h"
#include "tributary/device/device.h"

namespace tributary {

class DistributedSession;

// Options of most commands: device and its memory, threads, output format and configuration file.
struct CommonOptions {
  DeviceChoice device = DeviceChoice::kAuto;
  int64_t threads = 0;
  bool json = false;
  std::string config;
  double gpu_memory = 0;  // GiB; 0: no limit

  void declare(OptionTable& table);
  // Reads the TOML file, if one is given, into the table. The caller applies its values.
  void read_config(OptionTable& table) const;
  // Reads the file and applies its values, then the flags.
  void apply(OptionTable& table) const;
  // Sets the number of threads, chooses the device and limits its memory. The first two fields then hold the values in
  // use.
  torch::Device prepare();
  // The same for one of several processes, which take the number of threads from their launcher.
  torch::Device prepare(const DistributedSession& session);
};

// Options for reading pictures.
struct DataOptions {
  std::string root;
  double max_skipped = 0.1;
  double max_megapixels = 64;
  double memory = 0, feature_memory = 0;  // GiB

  void declare(OptionTable& table);
  // Takes the limits and the base folder with which the run in this folder read its target, where the user gives none.
  void follow_run(const OptionTable& table, const std::string& folder);
  LoadOptions load_options(int64_t threads) const;
  LoadOptions for_preprocessing(const Preprocessing& preprocessing, int64_t threads) const;
};

}  // namespace tributary
