// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/program.h"
#include "tests/scratch_folder.h"
#include "tests/server/tiny_dataset.h"

namespace vixen {

// A folder with a tiny dataset, and one vixen-actor on it.
class OneActorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto tiny = server::TinyDataset(400);
    ASSERT_TRUE(tiny.ok()) << tiny.status();
    ASSERT_TRUE((*tiny)->Write(dataset).ok());
  }

  // `arguments` hold --dataset and --port_file; waits until it serves on `listeners` ports.
  void StartActor(const std::vector<std::string>& arguments, size_t listeners) {
    actor = vixen::testing::StartProgram(folder.path(), "vixen-actor", arguments);
    ports = actor->WaitForPorts(port_file);
    ASSERT_EQ(ports.size(), listeners) << actor->Errors();
  }

  vixen::testing::ScratchFolder folder;
  const std::string dataset = folder.File("d.safetensors");
  const std::string port_file = folder.File("ports");
  std::unique_ptr<base::ChildProcess> actor;
  std::vector<int> ports;
};

}  // namespace vixen
