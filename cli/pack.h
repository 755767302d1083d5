// `tributary data pack`: pictures of any layout into tar shards.
#pragma once

#include "cli/command.h"
#include "tributary/data/pack.h"

namespace tributary::cli {

constexpr const char* kPackExample = "tributary data pack --data photos/ --size 256 --out shards/photos";

class Pack {
 public:
  // Adds the action to those of `data`.
  void declare(CLI::App& data);
  bool chosen() const { return action_ != nullptr && action_->parsed(); }
  void run();
  const OptionTable& options() const { return table_; }

 private:
  CLI::App* action_ = nullptr;
  OptionTable table_;
  PackOptions options_;
  std::string data_path_, out_, root_;
  int64_t quality_ = 90, shard_megabytes_ = 256, threads_ = 0;
  double max_megapixels_ = 64;
  bool labels_ = false, json_ = false;
};

}  // namespace tributary::cli
