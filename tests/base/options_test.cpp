#include "tributary/base/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <limits>
#include <sstream>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

enum class Method { kSelective, kShot, kNrc };

struct Settings {
  int64_t rounds = 20;
  double learning_rate = 0.001;
  bool mixup = true;
  bool json = false;
  std::string device = "cpu";
  std::vector<std::string> source;
  Method method = Method::kSelective;
  int64_t seed = 0;
};

struct Declared {
  Settings settings;
  OptionTable table;

  Declared() {
    table.integer("", "seed", &settings.seed, 0, std::numeric_limits<int64_t>::max(), "random seed");
    table.integer("adapt", "rounds", &settings.rounds, 1, 1000, "rounds of labelling");
    table.number("adapt", "learning_rate", &settings.learning_rate, -1, 1, "step size");
    table.flag("adapt", "mixup", &settings.mixup, "mix pictures | labels (Eq. 11)");
    table.choice("adapt", "method", &settings.method,
                 {{"selective", Method::kSelective}, {"shot", Method::kShot}, {"nrc", Method::kNrc}}, "method to use");
    table.text("run", "device", &settings.device, "device to compute on");
    table.texts("run", "source", &settings.source, "source model; repeatable");
    table.flag("run", "json", &settings.json, "print JSON").transient();
  }

  void parse(std::vector<std::string> arguments) {
    CLI::App app;
    table.add_to(app);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 reads them from the back
    app.parse(arguments);
  }

  void flags(const std::vector<std::string>& arguments) {
    parse(arguments);
    table.apply_flags();
  }

  void toml(std::string_view text) {
    table.read_toml_text(text, "my.toml");
    table.apply_toml();
  }
};

// The message of the error that an action throws; empty if it throws none.
template <typename Action>
std::string complaint(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Options, FlagsReachTheFields) {
  Declared d;
  d.flags({"--rounds", "7", "--learning-rate=1e-2", "--no-mixup", "--json", "--device", "cuda", "--source", "a.pt",
           "--source", "b c.pt", "--method", "nrc", "--seed", "9223372036854775807"});
  EXPECT_EQ(d.settings.rounds, 7);
  EXPECT_EQ(d.settings.learning_rate, 0.01);
  EXPECT_FALSE(d.settings.mixup);
  EXPECT_TRUE(d.settings.json);
  EXPECT_EQ(d.settings.device, "cuda");
  EXPECT_THAT(d.settings.source, ElementsAre("a.pt", "b c.pt"));
  EXPECT_EQ(d.settings.method, Method::kNrc);
  EXPECT_EQ(d.settings.seed, std::numeric_limits<int64_t>::max());
}

TEST(Options, FieldsAreUnchangedBeforeApply) {
  Declared d;
  d.parse({"--rounds", "7"});
  d.table.read_toml_text("adapt.method = 'shot'", "my.toml");
  EXPECT_EQ(d.settings.rounds, 20);
  EXPECT_EQ(d.settings.method, Method::kSelective);
  EXPECT_EQ(d.table.given("rounds"), "7");
  EXPECT_EQ(d.table.given("method"), "shot");
  EXPECT_EQ(d.table.given("device"), std::nullopt);
}

TEST(Options, FlagsWinOverToml) {
  Declared d;
  d.parse({"--rounds", "7", "--source", "x"});
  d.table.read_toml_text("[adapt]\nrounds = 9\nmixup = false\n[run]\nsource = ['a', 'b']\n", "my.toml");
  EXPECT_EQ(d.table.given("rounds"), "7");
  EXPECT_EQ(d.table.given("mixup"), "false");
  d.table.apply_toml();
  EXPECT_EQ(d.settings.rounds, 9);
  EXPECT_THAT(d.settings.source, ElementsAre("a", "b"));
  d.table.apply_flags();
  EXPECT_EQ(d.settings.rounds, 7);
  EXPECT_THAT(d.settings.source, ElementsAre("x"));
  EXPECT_FALSE(d.settings.mixup);
}

TEST(Options, AcceptsNegativeNumbersAndEmptyText) {
  Declared d;
  d.flags({"--learning-rate", "-0.5", "--device", ""});
  EXPECT_EQ(d.settings.learning_rate, -0.5);
  EXPECT_EQ(d.settings.device, "");
}

TEST(Options, LastOfFlagAndNegationWins) {
  Declared d;
  d.flags({"--no-mixup", "--mixup", "--json", "--no-json"});
  EXPECT_TRUE(d.settings.mixup);
  EXPECT_FALSE(d.settings.json);
}

TEST(Options, ARepeatableFlagTakesAllValuesUpToTheNextFlag) {
  Declared d;
  d.flags({"--source", "a.pt", "b.pt", "--rounds", "7", "--source", "c.pt"});
  EXPECT_THAT(d.settings.source, ElementsAre("a.pt", "b.pt", "c.pt"));
  EXPECT_EQ(d.settings.rounds, 7);
}

TEST(Options, RejectsARepeatedSingleFlag) {
  Declared d;
  EXPECT_THROW(d.parse({"--rounds", "7", "--rounds", "8"}), CLI::ParseError);
}

TEST(Options, AcceptsTomlIntegersAsNumbers) {
  Declared d;
  d.toml("[adapt]\nlearning_rate = 1\n");
  EXPECT_EQ(d.settings.learning_rate, 1.0);
}

TEST(Options, ASecondFileReplacesTheFirst) {
  Declared d;
  d.table.read_toml_text("adapt.rounds = 3", "a.toml");
  d.table.read_toml_text("seed = 4", "b.toml");
  EXPECT_EQ(d.table.given("rounds"), std::nullopt);
  d.table.apply_toml();
  EXPECT_EQ(d.settings.rounds, 20);
  EXPECT_EQ(d.settings.seed, 4);
}

TEST(Options, UnknownKeysAreReportedWithLineAndSuggestion) {
  Declared d;
  EXPECT_EQ(complaint([&] { d.toml("seed = 1\n[adapt]\nmixup = true\nruonds = 3\n"); }),
            "my.toml:4: adapt.ruonds is not an option; did you mean adapt.rounds?");
  EXPECT_EQ(complaint([&] { d.toml("rounds = 3\n"); }),
            "my.toml:1: rounds is not an option; did you mean adapt.rounds?");
  EXPECT_EQ(complaint([&] { d.toml("[adpat]\n"); }), "my.toml:1: [adpat] is not a section; did you mean adapt?");
  EXPECT_EQ(complaint([&] { d.toml("[zzzzzz]\n"); }), "my.toml:1: [zzzzzz] is not a section; there are adapt, run");
  EXPECT_EQ(complaint([&] { d.toml("adapt = 3\n"); }), "my.toml:1: adapt must be a table; write [adapt]");
  EXPECT_THAT(complaint([&] { d.toml("[adapt]\nqqqqqqqqqqqq = 3\n"); }), HasSubstr("is not an option; remove it"));
}

TEST(Options, ValuesInTomlAreChecked) {
  std::string deep = "a";  // a table in a table in a table
  for (int level = 0; level < 100'000; ++level) deep += ".a";
  deep += " = 1";
  struct Case {
    const char* text;
    const char* expected;
  };
  const Case cases[] = {
      {"adapt.rounds = 0", "my.toml:1: adapt.rounds = 0: not allowed; choose 1 to 1000"},
      {"adapt.rounds = 1001", "adapt.rounds = 1001: not allowed; choose 1 to 1000"},
      {"adapt.rounds = 10.0", "adapt.rounds = 10.0: not allowed"},
      {"adapt.rounds = '10'", "adapt.rounds = \"10\": not allowed"},
      {"adapt.rounds = true", "adapt.rounds = true: not allowed"},
      {"adapt.rounds = [1]", "adapt.rounds = [1]: not allowed"},
      {"adapt.rounds = 1979-05-27", "adapt.rounds = 1979-05-27: not allowed"},
      {"[adapt.rounds]", "adapt.rounds = a table: not allowed"},
      {"adapt.rounds = 99999999999999999999", "my.toml:1: not TOML"},
      {"adapt.learning_rate = nan", "adapt.learning_rate = nan: not allowed; choose -1 to 1"},
      {"adapt.learning_rate = inf", "adapt.learning_rate = inf: not allowed"},
      {"adapt.learning_rate = -inf", "adapt.learning_rate = -inf: not allowed"},
      {"adapt.mixup = 1", "adapt.mixup = 1: not allowed; choose true or false"},
      {"adapt.method = 'shto'", "not allowed; choose selective, shot, nrc"},
      {"seed = -1", "seed = -1: not allowed; choose at least 0"},
      {"run.device = 3", "run.device = 3: not allowed"},
      {"run.device = \"a\\u0000b\"", "not allowed; choose a text"},
      {"run.source = 'a.pt'", "run.source = \"a.pt\": not allowed"},
      {"run.source = ['a', 3]", "run.source = [\"a\", 3]: not allowed"},
      {"adapt.rounds = 1\nadapt.rounds = 2", "my.toml:2: not TOML"},
      {"adapt.rounds =", "my.toml:1: not TOML"},
      {"[adapt", "my.toml:1: not TOML"},
      {"\xff", "my.toml:1: not TOML"},
      {"[&", "my.toml:1: not TOML"},
      {"a\u0145p", "my.toml:1: not TOML"},
      {deep.c_str(), "my.toml has more than 2000 dots"},
  };
  for (const Case& c : cases) {
    Declared d;
    EXPECT_THAT(complaint([&] { d.toml(c.text); }), HasSubstr(c.expected)) << c.text;
    EXPECT_EQ(d.table.to_toml(), Declared().table.to_toml()) << c.text;
  }
}

TEST(Options, FlagsThatGrantARightCannotBeSetInAFile) {
  bool trust = false;
  OptionTable table;
  table.flag("model", "trust", &trust, "run code").flag_only();
  EXPECT_THAT(test::message_of<InputError>([&] { table.read_toml_text("[model]\ntrust = true\n", "run.toml"); }),
              testing::HasSubstr("run.toml:2: model.trust cannot be set in a file"));
  EXPECT_THAT(table.to_markdown(), testing::Not(testing::HasSubstr("`model.trust`")));
}

TEST(Options, ValuesOfFlagsAreChecked) {
  struct Case {
    std::vector<std::string> arguments;
    const char* expected;
  };
  const Case cases[] = {
      {{"--rounds", "0"}, "--rounds 0: not allowed; choose 1 to 1000"},
      {{"--rounds", "ten"}, "--rounds ten: not allowed; choose 1 to 1000"},
      {{"--rounds", "10.0"}, "--rounds 10.0: not allowed"},
      {{"--rounds", "10 "}, "--rounds 10 : not allowed"},
      {{"--rounds", ""}, "--rounds : not allowed"},
      {{"--rounds", "99999999999999999999"}, "--rounds 99999999999999999999: not allowed"},
      {{"--learning-rate", "nan"}, "--learning-rate nan: not allowed; choose -1 to 1"},
      {{"--learning-rate", "inf"}, "--learning-rate inf: not allowed"},
      {{"--learning-rate", "1e999"}, "--learning-rate 1e999: not allowed"},
      {{"--learning-rate", "0.1x"}, "--learning-rate 0.1x: not allowed"},
      {{"--method", "selectiv"}, "choose selective, shot, nrc; did you mean selective?"},
      {{"--device", "\xff"}, "--device ?: not allowed; choose a text in UTF-8"},
  };
  for (const Case& c : cases) {
    Declared d;
    EXPECT_THAT(complaint([&] { d.flags(c.arguments); }), HasSubstr(c.expected));
  }
}

TEST(Options, GivenValidatesItsValue) {
  Declared d;
  d.parse({"--method", "bait"});
  EXPECT_THAT(complaint([&] { (void)d.table.given("method"); }), HasSubstr("--method bait: not allowed"));
}

TEST(Options, TomlRoundTripsEveryValue) {
  Declared a;
  a.settings.rounds = 999;
  a.settings.learning_rate = 0.1 + 0.2;  // 0.30000000000000004
  a.settings.mixup = false;
  a.settings.json = true;
  a.settings.device = "quote \" back \\ tab \t del \x7f é █";
  a.settings.source = {"a.pt", "", "b'\n.pt"};
  a.settings.method = Method::kShot;
  const std::string text = a.table.to_toml();
  EXPECT_EQ(text,
            "seed = 0\n"
            "\n[adapt]\nrounds = 999\nlearning_rate = 0.30000000000000004\nmixup = false\nmethod = \"shot\"\n"
            "\n[run]\ndevice = \"quote \\\" back \\\\ tab \\u0009 del \\u007F é █\"\n"
            "source = [\"a.pt\", \"\", \"b'\\u000A.pt\"]\n");
  Declared b;
  b.toml(text);
  EXPECT_EQ(b.table.to_toml(), text);
  EXPECT_EQ(b.settings.learning_rate, 0.1 + 0.2);
  EXPECT_EQ(b.settings.device, a.settings.device);
  EXPECT_EQ(b.settings.source, a.settings.source);
  EXPECT_FALSE(b.settings.json) << "transient options are not part of a run";
}

TEST(Options, ExtremeNumbersRoundTripThroughToml) {
  for (const double value : {0.0, -0.0, 1.0, 5e-324, 1e-5, 0.1, 1e22, 1.7976931348623157e308, -1e100}) {
    double field = 0;
    OptionTable table;
    table.number("a", "x", &field, std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max(), "");
    field = value;
    const std::string text = table.to_toml();
    field = 7;
    table.read_toml_text(text, "x.toml");
    table.apply_toml();
    EXPECT_EQ(std::memcmp(&field, &value, sizeof value), 0) << text;
  }
}

TEST(Options, HelpAndDocsListAllowedValues) {
  Declared d;
  CLI::App app;
  d.table.add_to(app);
  EXPECT_THAT(app.help(),
              AllOf(HasSubstr("--rounds COUNT"), HasSubstr("(default 20; 1 to 1000)"), HasSubstr("--no-mixup"),
                    HasSubstr("TOML section [adapt]:"), HasSubstr("(default cpu)"), HasSubstr("selective|shot|nrc")));
  EXPECT_THAT(d.table.to_markdown(),
              AllOf(HasSubstr("| flag | TOML key | default | allowed | what it does |"),
                    HasSubstr("| `--rounds` | `adapt.rounds` | `20` | 1 to 1000 | rounds of labelling |"),
                    HasSubstr("| `--mixup`, `--no-mixup` | `adapt.mixup` | `true` |"),
                    HasSubstr("mix pictures \\| labels"), HasSubstr("| `--seed` | `seed` | `0` | at least 0 |")));
}

TEST(Options, AliasesWorkAsFlagAndKey) {
  struct Renamed {
    int64_t rounds = 20;
    bool graph = true;
    OptionTable table;
    Renamed() {
      table.integer("adapt", "rounds", &rounds, 1, 1000, "").alias("iterations").alias("outer_steps");
      table.flag("adapt", "cuda_graph", &graph, "").alias("record");
    }
    void parse(std::vector<std::string> arguments) {
      CLI::App app;
      table.add_to(app);
      std::reverse(arguments.begin(), arguments.end());
      app.parse(arguments);
    }
  };
  Renamed flags;
  flags.parse({"--outer-steps", "7", "--no-record"});
  EXPECT_EQ(flags.table.given("rounds"), "7");
  flags.table.apply_flags();
  EXPECT_EQ(flags.rounds, 7);
  EXPECT_FALSE(flags.graph);
  EXPECT_EQ(flags.table.to_toml(), "[adapt]\nrounds = 7\ncuda_graph = false\n") << "written under the new names";
  EXPECT_EQ(flags.table.to_markdown().find("iterations"), std::string::npos);
  EXPECT_EQ(flags.table.help(HelpDetail::kAll).find("record"), std::string::npos);

  Renamed toml;
  toml.table.read_toml_text("[adapt]\niterations = 3\nrecord = false\n", "old.toml");
  toml.table.apply_toml();
  EXPECT_EQ(toml.rounds, 3);
  EXPECT_FALSE(toml.graph);
  EXPECT_THAT(complaint([&] { toml.table.read_toml_text("[adapt]\niterations = 0\n", "old.toml"); }),
              HasSubstr("adapt.iterations = 0: not allowed"));
  EXPECT_THAT(complaint([&] { toml.table.read_toml_text("[adapt]\nrounds = 1\niterations = 2\n", "old.toml"); }),
              HasSubstr("old name are both given; keep adapt.rounds"));

  Renamed both;
  EXPECT_THROW(both.parse({"--rounds", "7", "--iterations", "8"}), CLI::ParseError);
}

TEST(Options, KeysThatAreAbsentThereHaveTheirDefaults) {
  OptionTable table;
  int64_t rounds = 20;
  std::string keep = "auto";
  table.integer("adapt", "rounds", &rounds, 1, 100, "rounds");
  table.text("adapt", "keep", &keep, "round to keep");
  EXPECT_THAT(differences("[adapt]\nrounds = 20\n", table.configuration()), ElementsAre());
  keep = "last";
  EXPECT_THAT(differences("[adapt]\nrounds = 20\n", table.configuration()),
              ElementsAre("adapt.keep: absent there, \"last\" here"));
}

TEST(Options, ConfigurationsWithAliasesCompareEqual) {
  int64_t rounds = 20;
  OptionTable table;
  table.integer("adapt", "rounds", &rounds, 1, 1000, "").alias("iterations");
  EXPECT_THAT(differences("[adapt]\niterations = 20\n", table.configuration()), ElementsAre());
  EXPECT_THAT(differences("[adapt]\nrounds = 20\n", table.configuration()), ElementsAre());
  EXPECT_THAT(differences("[adapt]\niterations = 10\n", table.configuration()),
              ElementsAre("adapt.rounds: 10 there, 20 here"));
}

// A table with groups and with options that belong to one method.
struct Grouped {
  std::string method = "shot";
  int64_t rounds = 1, neighbours = 2;
  double beta = 3;
  bool rare = false;
  OptionTable table;
  CLI::App app;

  Grouped() {
    table.text("", "method", &method, "method to use");
    table.flag("", "rare", &rare, "for experts");
    table.only_with("method", "shot", [&] {
      table.integer("", "rounds", &rounds, 1, 9, "rounds of shot");
      table.number("shot", "beta", &beta, 0, 9, "weight of shot");
    });
    table.only_with("method", "nrc", [&] { table.integer("nrc", "neighbours", &neighbours, 1, 9, "of nrc"); });
    table.help_group("Method", {"method", "rounds"});
    table.add_to(app);
  }

  // The help that these arguments print.
  std::string help(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());
    std::ostringstream out;
    try {
      app.parse(arguments);
    } catch (const CLI::ParseError& error) {
      app.exit(error, out, out);
    }
    return out.str();
  }
};

TEST(Options, ShortHelpShowsGroupsAndPointsToTheFullHelp) {
  const std::string text = Grouped().help({"--help"});
  EXPECT_THAT(text, AllOf(HasSubstr("Method:"), HasSubstr("--method NAME"), HasSubstr("--rounds COUNT"),
                          HasSubstr("--help-all"), HasSubstr("--method NAME --help")));
  for (const char* hidden : {"--rare", "--beta", "--neighbours"}) EXPECT_EQ(text.find(hidden), std::string::npos);
}

TEST(Options, FullHelpShowsEveryOption) {
  EXPECT_THAT(Grouped().help({"--help-all"}), AllOf(HasSubstr("--rare"), HasSubstr("Only with --method shot:"),
                                                    HasSubstr("--beta NUMBER"), HasSubstr("Only with --method nrc:"),
                                                    HasSubstr("--neighbours COUNT"), HasSubstr("--rounds COUNT")));
}

TEST(Options, LongListsAreInTheFullHelpOnly) {
  OptionTable table;
  std::string network;
  table.text("", "architecture", &network, "network, such as lenet").in_full_help("; all names: lenet, dtn");
  table.help_group("Network", {"architecture"});
  EXPECT_THAT(table.help(HelpDetail::kAll), HasSubstr("such as lenet; all names: lenet, dtn\n"));
  EXPECT_EQ(table.help(HelpDetail::kShort).find("all names"), std::string::npos);
  EXPECT_EQ(table.to_markdown().find("all names"), std::string::npos);
}

TEST(Options, HelpOfAMethodShowsOnlyItsOptions) {
  const std::string nrc = Grouped().help({"--method", "nrc", "--help"});
  EXPECT_THAT(nrc, HasSubstr("--neighbours COUNT"));
  for (const char* hidden : {"--rare", "--beta", "--rounds"}) EXPECT_EQ(nrc.find(hidden), std::string::npos);
  EXPECT_THAT(Grouped().help({"--method", "shot", "--help"}), AllOf(HasSubstr("--beta NUMBER"), HasSubstr("--rounds")));
}

TEST(Options, InvalidDeclarationsAreLogicErrors) {
  Declared d;
  int64_t field = 5;
  EXPECT_THROW(d.table.integer("other", "rounds", &field, 1, 9, ""), std::logic_error);
  EXPECT_THROW(d.table.integer("other", "limit", &field, 6, 9, ""), std::logic_error);
  EXPECT_THROW(d.table.integer("other", "in-valid", &field, 1, 9, ""), std::logic_error);
  EXPECT_THROW((void)d.table.given("nothing"), std::logic_error);
}

TEST(Options, ErrorsNameAMissingFile) {
  Declared d;
  EXPECT_THAT(complaint([&] { d.table.read_toml("/nowhere/my.toml"); }), HasSubstr("/nowhere/my.toml: no such file"));
}

TEST(Differences, NameTheKeyAndBothValues) {
  EXPECT_THAT(differences("[adapt]\nrounds = 10\nlr = 0.1\n", "[adapt]\nrounds = 20\nlr = 0.1\n"),
              ElementsAre("adapt.rounds: 10 there, 20 here"));
  EXPECT_THAT(differences("a = 1\n[s]\nx = ['p']\n", "[s]\nx = ['p', 'q']\ny = true\n"),
              ElementsAre("a: 1 there, absent here", "s.x: [\"p\"] there, [\"p\", \"q\"] here",
                          "s.y: absent there, true here"));
  EXPECT_THAT(differences("a = 1", "a = 1 # the same"), ElementsAre());
  EXPECT_THAT(differences("\"a\\n\" = 07:32:00", ""), ElementsAre("a?: 07:32:00 there, absent here"));
  EXPECT_THAT(complaint([] { differences("a =", ""); }), HasSubstr("the configuration there:1: not TOML"));
}

TEST(OptionTable, OldNamesOfValuesAreReadFromFilesOnly) {
  OptionTable table;
  std::vector<std::string> parts;
  std::string kind = "new";
  table.texts("", "parts", &parts, "parts").renamed_value("old", "new");
  table.text("", "kind", &kind, "kind").renamed_value("old", "new");
  table.read_toml_text("parts = [\"a\", \"old\"]\nkind = \"old\"\n", "x.toml");
  table.apply_toml();
  EXPECT_EQ(parts, (std::vector<std::string>{"a", "new"}));
  EXPECT_EQ(kind, "new");
  EXPECT_TRUE(differences("parts = [\"a\", \"old\"]\nkind = \"new\"\n", table.configuration()).empty());
  table.set_flag("", "kind", "old");
  table.apply_flags();
  EXPECT_EQ(kind, "old");
}

TEST(OptionTable, ItemsOfTextsMayBeTables) {
  OptionTable table;
  std::vector<std::string> sources;
  table.texts("", "source", &sources, "sources");
  table.read_toml_text("[[source]]\nfile = \"a.pth\"\nsize = 64\nclasses = \"a.txt\"\n[[source]]\nfile = \"b.pth\"\n",
                       "x.toml");
  table.apply_toml();
  EXPECT_EQ(sources, (std::vector<std::string>{"a.pth:classes=a.txt,size=64", "b.pth"}));
  EXPECT_THROW(table.read_toml_text("[[source]]\nsize = 64\n", "x.toml"), InputError);
}

}  // namespace
}  // namespace tributary
