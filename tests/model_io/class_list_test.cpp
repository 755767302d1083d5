#include "tributary/model_io/class_list.h"

#include <gmock/gmock.h>

#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/model/source_model.h"

namespace tributary {
namespace {

using test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SourceModel source_with(const std::vector<std::string>& classes) {
  ModelInfo info = test::small_info("lenet", static_cast<int64_t>(classes.size()), 16);
  info.classes = classes;
  return SourceModel(info, Random(1));
}

TEST(ClassList, MergesOutputsOfOneNewName) {
  const test::TempDir folder;
  folder.write("list", "car\nlorry = truck\n\nbus\nvan  =  truck\r\n");
  ModelInfo info;
  name_outputs(folder / "list", 4, "x.pth", info);
  EXPECT_THAT(info.classes, ElementsAre("car", "truck", "bus"));
  EXPECT_THAT(info.outputs, ElementsAre(0, 1, 2, 1));
  EXPECT_EQ(info.output_count(), 4);
  name_outputs("", 2, "x.pth", info);
  EXPECT_THAT(info.classes, ElementsAre("0", "1"));
  EXPECT_THAT(info.outputs, IsEmpty());
}

TEST(ClassList, RenamesAndMergesTheClassesOfAModel) {
  const test::TempDir folder;
  folder.write("list", "Lorry = truck\ncar = automobile\n");
  SourceModel source = source_with({"car", "lorry", "Truck", "bus"});
  const torch::NoGradGuard no_gradients;
  const Tensor phi = test::normals({5, 16}, 1);
  const Tensor before = source.classify(phi).softmax(-1);
  EXPECT_THAT(rename_classes(source, folder / "list", "x", false), ElementsAre(true, true));
  EXPECT_THAT(source.info().classes, ElementsAre("automobile", "Truck", "bus"));
  const Tensor sum = before.select(1, 1) + before.select(1, 2);
  EXPECT_TENSOR_NEAR(source.classify(phi).softmax(-1), at::stack({before.select(1, 0), sum, before.select(1, 3)}, 1),
                     1e-6);
}

TEST(ClassList, ARenamedClassKeepsItsOutputExactly) {
  const test::TempDir folder;
  folder.write("list", "a = b\nb = a\n");
  SourceModel source = source_with({"a", "b", "c"});
  rename_classes(source, folder / "list", "x", false);
  EXPECT_THAT(source.info().classes, ElementsAre("b", "a", "c"));
  EXPECT_TRUE(source.output_map().empty());
}

TEST(ClassList, RefusesUnknownAndRepeatedNames) {
  const test::TempDir folder;
  const auto message = [&](const std::string& list, bool optional = false) {
    folder.write("list", list);
    SourceModel source = source_with({"car", "truck", "bus"});
    return message_of<InputError>([&] { rename_classes(source, folder / "list", "x.pt", optional); });
  };
  EXPECT_THAT(message("lory = truck\n"),
              HasSubstr("list renames the class 'lory', which x.pt does not have; its classes are car, truck, bus"));
  SourceModel source = source_with({"car", "truck", "bus"});
  EXPECT_THAT(rename_classes(source, folder / "list", "x.pt", /*optional=*/true), ElementsAre(false));
  EXPECT_THAT(message("car\ntruck\nbus\n"), HasSubstr("x.pt has names of its own for its classes; write OLD = NEW in"));
  EXPECT_THAT(message("car = truck\ncar = bus\n"), HasSubstr("has duplicate class names"));
  EXPECT_THAT(message("car = bus\ntruck = bus\n"), HasSubstr("leaves x.pt a single class"));
  EXPECT_THAT(message(" = bus\n"), HasSubstr("line 1: a name is missing beside '='"));
  EXPECT_THAT(message("car =\n"), HasSubstr("line 1: a name is missing beside '='"));
  ModelInfo info;
  folder.write("list", "car\nbus\ncar\n");
  EXPECT_THAT(message_of<InputError>([&] { name_outputs(folder / "list", 3, "x.pth", info); }),
              HasSubstr("has duplicate class names; write OLD = NEW to merge"));
  folder.write("list", "car\nlorry = truck\n");
  EXPECT_THAT(message_of<InputError>([&] { name_outputs(folder / "list", 3, "x.pth", info); }),
              HasSubstr("has 2 class names but x.pth has 3 classes"));
  folder.write("list", "car,lorry,bus\n");
  EXPECT_THAT(message_of<InputError>([&] { name_outputs(folder / "list", 3, "x.pth", info); }),
              HasSubstr("has 1 class name but x.pth has 3 classes; write one name per line"));
  folder.write("list",
               "\xef\xbb\xbf"
               "car\r\nlorry\r\nbus\r\n");
  name_outputs(folder / "list", 3, "x.pth", info);
  EXPECT_THAT(info.classes, ElementsAre("car", "lorry", "bus"));
}

TEST(ClassList, ReadsManyNamesInLinearTime) {
  const test::TempDir folder;
  std::string lines;
  for (int i = 0; i < 300'000; ++i) lines += "a class of this list " + std::to_string(i) + "\n";
  folder.write("list", lines);
  EXPECT_EQ(read_class_list(folder / "list").names.size(), 300'000u);  // hours, if each is compared with all others
}

}  // namespace
}  // namespace tributary
