// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/scratch_folder.h"
#include "tool/doctor/finding.h"

namespace vixen::tool {
namespace {

using ::testing::HasSubstr;

TEST(DoctorConnection, ACertificateThatIsNotThereFailsWithItsName) {
  v1::TlsSettings tls;
  tls.set_tls_certificate("/none/actor.pem");
  tls.set_tls_key("/none/actor.key");
  tls.set_tls_ca("/none/ca.pem");
  const Finding finding = ExamineCertificates(tls);
  EXPECT_EQ(finding.verdict, Verdict::kFail);
  EXPECT_THAT(finding.text, HasSubstr("/none/"));
  EXPECT_NE(finding.remedy, "");
}

TEST(DoctorConnection, AnAddressThatIsNotLoopbackNeedsCertificatesOrLeave) {
  v1::TlsSettings tls;
  EXPECT_EQ(ExamineListenSecurity("127.0.0.1:1", tls).verdict, Verdict::kOk);
  EXPECT_EQ(ExamineListenSecurity("0.0.0.0:1", tls).verdict, Verdict::kFail);
  tls.set_tls_certificate("a.pem");
  EXPECT_EQ(ExamineListenSecurity("0.0.0.0:1", tls).verdict, Verdict::kFail);
  tls.set_tls_ca("ca.pem");
  EXPECT_EQ(ExamineListenSecurity("0.0.0.0:1", tls).verdict, Verdict::kOk);
  tls.Clear();
  tls.set_insecure(true);
  EXPECT_EQ(ExamineListenSecurity("0.0.0.0:1", tls).verdict, Verdict::kOk);
}

TEST(DoctorConnection, AnActorThatDoesNotAnswerFailsWithWhatToDo) {
  const Finding finding = ExamineActor("127.0.0.1:1", {}, "");
  EXPECT_EQ(finding.verdict, Verdict::kFail);
  EXPECT_THAT(finding.text, HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(finding.remedy, HasSubstr("start vixen-actor"));
}

TEST(DoctorConnection, ADamagedCheckpointIsFoundAndNoneIsNoFault) {
  const testing::ScratchFolder folder;
  EXPECT_EQ(ExamineCheckpoints(folder.File("")).verdict, Verdict::kOk);
  std::filesystem::create_directories(folder.path() / "checkpoints/checkpoint-000001");
  std::ofstream(folder.path() / "checkpoints/checkpoint-000001/state.textproto") << "nothing";
  const Finding finding = ExamineCheckpoints(folder.File(""));
  EXPECT_EQ(finding.verdict, Verdict::kFail);
  EXPECT_THAT(finding.remedy, HasSubstr("previous_ok"));
}

}  // namespace
}  // namespace vixen::tool
