// SPDX-License-Identifier: Apache-2.0
// What flags, files and checks rely on in config.proto itself.
#include "proto/config/leaf.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "proto/config/config_check.h"
#include "proto/config/effective.h"
#include "proto/config/value_text.h"

namespace vixen::config {
namespace {

template <typename Config>
class ConfigProto : public ::testing::Test {};
using Configs = ::testing::Types<v1::ActorConfig, v1::LearnerConfig>;
TYPED_TEST_SUITE(ConfigProto, Configs);

TYPED_TEST(ConfigProto, LeafNamesAreUnique) {
  std::set<std::string> names;
  for (const Leaf& leaf : LeavesOf(*TypeParam::descriptor())) {
    EXPECT_TRUE(names.insert(leaf.name()).second) << leaf.name() << " is there twice";
  }
  EXPECT_GT(names.size(), 30u);
}

TYPED_TEST(ConfigProto, EverySettingHasHelpOfOneLine) {
  for (const Leaf& leaf : LeavesOf(*TypeParam::descriptor())) {
    EXPECT_FALSE(leaf.setting().help().empty()) << leaf.name();
    EXPECT_EQ(leaf.setting().help().find('\n'), std::string::npos) << leaf.name();
  }
}

TYPED_TEST(ConfigProto, DefaultsHaveNoFault) {
  const std::vector<Fault> faults = FindFaults(TypeParam());
  EXPECT_TRUE(faults.empty()) << faults.front().message;
}

TYPED_TEST(ConfigProto, FillingDefaultsSetsEveryLeafAndTwiceChangesNothing) {
  TypeParam config;
  FillDefaults(config);
  for (const Leaf& leaf : LeavesOf(*TypeParam::descriptor())) {
    const std::string name = leaf.name();
    // There is no default source, and by default no fault.
    const bool empty_by_default = name == "actor" || name == "offline" || name == "fault";
    if (leaf.field->is_repeated() && empty_by_default) continue;
    EXPECT_GT(CountOf(OwnerOf(config, leaf), *leaf.field), 0) << leaf.name();
  }
  const std::string once = config.SerializeAsString();
  FillDefaults(config);
  EXPECT_EQ(config.SerializeAsString(), once);
}

TEST(ValuesText, JoinsAListAndGivesTheDefaultOfWhatIsNotSet) {
  v1::ActorConfig config;
  for (const uint32_t action : {1, 19, 37}) config.mutable_environment()->add_actions(action);
  config.set_listen("here:1");
  std::map<std::string, std::string> text;
  for (const Leaf& leaf : LeavesOf(*config.GetDescriptor())) {
    text[leaf.name()] = ValuesText(config, leaf);
  }
  EXPECT_EQ(text["actions"], "1, 19, 37");
  EXPECT_EQ(text["listen"], "\"here:1\"");
  EXPECT_EQ(text["gamma"], "0.99");
  EXPECT_EQ(text["fill"], "");
}

TEST(Leaf, KnowsItsGroupAndOwner) {
  v1::ActorConfig config;
  config.mutable_environment()->set_steps(7);
  for (const Leaf& leaf : LeavesOf(*config.GetDescriptor())) {
    if (leaf.name() == "listen") {
      EXPECT_EQ(leaf.group(), "");
    }
    if (leaf.name() != "steps") continue;
    EXPECT_EQ(leaf.group(), "environment");
    EXPECT_EQ(&OwnerOf(config, leaf), &config.environment());
    EXPECT_EQ(CountOf(config.environment(), *leaf.field), 1);
  }
}

}  // namespace
}  // namespace vixen::config
