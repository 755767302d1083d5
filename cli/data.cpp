#include <filesystem>
#include <iostream>

#include "cli/command.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"
#include "tributary/data/digits.h"
#include "tributary/data/encode_png.h"
#include "tributary/data/idx.h"

namespace tributary::cli {
namespace {

namespace fs = std::filesystem;

enum class DigitFormat { kIdx, kPng };

class Data : public Command {
 public:
  std::string name() const override { return "data"; }
  std::string summary() const override { return "Make data sets"; }
  std::string example() const override { return "tributary data make digits digits/ --pictures 1000"; }

  void declare(CLI::App& app) override {
    app.require_subcommand(1);
    CLI::App* make = app.add_subcommand("make", "Write a data set that is built in");
    make->require_subcommand(1);
    CLI::App* digits = make->add_subcommand("digits", "Drawn digits in five domains, 32x32, ten classes");
    digits->add_option("out", out_, "folder to write to; new or empty")->required();
    table_.integer("", "pictures", &pictures_, 1, 10000000, "pictures a domain for training");
    table_.integer("", "test_pictures", &test_pictures_, 1, 10000000, "pictures a domain for testing");
    table_.integer("", "seed", &seed_, 0, INT64_MAX, "seed of every random number");
    table_.choice("", "format", &format_, {{"idx", DigitFormat::kIdx}, {"png", DigitFormat::kPng}},
                  "an IDX pair a part, or class folders of PNG files");
    table_.add_to(*digits);
  }

  const OptionTable& options() const override { return table_; }

  void run() override {
    table_.apply_flags();
    std::error_code error;
    if (fs::exists(out_, error) && !(fs::is_directory(out_, error) && fs::is_empty(out_, error)))
      input_error("{} is already there and not an empty folder; give another place", out_);
    require_writable_target(out_);
    for (const std::string& domain : digit_domain_names()) {
      const std::string folder = out_ + "/" + domain;
      const auto seed = static_cast<uint64_t>(seed_);
      write(folder, "train", make_digits(digit_domain(domain), pictures_, 2 * seed));
      write(folder, "test", make_digits(digit_domain(domain), test_pictures_, 2 * seed + 1));
    }
    std::cout << fmt::format("{}: {} domains of {} training and {} test pictures\n", out_, digit_domain_names().size(),
                             thousands(pictures_), thousands(test_pictures_));
  }

 private:
  void write(const std::string& folder, const std::string& part, const LabelledImages& data) const {
    if (format_ == DigitFormat::kIdx) {
      make_folder(folder);
      write_idx_images(folder + "/" + part + "-images.idx", data.images);
      write_idx_labels(folder + "/" + part + "-labels.idx", data.labels);
      return;
    }
    for (const std::string& name : data.labels.classes) make_folder(fmt::format("{}/{}/{}", folder, part, name));
    for (int64_t i = 0; i < data.images.size(); ++i)
      write_file_atomically(
          fmt::format("{}/{}/{}/{:06}.png", folder, part, data.labels.classes[data.labels.values[i]], i),
          encode_png({data.images.picture(i), static_cast<size_t>(data.images.picture_bytes())}, data.images.height,
                     data.images.width));
  }

  std::string out_;
  int64_t pictures_ = 1000, test_pictures_ = 1000, seed_ = 0;
  DigitFormat format_ = DigitFormat::kIdx;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_data() {
  return std::make_unique<Data>();
}

}  // namespace tributary::cli
