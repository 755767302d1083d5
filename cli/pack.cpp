#include "cli/pack.h"

#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/data/picture_source.h"

namespace tributary::cli {

void Pack::declare(CLI::App& data) {
  action_ = data.add_subcommand("pack", "Write pictures to tar shards, in the layout of WebDataset");
  table_.text("", "data", &data_path_, "pictures: a folder, a list file, NAME-images.idx, a .mat file or shards")
      .metavar("DATA");
  table_.text("", "out", &out_, "folder to write to, new or empty; shards are named after it").metavar("FOLDER");
  table_
      .integer("", "size", &options_.size, 0, 4096,
               "resize the shorter side to this many pixels; smaller pictures are not enlarged; 0 keeps all sizes")
      .metavar("PIXELS");
  table_.choice("", "format", &options_.format, {{"jpeg", PackFormat::kJpeg}, {"raw", PackFormat::kRaw}},
                "jpeg copies the files of pictures that need no resizing; raw writes uncompressed pixels (PPM)");
  table_.integer("", "quality", &quality_, 1, 100, "quality of re-encoded JPEGs").metavar("NUMBER");
  table_.integer("", "shard_megabytes", &shard_megabytes_, 1, 1000000, "size of a shard, in MiB").metavar("MIB");
  table_.flag("", "labels", &labels_, "write the classes too; the pictures must have labels");
  table_.text("", "root", &root_, "base folder of relative paths in a list file").metavar("FOLDER");
  table_
      .number("", "max_skipped", &options_.max_bad_share, 0, 1,
              "largest share of unreadable pictures to skip; with more, the command fails")
      .alias("max_bad");
  table_.number("", "max_megapixels", &max_megapixels_, 0.001, 10000, "pictures with more pixels than this are skipped")
      .metavar("NUMBER");
  table_.integer("", "threads", &threads_, 0, 1024, "CPU threads; 0 takes all cores");
  table_.flag("", "json", &json_, "print the result as JSON").transient();
  table_.add_to(*action_);
  action_->footer(std::string("Example:\n  ") + kPackExample);
}

void Pack::run() {
  catch_interrupts();
  table_.apply_flags();
  if (data_path_.empty()) input_error("name the pictures with --data");
  if (out_.empty()) input_error("name the folder to write to with --out");
  require_packable(out_);
  options_.quality = static_cast<int>(quality_);
  options_.shard_bytes = shard_megabytes_ << 20;
  options_.threads = static_cast<int>(threads_);
  options_.max_pixels = static_cast<int64_t>(max_megapixels_ * 1e6);
  const PictureSource source = labels_ ? open_labelled(data_path_, root_, {}, options_.threads)
                                       : open_pictures(data_path_, root_, options_.threads);
  const PackedShards packed = pack_pictures(source, data_path_, out_, options_);
  report_skipped("data", packed.skipped, source.size() + static_cast<int64_t>(source.skipped.size()));
  if (json_) {
    const nlohmann::json facts = {{"pictures", packed.pictures},
                                  {"skipped", packed.skipped.size()},
                                  {"classes", source.classes.size()},
                                  {"bytes", packed.bytes},
                                  {"shards", packed.files}};
    print(json_text(facts, 2) + "\n");
    return;
  }
  print(fmt::format("{}: {} pictures in {} shard{}, {:.1f} MB\n", safe_line(out_), thousands(packed.pictures),
                    thousands(static_cast<int64_t>(packed.files.size())), packed.files.size() == 1 ? "" : "s",
                    static_cast<double>(packed.bytes) / 1e6));
}

}  // namespace tributary::cli
