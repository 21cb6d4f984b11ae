// SPDX-License-Identifier: Apache-2.0
// An actor in this process over executors that compute nothing, and a loopback connection to it.
#pragma once

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "base/str_cat.h"
#include "proto/config/effective.h"
#include "server/actor.h"
#include "tests/scratch_folder.h"
#include "tests/server/collect_client.h"
#include "tests/server/fake_collector.h"
#include "tests/server/push_client.h"
#include "tests/server/tiny_dataset.h"

namespace vixen::server {

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    config.set_listen("127.0.0.1:0");
    config.set_metrics_listen("");
    config.set_dataset(folder.File("d.safetensors"));
    config.mutable_environment()->set_episodes(4);
    config.mutable_environment()->set_steps(8);
    for (auto set :
         {&v1::NetworkSettings::set_hidden1, &v1::NetworkSettings::set_hidden2,
          &v1::NetworkSettings::set_value_hidden, &v1::NetworkSettings::set_advantage_hidden,
          &v1::NetworkSettings::set_curiosity_hidden}) {
      (config.mutable_network()->*set)(16);
    }
  }
  void Start() {
    const auto dataset = TinyDataset();
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    ASSERT_TRUE((*dataset)->Write(config.dataset()).ok());
    config::FillDefaults(config);
    auto started = Actor::Start(config, MakeFakes(control));
    ASSERT_TRUE(started.ok()) << started.status();
    actor = *std::move(started);
    channel = Connect();
    info = InfoOf(channel);
  }
  std::shared_ptr<grpc::Channel> Connect() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(base::StrCat("127.0.0.1:", actor->port()),
                                     grpc::InsecureChannelCredentials(), arguments);
  }
  void TearDown() override {
    control.OpenGate();
    channel.reset();
    if (actor) actor->Stop(std::chrono::steady_clock::now() + std::chrono::seconds(10));
  }
  // Polls the books until they satisfy `test`.
  template <typename Test>
  ::testing::AssertionResult EventuallyBalance(Test&& test) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    v1::BalanceSheet sheet;
    do {
      sheet = BalanceOf(channel, "p", "g");
      if (test(sheet)) return ::testing::AssertionSuccess();
      std::this_thread::yield();
    } while (std::chrono::steady_clock::now() < deadline);
    return ::testing::AssertionFailure() << sheet.ShortDebugString();
  }
  grpc::Status StatusOfOpen(const v1::Open& open) {
    CollectClient client(channel);
    EXPECT_FALSE(client.Open(open));
    return client.Finish();
  }

  testing::ScratchFolder folder;
  v1::ActorConfig config;
  FakeControl control;
  std::unique_ptr<Actor> actor;
  std::shared_ptr<grpc::Channel> channel;
  v1::GetInfoResponse info;
};

}  // namespace vixen::server
