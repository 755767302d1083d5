#include "tributary/launch/rank_info.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using Table = std::map<std::string, std::string>;

RankInfo rank_info_of(const Table& table) {
  return read_rank_info([&](const std::string& name) -> std::optional<std::string> {
    const auto found = table.find(name);
    return found == table.end() ? std::nullopt : std::optional<std::string>(found->second);
  });
}

std::string error_of(const Table& table) {
  return test::message_of<InputError>([&] { rank_info_of(table); });
}

void expect_rank(const Table& table, int64_t rank, int64_t size, int64_t local_rank, const std::string& address,
                 int port) {
  const RankInfo rank_info = rank_info_of(table);
  EXPECT_TRUE(rank_info.given);
  EXPECT_EQ(rank_info.rank, rank);
  EXPECT_EQ(rank_info.size, size);
  EXPECT_EQ(rank_info.local_rank, local_rank);
  EXPECT_EQ(rank_info.address, address);
  EXPECT_EQ(rank_info.port, port);
}

TEST(RankInfo, UsesTheStoreOfTorchrun) {
  const RankInfo rank_info = rank_info_of({{"RANK", "0"},
                                           {"WORLD_SIZE", "2"},
                                           {"MASTER_ADDR", "127.0.0.1"},
                                           {"MASTER_PORT", "29500"},
                                           {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                           {"TORCHELASTIC_RESTART_COUNT", "3"}});
  EXPECT_TRUE(rank_info.store_hosted_by_launcher);
  EXPECT_EQ(rank_info.attempt, "3");
}

TEST(RankInfo, IsASingleRankWithoutALauncher) {
  const RankInfo rank_info = rank_info_of({{"PATH", "/bin"}, {"MASTER_PORT", "29500"}});
  EXPECT_FALSE(rank_info.given);
  EXPECT_EQ(rank_info.rank, 0);
  EXPECT_EQ(rank_info.size, 1);
  EXPECT_EQ(rank_info.address, "127.0.0.1");
}

TEST(RankInfo, IsReadFromTorchrun) {
  expect_rank({{"RANK", "5"},
               {"WORLD_SIZE", "8"},
               {"LOCAL_RANK", "1"},
               {"LOCAL_WORLD_SIZE", "4"},
               {"MASTER_ADDR", "10.0.0.7"},
               {"MASTER_PORT", "29500"}},
              5, 8, 1, "10.0.0.7", 29500);
}

TEST(RankInfo, DefaultsToTheLoopback) {
  expect_rank({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "4000"}}, 1, 2, 1, "127.0.0.1", 4000);
}

TEST(RankInfo, ASingleRankNeedsNoPort) {
  expect_rank({{"RANK", "0"}, {"WORLD_SIZE", "1"}}, 0, 1, 0, "127.0.0.1", 0);
}

TEST(RankInfo, IsReadFromOpenMpi) {
  expect_rank({{"OMPI_COMM_WORLD_RANK", "2"},
               {"OMPI_COMM_WORLD_SIZE", "4"},
               {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
               {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
               {"MASTER_PORT", "4000"}},
              2, 4, 2, "127.0.0.1", 4000);
}

TEST(RankInfo, IsReadFromMpich) {
  expect_rank({{"PMI_RANK", "3"},
               {"PMI_SIZE", "4"},
               {"MPI_LOCALRANKID", "1"},
               {"MASTER_ADDR", "head"},
               {"MASTER_PORT", "4000"}},
              3, 4, 1, "head", 4000);
}

const Table kSrun = {{"SLURM_JOB_ID", "100"},
                     {"SLURM_STEP_ID", "3"},
                     {"SLURM_PROCID", "6"},
                     {"SLURM_LOCALID", "2"},
                     {"SLURM_NTASKS", "8"},
                     {"SLURM_STEP_NUM_TASKS", "8"},
                     {"SLURM_JOB_NODELIST", "n[1-4]"},
                     {"SLURM_STEP_NODELIST", "n[3-4]"}};

TEST(RankInfo, IsReadFromSrun) {
  expect_rank(kSrun, 6, 8, 2, "n3", 20000 + 100 * 16 + 3);
  Table named = kSrun;
  named["MASTER_ADDR"] = "head";
  named["MASTER_PORT"] = "4000";
  expect_rank(named, 6, 8, 2, "head", 4000);
}

TEST(RankInfo, IsASingleRankInBatchScriptsAndSalloc) {
  Table script = kSrun;
  script["SLURM_PROCID"] = script["SLURM_LOCALID"] = "0";
  Table shell = script;
  script.erase("SLURM_STEP_ID");
  EXPECT_FALSE(rank_info_of(script).given);
  shell["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_FALSE(rank_info_of(shell).given);
}

TEST(RankInfo, TorchrunTakesPrecedenceOverSlurm) {
  Table both = kSrun;
  both.insert({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "n3"}, {"MASTER_PORT", "9"}});
  expect_rank(both, 1, 2, 1, "n3", 9);
}

TEST(RankInfo, RejectsInvalidValues) {
  const Table good = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "4000"}};
  const auto error_with = [&](const std::string& name, const std::string& value) {
    Table table = good;
    table[name] = value;
    return error_of(table);
  };
  EXPECT_EQ(error_with("RANK", "abc"),
            "the environment variable RANK is 'abc', but must be an integer from 0 to 1048576; correct it");
  EXPECT_EQ(error_with("RANK", "2"), "RANK is 2, but WORLD_SIZE is 2; ranks start at 0");
  EXPECT_NE(error_with("RANK", "-1").find("RANK is '-1'"), std::string::npos);
  EXPECT_NE(error_with("WORLD_SIZE", "0").find("WORLD_SIZE is '0'"), std::string::npos);
  EXPECT_NE(error_with("LOCAL_RANK", "1x").find("LOCAL_RANK is '1x'"), std::string::npos);
  EXPECT_NE(error_with("MASTER_PORT", "65536").find("from 1 to 65535"), std::string::npos);
  EXPECT_NE(error_with("MASTER_PORT", "").find("MASTER_PORT is not set"), std::string::npos);
  EXPECT_EQ(error_with("WORLD_SIZE", ""), "the environment has RANK but no WORLD_SIZE; set both, or none");
  EXPECT_EQ(error_with("RANK", ""), "the environment has WORLD_SIZE but no RANK; set both, or none");
}

TEST(RankInfo, SeveralMachinesNeedAnAddress) {
  const std::string message = error_of({{"OMPI_COMM_WORLD_RANK", "2"},
                                        {"OMPI_COMM_WORLD_SIZE", "8"},
                                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                        {"MASTER_PORT", "4000"}});
  EXPECT_NE(message.find("4 of 8 processes are on this machine, but MASTER_ADDR"), std::string::npos) << message;
}

TEST(FirstHost, IsReadFromSlurmLists) {
  EXPECT_EQ(first_host("node7"), "node7");
  EXPECT_EQ(first_host("node7,node9"), "node7");
  EXPECT_EQ(first_host("node[003-005,9]"), "node003");
  EXPECT_EQ(first_host("node[9,11-12],gpu1"), "node9");
  EXPECT_EQ(first_host("gpu1,node[1-2]"), "gpu1");
  EXPECT_EQ(first_host("rack[2-3]n[04,07].example"), "rack2n04.example");
  EXPECT_THROW(first_host("node[1-2"), InputError);
}

}  // namespace
}  // namespace tributary
