// Bad input to the program: exit code 2, one sentence that names the cause, no partial output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/support/forked_program.h"
#include "tests/support/tar.h"
#include "tributary/data/image/encode_png.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;
using test::Outcome;
using test::run_forked_program;
using test::TempDir;
using ::testing::HasSubstr;

struct Case {
  const char* name;
  const char* arguments;
  const char* expected;  // part of the sentence
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

std::set<std::string> tree(const TempDir& folder) {
  std::set<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) paths.insert(entry.path().string());
  return paths;
}

class BadInput : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir;
    const auto make = [](const std::string& arguments) {
      const Outcome outcome = run_forked_program(*folder_, arguments);
      ASSERT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
    };
    make("data make digits digits --pictures 40 --test-pictures 20");
    make("data make digits png --pictures 20 --test-pictures 10 --format png");
    make("train --data digits/postal/train-images.idx --architecture lenet --epochs 1 --out good.safetensors");
    const std::string model = test::file_text(*folder_ / "good.safetensors");
    folder_->write("truncated.safetensors", model.substr(0, model.size() / 2));
    folder_->write("text.safetensors", "this is not a model\n");
    // NaN in the last tensor.
    std::string nan = model;
    std::fill(nan.end() - 64, nan.end(), '\xff');
    folder_->write("nan.safetensors", nan);
    // The same pictures in three class folders and in one.
    for (const char* name : {"1", "2", "3"})
      fs::copy(*folder_ / "png/postal/train/1", folder_->folder("three") + "/" + name);
    make("train --data three --architecture lenet --epochs 1 --out three.safetensors");
    for (const char* name : {"1", "2", "3", "4"})
      fs::copy(*folder_ / "png/postal/train/1", folder_->folder("four") + "/" + name);
    folder_->write("far.safetensors", test::file_text(*folder_ / "three.safetensors"));
    folder_->write("far.txt", "1 = sun\n2 = moon\n3 = star\n");
    folder_->write("lory.txt", "lory = 1\n");
    folder_->write("all.txt", "1 = sun\n2 = sun\n3 = sun\n");
    folder_->write("names.txt", "sun\nmoon\nstar\n");
    fs::copy(*folder_ / "png/postal/train/1", folder_->folder("one-class") + "/only");
    fs::create_directories(*folder_ / "empty");
    const std::string png = test::file_text(fs::directory_iterator(*folder_ / "png/postal/train/1")->path().string());
    folder_->write("one-picture/a.png", png);
    folder_->write("bad-pictures/truncated.png", png.substr(0, png.size() / 2));
    folder_->write("bad-pictures/good.png", png);
    folder_->write("not-pictures/a.jpg", "not a picture");
    folder_->write("only-text/readme.txt", "not a picture");
    folder_->write("list.txt", "one-picture/a.png 1\none-picture/missing.png 2\n");
    folder_->write("list-large-label.txt", "one-picture/a.png 10\none-picture/a.png 3\n");
    folder_->write("truncated-images.idx",
                   test::file_text(*folder_ / "digits/postal/train-images.idx").substr(0, 5000));
    folder_->write("zero-images.idx", std::string("\0\0\x08\x03\0\0\0\0\0\0\0\x08\0\0\0\x08", 16));
    folder_->write("unlabelled/lonely-images.idx", test::file_text(*folder_ / "digits/postal/test-images.idx"));
    folder_->write("file", "x");
    folder_->write("model.onnx", std::string("\x08\x08\x12\x09tributary", 13));
    folder_->write("other-folder/notes.txt", "x");
    folder_->write("bad.toml", "[adapt]\nround = 3\n");
    folder_->write("bad-type.toml", "[adapt]\nrounds = \"many\"\n");
    folder_->write("broken.toml", "[adapt\n");
    folder_->write("trust.toml", "[model]\ntrust = true\n");
    folder_->write("trust-list.toml", "source = [\"good.safetensors:trust=true\"]\n");
    folder_->write("trust-table.toml", "[[source]]\nfile = \"good.safetensors\"\ntrust = true\n");
    folder_->write("trust-name.toml", "[[source]]\nfile = \"good.safetensors\"\nname = \"a,trust=true\"\n");
    ASSERT_EQ(::mkfifo((*folder_ / "pipe").c_str(), 0600), 0);
    ASSERT_EQ(::mkfifo((folder_->folder("pipes") + "/a.png").c_str(), 0600), 0);
    folder_->write("unfinished/config.toml", "seed = 0\n");
    folder_->write("finished/config.toml", "seed = 0\n");
    folder_->write("finished/model.safetensors", model);
    const std::vector<uint8_t> photograph = encode_png(std::vector<uint8_t>(3 * 70 * 70, 128), 70, 70);
    for (const char* name : {"photographs/cup/1.png", "photographs/mug/1.png"})
      folder_->write(name, std::string(photograph.begin(), photograph.end()));
    write_hostile_files();
    write_hostile_shards(png);
  }
  // Files whose headers do not match their contents.
  static void write_hostile_files() {
    const auto safetensors = [](uint64_t header, const std::string& rest) {
      return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + rest;
    };
    folder_->write("zero.safetensors", "");
    folder_->write("endless.safetensors", safetensors(uint64_t{1} << 60, "{}"));
    const std::string outside = R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,1600]}})";
    folder_->write("outside.safetensors", safetensors(outside.size(), outside + "0000"));
    folder_->write("nested.safetensors", safetensors(100000, "{\"a\":" + std::string(99995, '[')));
    folder_->write("deep.toml", "a = " + std::string(3000, '[') + std::string(3000, ']') + "\n");
    folder_->write("empty.toml", "");
    folder_->write("cut.mat", "MATLAB 5.0 MAT-file" + std::string(105, ' ') + std::string("\0\x01IM", 4) +
                                  std::string(64, '\xff'));
    folder_->write("hdf.mat", "\x89HDF\r\n\x1a\n" + std::string(600, '\0'));
    folder_->write("nul.txt", std::string("a\0b.png 1\n", 10));
    folder_->write("blank.txt", "\n\n");
    folder_->write("endless-images.idx", std::string("\0\0\x08\x03", 4) + std::string(12, '\x7f'));
    // A picture of 100,000 x 100,000.
    const std::string png(
        "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\x01\x86\xa0\0\x01\x86\xa0\x08\x02\0\0\0\x27\x30\x9c\x9f\0\0\x03\xe8IDAT",
        41);
    folder_->write("bomb/a.png", png);
    folder_->write("bomb/b.png", png);
  }
  static void write_hostile_shards(const std::string& png) {
    const std::string good = test::tar_of({{"a.png", png}, {"b.png", png}});
    folder_->write("good.tar", good);
    folder_->write("cut.tar", good.substr(0, good.size() / 2));
    folder_->write("no-end.tar", good.substr(0, good.size() - 1024));
    folder_->write("flipped.tar", std::string(good).replace(0, 1, "z"));
    folder_->write("endless.tar", tar_header("a.png", int64_t{1} << 32, TarWritten::kRegular) + test::tar_end());
    folder_->write("outside.tar", test::tar_of({{"../../a.png", png}}));
    folder_->write("escape.tar", test::tar_of({{"a\x1b[2J.png", png}}));
    folder_->write("twice.tar", test::tar_of({{"a.png", png}, {"a.png", png}}));
    folder_->write("letters.tar", test::tar_of({{"a.png", png}, {"a.cls", "mug"}}));
    folder_->write("many-classes.tar", test::tar_of({{"a.png", png}, {"a.cls", "10"}}));
    folder_->write("no-pictures.tar", test::tar_of({{"a.txt", "x"}}));
    folder_->write("ppm/a.ppm", "P6\n1 1\n255\n123");
    folder_->write("sparse.tar", test::tar_member("a.png", png, 'S') + test::tar_end());
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static TempDir* folder_;
};

TempDir* BadInput::folder_ = nullptr;

TEST_P(BadInput, IsOneSentenceAndExitCodeTwo) {
  const std::set<std::string> before = tree(*folder_);
  const Outcome outcome = run_forked_program(*folder_, GetParam().arguments);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().expected));
  EXPECT_THAT(outcome.err, ::testing::StartsWith("tributary"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_EQ(tree(*folder_), before) << "leftover files";
}

#define GOOD "--source good.safetensors"
#define DIGITS "--target digits/signs/train-images.idx"

INSTANTIATE_TEST_SUITE_P(
    Table, BadInput,
    ::testing::Values(
        Case{"NoCommand", "", "name a command: demo, train, adapt,"},
        Case{"FlagBeforeTheCommand", "--source a.pth adapt", "name a command before --source: demo, train"},
        Case{"UnknownCommand", "fly", "fly"}, Case{"UnknownFlag", "adapt --fly", "--fly"},
        Case{"MistypedNumber", "adapt " GOOD " " DIGITS " --rounds many", "many"},
        Case{"MissingSource", "adapt --source no.safetensors " DIGITS, "no.safetensors"},
        Case{"ExportWithoutAFile", "export good.safetensors", "name at least one file with --onnx"},
        Case{"ExportOfAMissingModel", "export nothing.safetensors --onnx x.onnx", "nothing.safetensors"},
        Case{"ExportBelowAFile", "export good.safetensors --onnx file/x.onnx", "file"},
        Case{"ExportOfAnUnknownSource", "export good.safetensors --onnx x.onnx --source elsewhere", "elsewhere"},
        Case{"DistillWithoutAPlaceToWrite", "distill good.safetensors", "--out"},
        Case{"DistillWithoutPictures", "distill good.safetensors --out x.safetensors", "--target"},
        Case{"DistillAnUnfinishedRun", "distill unfinished", "unfinished"},
        Case{"TrainFromMissingWeights", "train --data digits/signs/train-images.idx --init no.pth --out x.safetensors",
             "no.pth"},
        Case{"TrainOnTheWrongSize",
             "train --data digits/signs/train-images.idx --architecture dtn --size 64 --out x.safetensors",
             "dtn takes pictures of 32x32"},
        Case{"MissingClassesFile", "predict file --data one-picture --classes no.txt", "file"},
        Case{"UnknownBenchTable", "bench flight", "flight"}, Case{"NoSource", "adapt " DIGITS, "--source"},
        Case{"NoTarget", "adapt " GOOD, "--target"},
        Case{"MissingTarget", "adapt " GOOD " --target nowhere", "nowhere"},
        Case{"EmptyFolder", "adapt " GOOD " --target empty", "empty"},
        Case{"FolderWithoutPictures", "adapt " GOOD " --target only-text", "only-text"},
        Case{"ListWithAMissingPicture", "adapt " GOOD " --target list.txt", "one-picture/missing.png"},
        Case{"TruncatedPicture", "adapt " GOOD " --target bad-pictures", "bad-pictures/truncated.png"},
        Case{"NotAPicture", "adapt " GOOD " --target not-pictures", "not-pictures/a.jpg"},
        Case{"TruncatedIdx", "adapt " GOOD " --target truncated-images.idx", "truncated-images.idx"},
        Case{"ZeroTargetPictures", "adapt " GOOD " --target zero-images.idx", "zero-images.idx"},
        Case{"OneTargetPicture", "adapt " GOOD " --target one-picture", "at least 2"},
        Case{"SourcesWithoutACommonClass",
             "adapt --source three.safetensors --source far.safetensors:classes=far.txt " DIGITS,
             "three.safetensors and far.safetensors have no class in common; rename classes with --classes"},
        Case{"MergeOfAnUnknownClass", "evaluate three.safetensors:classes=lory.txt --data three",
             "lory.txt renames the class 'lory', which three.safetensors does not have; its classes are 1, 2, 3"},
        Case{"MergeOfAClassOfNoSource", "adapt " GOOD " --source three.safetensors --classes lory.txt " DIGITS,
             "lory.txt renames the class 'lory', which no source has"},
        Case{"MergeIntoOneClass", "evaluate three.safetensors:classes=all.txt --data three",
             "all.txt leaves three.safetensors a single class"},
        Case{"NamesForAModelWithNames", "evaluate three.safetensors:classes=names.txt --data three",
             "three.safetensors has names of its own for its classes; write OLD = NEW in names.txt"},
        Case{"OtherClassesForAMethodThatNeedsTheSame",
             "adapt " GOOD " --source three.safetensors:name=three " DIGITS " --method shot",
             "--method shot needs sources that know the same classes, but only 1 of 2 knows '0'; choose --method "
             "source-ens or selective"},
        Case{"TruncatedModel", "adapt --source truncated.safetensors " DIGITS, "truncated.safetensors"},
        Case{"NotAModel", "adapt --source text.safetensors " DIGITS, "text.safetensors"},
        Case{"PictureAsModel", "adapt --source one-picture/a.png " DIGITS, "one-picture/a.png"},
        Case{"FolderAsSource", "adapt --source empty " DIGITS, "empty"},
        Case{"NanWeights", "adapt --source nan.safetensors " DIGITS, "non-finite values"},
        Case{"ZeroRounds", "adapt " GOOD " " DIGITS " --rounds 0", "rounds"},
        Case{"BatchOfOne", "adapt " GOOD " " DIGITS " --batch 1", "batch"},
        Case{"NegativeRate", "adapt " GOOD " " DIGITS " --rate-bottleneck -1", "rate-bottleneck"},
        Case{"NanRate", "adapt " GOOD " " DIGITS " --rate-bottleneck nan", "rate-bottleneck"},
        Case{"UnknownVariant", "adapt " GOOD " " DIGITS " --variant loud", "loud"},
        Case{"UnknownBenchmark", "adapt " GOOD " " DIGITS " --benchmark imagenet", "imagenet"},
        Case{"UnknownAblation", "adapt " GOOD " " DIGITS " --ablations gravity", "gravity"},
        Case{"MissingConfig", "adapt --config no.toml " GOOD " " DIGITS, "no.toml"},
        Case{"UnknownKeyInConfig", "adapt --config bad.toml " GOOD " " DIGITS, "round"},
        Case{"WrongTypeInConfig", "adapt --config bad-type.toml " GOOD " " DIGITS, "bad-type.toml"},
        Case{"BrokenConfig", "adapt --config broken.toml " GOOD " " DIGITS, "broken.toml"},
        Case{"RunBelowAFile", "adapt " GOOD " " DIGITS " --run file/run", "file"},
        Case{"RunIsAFile", "adapt " GOOD " " DIGITS " --run file", "file is a file"},
        Case{"RunFolderHasOtherFiles", "adapt " GOOD " " DIGITS " --run other-folder",
             "contains files that are not a run"},
        Case{"RunFolderHasAnotherRun", "adapt " GOOD " " DIGITS " --run unfinished", "holds another run"},
        Case{"OracleLabelsOfWrongLength", "adapt " GOOD " " DIGITS " --oracle-labels digits/signs/test-images.idx",
             "has no label for 40 of the 40 pictures"},
        Case{"EvaluateWrongNumberOfClassFolders", "evaluate good.safetensors --data three", "3 class folders"},
        Case{"EvaluateLabelTooLarge", "evaluate good.safetensors --data list-large-label.txt", "list-large-label.txt"},
        Case{"EvaluateUnlabelled", "evaluate good.safetensors --data unlabelled/lonely-images.idx", "lonely"},
        Case{"EvaluateWithoutData", "evaluate good.safetensors", "--data"},
        Case{"EvaluateUnfinishedRun", "evaluate unfinished --data three", "unfinished is unfinished"},
        Case{"EvaluateUnknownRule", "evaluate good.safetensors --data three --rule luck", "luck"},
        Case{"EvaluateWeightedRuleWithoutWeights", "evaluate good.safetensors --data three --rule weighted_logits",
             "no weights"},
        Case{"PredictUnwritable", "predict good.safetensors --data one-picture --out file/p.csv", "file"},
        Case{"PredictMissingModel", "predict no.safetensors --data one-picture", "no.safetensors"},
        Case{"TrainOneClass", "train --data one-class --architecture lenet --out x.safetensors",
             "only the class 'only'"},
        Case{"TrainEmptyFolder", "train --data empty --architecture lenet --out x.safetensors", "empty"},
        Case{"TrainFolderOfIdxFiles", "train --data digits/postal --architecture lenet --out x.safetensors",
             "digits/postal has no class folders but test-images.idx, train-images.idx; name the file, as in "
             "digits/postal/train-images.idx"},
        Case{"TrainFolderOfDomains", "train --data digits --architecture lenet --out x.safetensors",
             "digits/handwriting holds no pictures but test-images.idx, train-images.idx; name the file"},
        Case{"TargetFolderOfIdxFiles", "adapt " GOOD " --target digits/postal --run x",
             "digits/postal holds no pictures but test-images.idx, train-images.idx; name the file, as in "
             "digits/postal/train-images.idx"},
        Case{"TrainUnknownArchitecture", "train --data three --architecture alexnet --out x.safetensors", "alexnet"},
        Case{"TrainWithoutOut", "train --data three", "--out"},
        Case{"TrainUnwritable", "train --data three --architecture lenet --out file/x.safetensors", "file"},
        Case{"TrainUnlabelled", "train --data one-picture --out x.safetensors", "one-picture"},
        Case{"TrainValidationDisagrees",
             "train --data three --validation png/postal/test --architecture lenet --out x.safetensors",
             "png/postal/test"},
        Case{"InspectNoModel", "inspect text.safetensors", "text.safetensors"},
        Case{"MakeDataInANonEmptyFolder", "data make digits other-folder", "other-folder"},
        Case{"MakeDataBelowAFile", "data make digits file/x", "file"},
        Case{"EmptyModelFile", "adapt --source zero.safetensors " DIGITS, "zero.safetensors"},
        Case{"ModelHeaderTooLarge", "adapt --source endless.safetensors " DIGITS, "header length"},
        Case{"ModelTensorsBeyondTheFile", "adapt --source outside.safetensors " DIGITS, "bytes 0 to 1,600 of 4"},
        Case{"ModelNestedTooDeep", "adapt --source nested.safetensors " DIGITS, "nested.safetensors"},
        Case{"ModelIsADevice", "adapt --source /dev/null " DIGITS, "/dev/null"},
        Case{"TargetIsADevice", "adapt " GOOD " --target /dev/null", "neither a file nor a folder"},
        Case{"TargetIsAModel", "adapt " GOOD " --target good.safetensors", "is not a picture"},
        Case{"TruncatedMat", "adapt " GOOD " --target cut.mat", "cut.mat"},
        Case{"UnsupportedMatVersion", "evaluate good.safetensors --data hdf.mat", "not a MATLAB 5 file"},
        Case{"ListWithANul", "adapt " GOOD " --target nul.txt", "nul.txt"},
        Case{"EmptyList", "adapt " GOOD " --target blank.txt", "lists no pictures"},
        Case{"IdxTooLarge", "adapt " GOOD " --target endless-images.idx", "endless-images.idx"},
        Case{"PictureTooLarge", "adapt " GOOD " --target bomb", "more than the limit"},
        Case{"EvaluateLabelsAsPictures", "evaluate good.safetensors --data digits/signs/test-labels.idx",
             "name the images file"},
        Case{"ConfigNestedTooDeep", "adapt --config deep.toml " GOOD " " DIGITS, "deep.toml:1"},
        Case{"OptionOfAnotherMethod", "adapt " GOOD " " DIGITS " --method shot --nrc-expanded 3", "only nrc uses it"},
        Case{"EpochsOfSelective", "adapt " GOOD " " DIGITS " --epochs 3", "with --rounds and --inner-epochs"},
        Case{"KeepOfTheSourceEnsemble", "adapt " GOOD " " DIGITS " --method source-ens --keep last",
             "--keep has no effect with --method source-ens"},
        Case{"LiveWithoutReport", "adapt " GOOD " " DIGITS " --live --no-report", "leave one of the two out"},
        Case{"ReportWithoutHistory", "adapt " GOOD " " DIGITS " --report --no-history", "leave out --no-history"},
        Case{"LiveWithoutHistory", "adapt " GOOD " " DIGITS " --live --no-history", "leave out --no-history"},
        Case{"RuleOfOneModel", "predict good.safetensors --data three --rule vote",
             "--rule vote: good.safetensors is one model, so there is nothing to combine"},
        Case{"RuleOfOneSource", "export good.safetensors --rule vote --source 0 --card x.json",
             "--rule combines models, but --source exports one of them"},
        Case{"TemperatureOfHardLabels", "distill good.safetensors --target three --temperature 3 --out x.safetensors",
             "--temperature has no effect with --labels hard"},
        Case{"SplitBesideValidation",
             "train --data three --validation three --train-share 0.5 --architecture lenet --out x.safetensors",
             "--train-share has no effect with --validation"},
        Case{"FullBesideValidation",
             "train --data three --validation three --full --architecture lenet --out x.safetensors",
             "--full has no effect with --validation"},
        Case{"SurplusClassFolder", "evaluate three.safetensors --data four",
             "four has 4 class folders but the model knows 3 classes; unknown to the model: 4; rename or remove it"},
        Case{"ClassesTwice",
             "adapt " GOOD " --classes names.txt --source three.safetensors --classes names.txt " DIGITS,
             "--classes was given more than once; an option of one source follows its file, as in "
             "weights.pth:classes=VALUE"},
        Case{"TargetTwice", "adapt " GOOD " " DIGITS " " DIGITS, "--target was given more than once; give it once"},
        Case{"TextAsAModel", "inspect names.txt", "names.txt is neither a PyTorch nor a safetensors file"},
        Case{"SuggestOfAModel", "suggest good.safetensors", "good.safetensors is not a run folder; name the folder"},
        Case{"RunAsASource", "adapt --source finished " DIGITS, "with tributary continue finished"},
        Case{"MistypedCommand", "adpat " GOOD " " DIGITS, "there is no command 'adpat'; did you mean adapt;"},
        Case{"MistypedFlag", "adapt " GOOD " " DIGITS " --round 3", "--round is not an option; did you mean --rounds;"},
        Case{"MistypedFlagWithValue", "adapt " GOOD " --lamda-alpha=0.5", "did you mean --lambda-alpha;"},
        Case{"MistypedFlagOfAnAction", "data pack --data three --qality 3", "tributary data pack: --qality is not an"},
        Case{"FlagOfAnotherCommand", "predict good.safetensors --labels three",
             "--labels is not an option of predict, but of: adapt, suggest, continue, distill, report, data pack"},
        Case{"MissingAction", "data", "tributary data: name a command: make, check, pack;"},
        Case{"MistypedAction", "data pakk --data three", "there is no command 'pakk'; did you mean pack;"},
        Case{"BeginningOfAFlag", "train --data three --arch lenet",
             "--arch is not an option; did you mean --architecture;"},
        Case{"SurplusWord", "train three --out x",
             "'three' was not expected here; write it after a flag, as in: tributary train --data photos/webcam"},
        Case{"SurplusPictures", "adapt " GOOD " --target one-picture/a.png one-picture/b.png",
             "'one-picture/b.png' was not expected here; name the folder of the pictures, or a list file"},
        Case{"PicturesAsModels", "predict good.safetensors --data one-picture/a.png one-picture/b.png",
             "one-picture/b.png is a picture, not a model; name the folder of the pictures, or a list file, with "
             "--data"},
        Case{"OnnxAsAModel", "evaluate model.onnx --data three",
             "model.onnx is an ONNX file, which tributary writes but does not read"},
        Case{"DistillAMissingRun", "distill runs/none", "runs/none does not exist"},
        Case{"SizeForAModelFile", "adapt " GOOD " " DIGITS " --size 64",
             "--size describes weights of other programs, but good.safetensors is a Tributary model"},
        Case{"InterpolationForAModelFile", "adapt " GOOD " " DIGITS " --interpolation bicubic",
             "--interpolation describes weights of other programs"},
        Case{"ClassesForAModelFile", "inspect good.safetensors --classes list.txt", "--classes describes weights of"},
        Case{"OptionsOfASourceWithoutAName", "adapt --source good.safetensors:list.txt " DIGITS,
             "options of a source follow it as in good.safetensors:classes=list.txt"},
        Case{"SourcesWithAComma", "adapt --source good.safetensors,three.safetensors " DIGITS,
             "separate sources by spaces"},
        Case{"MistypedArchitecture", "train --data three --architecture le-net --out x", "did you mean lenet?"},
        Case{"MistypedDepth", "train --data three --architecture resnt18 --out x", "did you mean resnet18?"},
        Case{"UnknownDepth", "train --data three --architecture resnet20 --out x", "choose one of: lenet, dtn"},
        Case{"SameSourceTwice", "adapt " GOOD " " GOOD " " DIGITS, "good.safetensors:name=other"},
        Case{"UnknownOptionOfASource", "adapt --source good.safetensors:sise=3 " DIGITS, "no option 'sise' here"},
        Case{"InvalidOptionOfASource", "adapt --source good.safetensors:size=x " DIGITS, "--size x: not allowed"},
        Case{"SizeOfAModelFile", "adapt --source good.safetensors:size=64 " DIGITS, "holds its own size"},
        Case{"TrainPhotographsWithoutANetwork", "train --data photographs --out x.safetensors",
             "about 70x70; give pretrained weights for photographs with --init FILE, or name a network with "
             "--architecture, such as resnet18 or mobilenet_v3_small (tributary train --help-all lists them)"},
        Case{"TrainOverAnotherModel", "train --data three --architecture lenet --epochs 1 --out good.safetensors",
             "good.safetensors already exists and was trained with other options"},
        Case{"TrainOverAnotherFile", "train --data three --architecture lenet --epochs 1 --out file",
             "file already exists;"},
        Case{"DistillOverAModel", "distill good.safetensors --target three --out three.safetensors", "already exists"},
        Case{"TrainTooFewClassNames",
             "train --data digits/postal/train-images.idx --classes list.txt --out x.safetensors",
             "the model knows 2 classes"},
        Case{"UnknownMethod", "adapt " GOOD " " DIGITS " --method magic", "--method magic"},
        Case{"OracleOfAnotherMethod", "adapt " GOOD " " DIGITS " --method shot --oracle-labels digits", "no oracle"},
        Case{"UnknownMaSpace", "adapt " GOOD " " DIGITS " --method ma --ma-space sound", "sound"},
        Case{"NegativeSeed", "adapt " GOOD " " DIGITS " --seed -1", "--seed -1"},
        Case{"TooManyThreads", "adapt " GOOD " " DIGITS " --threads 100000", "--threads 100000"},
        Case{"MissingTestPictures", "adapt " GOOD " " DIGITS " --test nowhere", "nowhere"},
        Case{"ReportOfAMissingRun", "report nowhere", "nowhere is not a run folder"},
        Case{"ReportOfAModel", "report good.safetensors", "good.safetensors is not a run folder"},
        Case{"FigureOfAnEmptyFolder", "report empty --figure tsne", "empty is not a run folder"},
        Case{"BenchWithoutABenchmark", "bench empty.toml", "no [benchmark]"},
        Case{"BenchOfBrokenToml", "bench deep.toml", "deep.toml:1"},
        Case{"BenchUnknownMethod", "bench digits --methods magic", "--methods magic"},
        Case{"BenchInvalidSeeds", "bench digits --methods ma:x", "ma:x"},
        Case{"BenchSweepWithoutValues", "bench digits --sweep lambda_alpha", "OPTION=VALUE"},
        Case{"BenchUnknownSkew", "bench digits --skew middle", "--skew middle: choose one-class or long-tail"},
        Case{"BenchSetOfAnUnknownOption", "bench digits --set nonsense=1", "there is no option nonsense"},
        Case{"BenchSetOfAnInvalidValue", "bench digits --set batch=none", "--batch none"},
        Case{"BenchSetOfAFlagThatGrantsARight", "bench digits --set trust=true", "cannot be set here"},
        Case{"BenchSetOfAnOptionOfBench", "bench digits --set seed=0", "bench itself gives --seed to every adaptation"},
        Case{"BenchSetOfASource", "bench digits --set source=x", "bench itself gives --source"},
        Case{"BenchSetTwice", "bench digits --methods shot --set shot_beta=1,shot_beta=2",
             "the row shot would get --shot-beta twice"},
        Case{"BenchSetOfAnOptionOfARow", "bench digits --set variant=paper",
             "the row selective-published would get --variant twice"},
        Case{"BenchSetOfOptionsThatDoNotGoTogether", "bench digits --methods shot --set oracle_labels=x",
             "the row shot cannot be adapted: --oracle-labels belongs to"},
        Case{"BenchSweepOfAnOptionOfBench", "bench digits --sweep threads=1,2", "bench itself gives --threads"},
        Case{"BenchSweepOfAnUnknownOption", "bench digits --sweep nonsense=1,2", "there is no option nonsense"},
        Case{"TrustInAConfig", "adapt --config trust.toml " GOOD " " DIGITS, "model.trust cannot be set in a file"},
        Case{"TrustOfASource", "adapt --source good.safetensors:trust=true " DIGITS,
             "trust cannot be set for a source"},
        Case{"TrustOfASourceInAConfig", "adapt --config trust-list.toml " DIGITS, "trust cannot be set for a source"},
        Case{"TrustOfATableInAConfig", "adapt --config trust-table.toml " DIGITS, "trust cannot be set for a source"},
        Case{"TrustInANameInAConfig", "adapt --config trust-name.toml " DIGITS, "trust cannot be set for a source"},
        Case{"TooManyProcesses", "adapt " GOOD " " DIGITS " --processes 1024", "--processes 1024 needs at least"},
        Case{"ModelIsAPipe", "adapt --source pipe " DIGITS, "pipe is a device or a pipe"},
        Case{"ConfigIsAPipe", "adapt --config pipe " GOOD " " DIGITS, "pipe is a device or a pipe"},
        Case{"PictureIsAPipe", "adapt " GOOD " --target pipes", "pipes holds no pictures"},
        Case{"BenchSetWithoutValue", "bench digits --set x", "OPTION=VALUE"},
        Case{"BenchSetForNoRow", "bench digits --methods shot --set nrc_expanded=3", "uses it; nrc would"},
        Case{"BenchUnknownTarget", "bench digits --targets mars", "mars"},
        Case{"BenchWithoutItsData", "bench office-31", "--data"},
        Case{"BenchEmptyFolder", "bench office-31 --data empty", "not complete in empty"},
        Case{"BenchFileAsFolder", "bench digit-five --data file", "file is not a folder"},
        Case{"BenchTableWithAnOptionOfSpeed", "bench digits --batch 16",
             "--batch has no effect on bench digits; --set"},
        Case{"BenchPicturesOfOwnData", "bench office-31 --pictures 16", "--pictures has no effect on bench office-31"},
        Case{"BenchSpeedWithAnOptionOfTables", "bench speed --methods shot", "--methods belongs to tables"},
        Case{"CheckUnknownBenchmark", "data check nothing empty", "unknown benchmark nothing"},
        Case{"CheckMissingFolder", "data check office-31 nowhere", "nowhere is not a folder"},
        Case{"MakeZeroPictures", "data make digits x --pictures 0", "--pictures 0"},
        Case{"MakeUnknownFormat", "data make digits x --format gif", "gif"},
        Case{"PredictNothing", "predict good.safetensors", "--data"},
        Case{"PredictAnEmptyFolder", "predict good.safetensors --data empty", "empty holds no pictures"},
        Case{"PredictWithAnEmptyRun", "predict empty --data three", "empty is not a run folder"},
        Case{"InspectAnEmptyRun", "inspect empty", "empty is not a run folder"},
        Case{"ExportAnEmptyRun", "export empty --onnx x.onnx", "empty is not a run folder"},
        Case{"ExportTorchScriptBelowAFile", "export good.safetensors --torchscript file/x.pt", "file/x.pt"},
        Case{"TrainZeroEpochs", "train --data three --epochs 0 --out x.safetensors", "--epochs 0"},
        Case{"TrainOnPicturesWithoutFolders", "train --data bomb --out x.safetensors", "outside of any class folder"},
        Case{"DistillIntoAFolder", "distill good.safetensors --target three --out empty", "empty"},
        Case{"DistillMissingTarget", "distill good.safetensors --target nowhere --out x.safetensors", "nowhere"},
        Case{"TruncatedShard", "adapt " GOOD " --target cut.tar", "cut.tar is truncated"},
        Case{"ShardWithoutEndMarker", "adapt " GOOD " --target no-end.tar", "no-end.tar has no end marker"},
        Case{"ShardWithAFlippedBit", "adapt " GOOD " --target flipped.tar", "flipped.tar is not a tar archive"},
        Case{"ShardMemberTooLarge", "adapt " GOOD " --target endless.tar", "a.png needs 4,294,967,296 bytes"},
        Case{"ShardWithPathTraversal", "adapt " GOOD " --target outside.tar", "leads outside (../../a.png)"},
        Case{"ShardWithControlCharacters", "adapt " GOOD " --target escape.tar", "control characters (a?[2J.png)"},
        Case{"ShardWithDuplicateKey", "adapt " GOOD " --target twice.tar", "a.png is the second picture"},
        Case{"ShardWithoutPictures", "adapt " GOOD " --target no-pictures.tar", "no-pictures.tar holds no pictures"},
        Case{"ShardOfASparseFile", "adapt " GOOD " --target sparse.tar", "a.png is a sparse file"},
        Case{"MissingShards", "adapt " GOOD " --target 'x-{000000..000003}.tar'", "x-000000.tar does not exist"},
        Case{"ShardWithNonNumericLabel", "evaluate good.safetensors --data letters.tar", "a.cls holds 'mug'"},
        Case{"ShardWithTooManyClasses", "evaluate good.safetensors --data many-classes.tar", "a.png has label 10"},
        Case{"ShardWithoutLabels", "evaluate good.safetensors --data good.tar", "a.png has no label"},
        Case{"RawPixelsOutsideOfShards", "adapt " GOOD " --target ppm", "ppm holds no pictures"},
        Case{"PackWithoutData", "data pack --out x", "--data"},
        Case{"PackWithoutOut", "data pack --data three", "--out"},
        Case{"PackIntoANonEmptyFolder", "data pack --data three --out other-folder", "other-folder already exists"},
        Case{"PackIntoAFile", "data pack --data three --out file", "file already exists"},
        Case{"PackBelowAFile", "data pack --data three --out file/x", "file/x"},
        Case{"PackAMissingFolder", "data pack --data nowhere --out x", "nowhere does not exist"},
        Case{"PackAnEmptyFolder", "data pack --data empty --out x", "empty holds no pictures"},
        Case{"PackBadPictures", "data pack --data bad-pictures --out x/y/z", "bad-pictures/truncated.png"},
        Case{"PackMissingLabels", "data pack --data one-picture --labels --out x", "outside of any class folder"},
        Case{"PackAnUnknownFormat", "data pack --data three --out x --format gif", "gif"},
        Case{"PackZeroQuality", "data pack --data three --out x --quality 0", "--quality 0"},
        Case{"PackNegativeSize", "data pack --data three --out x --size -1", "--size -1"},
        Case{"PackZeroShardSize", "data pack --data three --out x --shard-megabytes 0", "--shard-megabytes 0"},
        Case{"PackADamagedShard", "data pack --data cut.tar --out x", "cut.tar is truncated"},
        Case{"DemoUnknownTarget", "demo --target mars", "mars"},
        Case{"NoGpu", "demo --device cuda --pictures 20", "--device cuda"}),
    [](const ::testing::TestParamInfo<Case>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tributary
