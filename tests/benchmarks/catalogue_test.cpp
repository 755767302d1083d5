#include "tributary/benchmarks/catalogue.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "tests/support/mat.h"
#include "tests/support/pictures.h"
#include "tests/support/tar.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/benchmarks/hyper_parameters.h"
#include "tributary/data/digits/idx.h"
#include "tributary/data/listing.h"
#include "tributary/data/load.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> columns(const Benchmark& benchmark) {
  std::vector<std::string> all;
  for (const Domain& domain : benchmark.domains) all.push_back(domain.column);
  return all;
}

double figure(const char* name, const char* method, const char* domain) {
  const Benchmark known = benchmark(name);
  return paper_accuracy(known, known.methods, method, domain).value_or(-1);
}

std::vector<uint8_t> tiny_png() {
  return test::encode_png(test::plain_picture(2, 2, 10, 20, 30));
}

// Writes an IDX pair of 2 x 2 pictures with labels 0, 1, .., classes - 1, 0, ..; `images` is the name of the images
// file.
void write_idx_pair(const std::string& images, const std::string& labels, int count, int classes) {
  ImageSet set = test::image_set(2, 2, std::vector<std::string>(static_cast<size_t>(count)), {});
  set.pixels.resize(static_cast<size_t>(count * 12));
  Labels values{numbered_classes(classes), {}};
  for (int i = 0; i < count; ++i) values.values.push_back(i % classes);
  write_idx_images(images, set);
  write_idx_labels(labels, values);
}

// Writes one picture to each of the class folders c0 .. c(count - 1).
void write_classes(const TempDir& dir, const std::string& folder, int count) {
  for (int k = 0; k < count; ++k) dir.write(fmt::format("{}/c{}/a.png", folder, k), tiny_png());
}

std::string problem_of(const std::vector<DomainCheck>& checks, size_t domain) {
  return checks.at(domain).problem;
}

TEST(Catalogue, HasTheDomainsOfThePaper) {
  EXPECT_THAT(benchmark_names(), ElementsAre("digit-five", "office-31", "office-home", "domainnet", "pacs"));
  EXPECT_THAT(columns(benchmark("digit-five")), ElementsAre("MN", "SV", "US", "MM", "SY"));
  EXPECT_THAT(columns(benchmark("office-31")), ElementsAre("A", "W", "D"));
  EXPECT_THAT(columns(benchmark("office-home")), ElementsAre("A", "C", "R", "P"));
  EXPECT_THAT(columns(benchmark("domainnet")), ElementsAre("C", "I", "P", "Q", "R", "S"));
  EXPECT_THAT(columns(benchmark("pacs")), ElementsAre("A", "C", "P", "S"));
  EXPECT_EQ(domain_named(benchmark("digit-five"), "MM").name, "mnist_m");
  EXPECT_EQ(domain_named(benchmark("office-home"), "real").settings, "office-home/real");
}

TEST(Catalogue, KnowsClassesAndArchitectures) {
  const std::vector<std::pair<const char*, int64_t>> classes = {
      {"digit-five", 10}, {"office-31", 31}, {"office-home", 65}, {"domainnet", 345}, {"pacs", 7}};
  for (const auto& [name, count] : classes) {
    const Benchmark known = benchmark(name);
    EXPECT_EQ(known.classes, count) << name;
    EXPECT_EQ(known.architecture, known.name == "digit-five" ? "dtn" : "resnet50");
    EXPECT_EQ(known.has_test_part, known.name == "digit-five" || known.name == "domainnet");
    EXPECT_THAT(known.source, HasSubstr("https://")) << name;
  }
}

TEST(PaperFigures, MatchTables1To4) {
  EXPECT_EQ(figure("digit-five", "selective", "svhn"), 90.7);
  EXPECT_EQ(figure("digit-five", "caida", "usps"), 98.6);
  EXPECT_EQ(figure("digit-five", "bait", "syn"), 90.5);
  EXPECT_EQ(figure("digit-five", "source-ens", "mnist_m"), 66.7);
  EXPECT_EQ(figure("office-31", "selective", "amazon"), 77.6);
  EXPECT_EQ(figure("office-31", "selective-oracle", "dslr"), 100.0);
  EXPECT_EQ(figure("office-31", "sfda", "webcam"), 93.8);
  EXPECT_EQ(figure("office-home", "nrc", "real"), 84.6);
  EXPECT_EQ(figure("office-home", "selective", "product"), 85.3);
  EXPECT_EQ(figure("office-home", "ma", "clipart"), 57.4);
  EXPECT_EQ(figure("domainnet", "nrc", "infograph"), 24.1);
  EXPECT_EQ(figure("domainnet", "decision", "quickdraw"), 18.9);
  EXPECT_EQ(figure("domainnet", "shot", "sketch"), 52.4);
  EXPECT_EQ(figure("domainnet", "selective-oracle", "painting"), 64.7);
}

TEST(PaperFigures, AreMissingIfThePaperHasNone) {
  EXPECT_EQ(figure("digit-five", "nrc", "mnist"), -1);
  EXPECT_EQ(figure("office-31", "nrc", "amazon"), -1);
  EXPECT_EQ(figure("office-31", "shot", "mnist"), -1);
  EXPECT_EQ(figure("pacs", "selective", "photo"), -1);
  EXPECT_TRUE(benchmark("pacs").methods.empty());
  EXPECT_TRUE(benchmark("office-home").ablations.empty());
  EXPECT_TRUE(benchmark("domainnet").sensitivity.empty());
}

TEST(PaperFigures, AblationsAndSensitivityMatchTheMainTables) {
  const Benchmark digits = benchmark("digit-five"), office = benchmark("office-31");
  EXPECT_EQ(paper_accuracy(digits, digits.ablations, "weights", "syn"), 95.4);
  EXPECT_EQ(paper_accuracy(office, office.ablations, "mixup", "webcam"), 98.9);
  EXPECT_EQ(paper_accuracy(office, office.sensitivity, "0.8", "dslr"), 100.0);
  // The rows with the default lambda_alpha equal those of the main tables.
  EXPECT_EQ(digits.sensitivity[0].accuracy, digits.methods[7].accuracy);
  EXPECT_EQ(office.sensitivity[1].accuracy, office.methods[7].accuracy);
}

// Finds typing errors. Three of the paper's averages differ from the means of their rows.
TEST(PaperFigures, AgreeWithThePrintedAverages) {
  int compared = 0;
  for (const std::string& name : benchmark_names()) {
    const Benchmark known = benchmark(name);
    for (const auto& rows : {known.methods, known.ablations, known.sensitivity}) {
      for (const PaperRow& row : rows) {
        ASSERT_EQ(row.accuracy.size(), known.domains.size()) << name << " " << row.key;
        const bool off = name == "office-31" && (row.key == "shot" || row.key == "source-ens" || row.key == "caida");
        const double mean =
            std::accumulate(row.accuracy.begin(), row.accuracy.end(), 0.0) / static_cast<double>(row.accuracy.size());
        EXPECT_EQ(std::abs(mean - row.average) > 0.0501, off) << name << " " << row.key << " " << mean;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 9 + 9 + 10 + 10 + 5 + 5 + 3 + 4);
}

TEST(Catalogue, ListsTheKnownNamesInErrors) {
  EXPECT_EQ(message_of<InputError>([] { benchmark("office31"); }),
            "unknown benchmark office31; did you mean office-31? choose one of digit-five, office-31, office-home, "
            "domainnet, pacs, or name a .toml file");
  EXPECT_EQ(message_of<InputError>([] { domain_named(benchmark("office-31"), "caltech"); }),
            "office-31 has no domain caltech; choose one of amazon, webcam, dslr");
}

TEST(Locate, FindsOffice31WithAndWithoutTheImagesFolder) {
  const TempDir dir;
  const Benchmark office = benchmark("office-31");
  write_classes(dir, "amazon/images", 2);
  write_classes(dir, "webcam", 2);
  const DomainData amazon = locate(office, office.domains[0], dir.path());
  EXPECT_EQ(amazon.train, dir / "amazon/images");
  EXPECT_EQ(amazon.test, amazon.train);
  EXPECT_EQ(amazon.missing, "");
  EXPECT_EQ(locate(office, office.domains[1], dir.path()).train, dir / "webcam");
  const DomainData dslr = locate(office, office.domains[2], dir.path());
  EXPECT_EQ(dslr.missing, "no folder dslr in " + dir.path());
  EXPECT_EQ(dslr.train, "");
}

TEST(Locate, AcceptsAllSpellingsOfRealWorld) {
  const Benchmark home = benchmark("office-home");
  for (const char* spelling : {"Real World", "RealWorld", "Real_World", "real", "Real-World"}) {
    const TempDir dir;
    dir.folder(spelling);
    EXPECT_EQ(locate(home, domain_named(home, "R"), dir.path()).train, dir / spelling);
  }
}

TEST(Locate, FindsPacs) {
  const TempDir dir;
  const Benchmark pacs = benchmark("pacs");
  for (const char* spelling : {"art_painting", "Cartoon", "photo", "sketch"}) write_classes(dir, spelling, 7);
  EXPECT_EQ(locate(pacs, domain_named(pacs, "A"), dir.path()).train, dir / "art_painting");
  EXPECT_EQ(locate(pacs, domain_named(pacs, "cartoon"), dir.path()).train, dir / "Cartoon");
  EXPECT_EQ(problem_of(check_domains(pacs, dir.path()), 3), "7 of about 3,929 pictures in " + (dir / "sketch"));
}

TEST(HyperParameters, PacsTakesThoseOfOffice31) {
  const HyperParameters pacs = paper_hyper_parameters("pacs"), office = paper_hyper_parameters("office-31");
  EXPECT_EQ(pacs.batch, 32);
  EXPECT_EQ(pacs.rounds, 20);
  EXPECT_EQ(pacs.lambda_ce, office.lambda_ce);
  EXPECT_EQ(pacs.lambda_alpha, office.lambda_alpha);
  EXPECT_THAT(message_of<InputError>([] { paper_hyper_parameters("vlcs"); }), HasSubstr("unknown benchmark"));
}

TEST(Locate, FindsTheListsOfDomainNet) {
  const TempDir dir;
  const Benchmark net = benchmark("domainnet");
  const Domain& clipart = net.domains[0];
  EXPECT_THAT(locate(net, clipart, dir.path()).missing, HasSubstr("no folder clipart"));
  dir.write("clipart/whale/a.png", tiny_png());
  EXPECT_THAT(locate(net, clipart, dir.path()).missing, HasSubstr("no list clipart_train.txt"));
  dir.write("clipart_train.txt", "clipart/whale/a.png 0\n");
  const DomainData half = locate(net, clipart, dir.path());
  EXPECT_THAT(half.missing, HasSubstr("no list clipart_test.txt"));
  EXPECT_EQ(half.train, "");
  dir.write("clipart_test.txt", "clipart/whale/a.png 0\n");
  const DomainData data = locate(net, clipart, dir.path());
  EXPECT_EQ(data.missing, "");
  LoadOptions options;
  options.preprocessing = {2, 2};
  EXPECT_EQ(load_labelled(data.train, options).images.size(), 1);
  EXPECT_EQ(load_images(data.test, options).size(), 1);
}

TEST(Locate, FindsDigitsAsIdxAndFolders) {
  const TempDir dir;
  const Benchmark digits = benchmark("digit-five");
  dir.folder("svhn");
  write_idx_pair(dir / "svhn/train-images.idx", dir / "svhn/train-labels.idx", 20, 10);
  EXPECT_THAT(locate(digits, digits.domains[1], dir.path()).missing, HasSubstr("no test-images.idx in"));
  write_idx_pair(dir / "svhn/test-images.idx", dir / "svhn/test-labels.idx", 10, 10);
  EXPECT_EQ(locate(digits, digits.domains[1], dir.path()).test, dir / "svhn/test-images.idx");

  dir.folder("MNIST");
  write_idx_pair(dir / "MNIST/train-images-idx3-ubyte", dir / "MNIST/train-labels-idx1-ubyte", 20, 10);
  write_idx_pair(dir / "MNIST/t10k-images-idx3-ubyte", dir / "MNIST/t10k-labels-idx1-ubyte", 10, 10);
  EXPECT_EQ(locate(digits, digits.domains[0], dir.path()).test, dir / "MNIST/t10k-images-idx3-ubyte");

  write_classes(dir, "MNIST-M/train", 10);
  write_classes(dir, "MNIST-M/test", 10);
  EXPECT_EQ(locate(digits, domain_named(digits, "MM"), dir.path()).train, dir / "MNIST-M/train");

  dir.folder("usps");
  write_idx_pair(dir / "usps/train-images.idx", dir / "usps/other-labels.idx", 20, 10);
  EXPECT_THAT(locate(digits, domain_named(digits, "US"), dir.path()).missing, HasSubstr("has no labels file"));
}

TEST(Locate, FindsDistributedDigitFiles) {
  const Benchmark digits = benchmark("digit-five");
  const struct {
    const char* domain;
    std::vector<const char*> files;
    const char *train, *test;
  } cases[] = {
      {"mnist", {"mnist_data.mat"}, "mnist_data.mat:train", "mnist_data.mat:test"},
      {"svhn", {"train_32x32.mat", "test_32x32.mat"}, "train_32x32.mat", "test_32x32.mat"},
      {"svhn", {"svhn_train_32x32.mat", "svhn_test_32x32.mat"}, "svhn_train_32x32.mat", "svhn_test_32x32.mat"},
      {"usps", {"usps_28x28.mat"}, "usps_28x28.mat:train", "usps_28x28.mat:test"},
      {"usps", {"zip.train.gz", "zip.test"}, "zip.train.gz", "zip.test"},
      {"mnist_m", {"mnistm_with_label.mat"}, "mnistm_with_label.mat:train", "mnistm_with_label.mat:test"},
      {"mnist_m",
       {"mnist_m_train_labels.txt", "mnist_m_test_labels.txt"},
       "mnist_m_train_labels.txt",
       "mnist_m_test_labels.txt"},
      {"syn", {"synth_train_32x32.mat", "synth_test_32x32.mat"}, "synth_train_32x32.mat", "synth_test_32x32.mat"},
      {"syn", {"syn_number.mat"}, "syn_number.mat:train", "syn_number.mat:test"},
  };
  for (const auto& [domain, files, train, test] : cases) {
    for (const std::string& folder : {std::string(), std::string(domain) + "/"}) {
      const TempDir dir;
      for (const char* file : files) dir.write(folder + file, "x");
      const DomainData found = locate(digits, domain_named(digits, domain), dir.path());
      EXPECT_EQ(found.missing, "");
      EXPECT_EQ(fs::path(found.train), fs::path(dir / (folder + train)));
      EXPECT_EQ(fs::path(found.test), fs::path(dir / (folder + test)));
    }
  }
}

TEST(Locate, NamesTheMissingDigitFiles) {
  const TempDir dir;
  const Benchmark digits = benchmark("digit-five");
  dir.write("svhn/train_32x32.mat", "x");
  EXPECT_EQ(locate(digits, domain_named(digits, "svhn"), dir.path()).missing,
            "no test-images.idx in " + (dir / "svhn") + ", nor test_32x32.mat or svhn_test_32x32.mat");
  EXPECT_EQ(locate(digits, domain_named(digits, "mnist"), dir.path()).missing,
            "no folder mnist in " + dir.path() + ", nor mnist_data.mat");
}

TEST(Locate, RejectsAMissingFolder) {
  const TempDir dir;
  const Benchmark office = benchmark("office-31");
  EXPECT_THAT(message_of<InputError>([&] { locate(office, office.domains[0], dir / "nowhere"); }),
              HasSubstr("nowhere is not a folder; name the folder of Office-31"));
}

TEST(CheckDomains, ComparesClasses) {
  const TempDir dir;
  for (const char* domain : {"Art", "Clipart", "Product"}) write_classes(dir, domain, 65);
  write_classes(dir, "Real World", 64);
  fs::rename(dir / "Product/c7", dir / "Product/seven");
  const auto checks = check_domains(benchmark("office-home"), dir.path());
  EXPECT_EQ(problem_of(checks, 0), "");
  EXPECT_EQ(checks[0].train_pictures, 65);
  EXPECT_EQ(checks[0].classes.size(), 65u);
  EXPECT_EQ(problem_of(checks, 2), "64 classes in " + (dir / "Real World") + " instead of 65");
  EXPECT_EQ(problem_of(checks, 3), "no class c7 in " + (dir / "Product") + ", unlike " + (dir / "Art"));
}

TEST(CheckDomains, ReportsMissingPictures) {
  const TempDir dir;
  write_classes(dir, "amazon", 31);
  const auto checks = check_domains(benchmark("office-31"), dir.path());
  EXPECT_EQ(problem_of(checks, 0), "31 of about 2,817 pictures in " + (dir / "amazon"));
  EXPECT_THAT(problem_of(checks, 1), HasSubstr("no folder webcam"));
}

TEST(CheckDomains, ReadsListsAndIdxFilesCompletely) {
  const TempDir dir;
  std::string list;
  for (int k = 0; k < 345; ++k) list += fmt::format("sketch/all/a.png {}\n", k);
  dir.write("sketch/all/a.png", tiny_png());
  dir.write("sketch_train.txt", list);
  dir.write("sketch_test.txt", "sketch/all/a.png 3\n");  // a test part may lack classes
  auto checks = check_domains(benchmark("domainnet"), dir.path());
  EXPECT_EQ(problem_of(checks, 5), "");
  EXPECT_EQ(checks[5].train_pictures, 345);
  EXPECT_EQ(checks[5].test_pictures, 1);
  dir.write("sketch_test.txt", "sketch/all/a.png 3\nsketch/all/gone.png 4\n");
  checks = check_domains(benchmark("domainnet"), dir.path());
  EXPECT_THAT(problem_of(checks, 5), HasSubstr("sketch_test.txt line 2 names sketch/all/gone.png"));

  dir.folder("usps");
  write_idx_pair(dir / "usps/train-images.idx", dir / "usps/train-labels.idx", 7291, 10);
  write_idx_pair(dir / "usps/test-images.idx", dir / "usps/test-labels.idx", 1860, 10);
  EXPECT_EQ(problem_of(check_domains(benchmark("digit-five"), dir.path()), 2), "");
  fs::resize_file(dir / "usps/test-images.idx", 1000);
  EXPECT_THAT(problem_of(check_domains(benchmark("digit-five"), dir.path()), 2), HasSubstr("test-images.idx should"));
  write_idx_pair(dir / "usps/test-images.idx", dir / "other-labels.idx", 1900, 10);
  EXPECT_THAT(problem_of(check_domains(benchmark("digit-five"), dir.path()), 2), HasSubstr("has 1860 labels but"));
}

TEST(CheckDomains, ReadsMatFilesCompletely) {
  const TempDir dir;
  const auto set = [](int32_t count) {
    test::MatBytes labels;
    for (int32_t i = 0; i < count; ++i) labels.push_back(static_cast<uint8_t>(1 + i % 10));
    const test::MatBytes pixels = test::mat_sevens(3 * labels.size());
    return test::mat_of({test::mat_deflated(test::mat_bytes_array("X", {1, 1, 3, count}, pixels)),
                         test::mat_deflated(test::mat_bytes_array("y", {count, 1}, labels))});
  };
  dir.write("svhn_train_32x32.mat", set(25000));
  dir.write("svhn_test_32x32.mat", set(9000));
  const DomainCheck svhn = check_domains(benchmark("digit-five"), dir.path()).at(1);
  EXPECT_EQ(svhn.problem, "");
  EXPECT_EQ(svhn.train_pictures, 25000);
  EXPECT_EQ(svhn.test_pictures, 9000);
  EXPECT_EQ(svhn.classes.size(), 10u);
  fs::resize_file(dir / "svhn_test_32x32.mat", 1000);
  EXPECT_THAT(problem_of(check_domains(benchmark("digit-five"), dir.path()), 1),
              HasSubstr("svhn_test_32x32.mat ends within the array at byte"));
}

TEST(CheckDomains, ReadsTheDistributedMnistM) {
  const TempDir dir;
  std::string list;
  for (int k = 0; k < 10; ++k) list += fmt::format("{:08}.png {}\n", k, k);
  for (const char* part : {"train", "test"}) {
    for (int k = 0; k < 10; ++k) dir.write(fmt::format("mnist_m/mnist_m_{}/{:08}.png", part, k), tiny_png());
    dir.write(fmt::format("mnist_m/mnist_m_{}_labels.txt", part), list);
  }
  const DomainCheck check = check_domains(benchmark("digit-five"), dir.path()).at(3);
  EXPECT_EQ(check.train_pictures, 10);
  EXPECT_EQ(check.classes.size(), 10u);
  EXPECT_THAT(check.problem, HasSubstr("10 of about 25,000 pictures"));
}

TEST(OwnBenchmark, IsReadFromToml) {
  const TempDir dir;
  write_classes(dir, "photos/north", 2);
  write_classes(dir, "photos/south-train", 2);
  write_classes(dir, "photos/south-test", 2);
  const std::string file = dir.write("mine.toml",
                                     "[benchmark]\nname = \"leaves\"\narchitecture = \"resnet18\"\n"
                                     "[[domain]]\nname = \"north\"\ntrain = \"photos/north\"\n"
                                     "[[domain]]\nname = \"south\"\ntrain = \"" +
                                         (dir / "photos/south-train") + "\"\ntest = \"photos/south-test\"\n");
  const Benchmark own = benchmark(file);
  EXPECT_EQ(own.name, "leaves");
  EXPECT_EQ(own.architecture, "resnet18");
  EXPECT_TRUE(own.has_test_part);
  EXPECT_THAT(columns(own), ElementsAre("north", "south"));
  EXPECT_EQ(paper_accuracy(own, own.methods, "shot", "north"), std::nullopt);
  EXPECT_EQ(locate(own, own.domains[0], "").test, dir / "photos/north");
  EXPECT_EQ(locate(own, own.domains[1], "").train, dir / "photos/south-train");
  EXPECT_EQ(locate(own, own.domains[1], "").test, dir / "photos/south-test");
  auto checks = check_domains(own, "");
  EXPECT_EQ(problem_of(checks, 0) + problem_of(checks, 1), "");
  EXPECT_EQ(checks[1].test_pictures, 2);

  dir.write("photos/south-test/c9/a.png", tiny_png());
  EXPECT_THAT(problem_of(check_domains(own, ""), 1), HasSubstr("an additional class c9"));
  dir.write("photos/both.mat", "x");
  const Benchmark parts = benchmark(dir.write("parts.toml",
                                              "[benchmark]\narchitecture = \"dtn\"\n"
                                              "[[domain]]\nname = \"a\"\ntrain = \"photos/both.mat:train\"\n"
                                              "[[domain]]\nname = \"b\"\ntrain = \"photos/both.mat:valid\"\n"));
  EXPECT_EQ(locate(parts, parts.domains[0], "").train, dir / "photos/both.mat:train");
  EXPECT_EQ(locate(parts, parts.domains[1], "").missing, (dir / "photos/both.mat:valid") + " does not exist");
  fs::rename(dir / "photos/north", dir / "photos/elsewhere");
  EXPECT_EQ(locate(own, own.domains[0], "").missing, (dir / "photos/north") + " does not exist");
}

TEST(OwnBenchmark, CanUseShards) {
  const TempDir dir;
  const auto shard = [](const std::string& label) {
    return test::tar_of({{"__classes__", "bike\nmug\n"}, {"1.png", "not opened"}, {"1.cls", label}});
  };
  dir.write("a/a-0.tar", shard("0"));
  dir.write("a/a-1.tar", shard("1"));
  dir.write("b.tar", shard("0"));
  const Benchmark own = benchmark(dir.write("own.toml",
                                            "[benchmark]\nname = \"own\"\narchitecture = \"lenet\"\n"
                                            "[[domain]]\nname = \"a\"\ntrain = \"a\"\ntest = \"a/a-{0..1}.tar\"\n"
                                            "[[domain]]\nname = \"b\"\ntrain = \"b.tar\"\n"));
  const std::vector<DomainCheck> checks = check_domains(own, "");
  EXPECT_EQ(checks[0].problem, "");
  EXPECT_EQ(checks[0].train_pictures, 2);
  EXPECT_EQ(checks[0].test_pictures, 2);
  EXPECT_EQ(checks[1].train_pictures, 1);
  EXPECT_EQ(checks[1].classes, (std::vector<std::string>{"bike", "mug"}));
}

TEST(OwnBenchmark, RejectsInvalidFiles) {
  const TempDir dir;
  const std::string about = "[benchmark]\nname = \"b\"\narchitecture = \"dtn\"\n";
  const std::string a = "[[domain]]\nname = \"a\"\ntrain = \"a\"\n", b = "[[domain]]\nname = \"b\"\ntrain = \"b\"\n";
  const std::pair<std::string, const char*> cases[] = {
      {"[benchmark", "own.toml:1: not TOML"},
      {a + b, "has no [benchmark]"},
      {"[benchmark]\nname = \"b\"\n" + a + b, "own.toml:1: [benchmark] has no architecture"},
      {about + a, "fewer than two domains"},
      {about + "domain = 3\n", "own.toml:4: unknown key domain; the keys are name, architecture"},
      {"domain = [1, 2]\n" + about, "own.toml:1: domain must be a table"},
      {about + a + a, "own.toml:7: two domains are named a"},
      {about + a + "[[domain]]\nname = \"c\"\n", "own.toml:7: a domain needs a name and training pictures"},
      {about + a + "[[domain]]\nname = \"../c\"\ntrain = \"c\"\n", "is not a valid file name"},
      {about + a + "[[domain]]\nname = 3\ntrain = \"c\"\n", "own.toml:8: name must be a string"},
      {about + a + b + "labels = \"b\"\n", "own.toml:10: unknown key labels; the keys are name, train, test"},
      {"colour = 1\n" + about + a + b, "own.toml:1: unknown key colour"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string file = dir.write("own.toml", text);
    EXPECT_THAT(message_of<InputError>([&file] { read_benchmark(file); }), HasSubstr(expected)) << text;
  }
  EXPECT_THAT(message_of<InputError>([&] { benchmark(dir / "no.toml"); }), HasSubstr("no.toml"));
}

// A folder of the real data, if available.
std::string real_data(const char* name) {
  const char* given = std::getenv("TRIBUTARY_DATA");
  return (given != nullptr ? fs::path(given) : fs::path(TRIBUTARY_SOURCE_DIR) / "../shared/data") / name;
}

TEST(CheckDomains, FindsPacsComplete) {
  const std::string root = real_data("pacs");
  if (!fs::is_directory(root)) GTEST_SKIP() << "skipped: no data in " << root;
  const auto checks = check_domains(benchmark("pacs"), root);
  const std::vector<int64_t> pictures = {2048, 2344, 1670, 3929};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(problem_of(checks, i), "");
    EXPECT_EQ(checks[i].train_pictures, pictures[i]);
    EXPECT_EQ(checks[i].classes.size(), 7u);
  }
}

TEST(CheckDomains, FindsOffice31Complete) {
  const std::string root = real_data("office31");
  if (!fs::is_directory(root)) GTEST_SKIP() << "skipped: no data in " << root;
  const Benchmark office = benchmark("office-31");
  const auto checks = check_domains(office, root);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(problem_of(checks, i), "");
    EXPECT_EQ(checks[i].train_pictures, office.domains[i].train_pictures);
    EXPECT_EQ(checks[i].classes.size(), 31u);
  }
  EXPECT_EQ(checks[0].train_pictures, 2817);
  EXPECT_EQ(checks[1].train_pictures, 795);
  EXPECT_EQ(checks[2].train_pictures, 498);
}

}  // namespace
}  // namespace tributary
