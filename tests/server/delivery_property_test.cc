// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "server/stream/delivery.h"
#include "tests/server/delivery_model.h"
#include "tests/server/finished_batches.h"

namespace vixen::server {
namespace {

constexpr uint64_t kRun = 77;
constexpr int kGroups = 3;
constexpr int kConsumers = 3;
constexpr int kSeeds = 60;
constexpr int kOperations = 2000;

class World {
 public:
  explicit World(uint64_t seed)
      : random_(seed),
        retain_(2 + static_cast<uint32_t>(Below(4))),
        delivery_({.run_id = kRun, .retain_batches = retain_, .max_credit = 4, .max_groups = 8},
                  nullptr) {}

  void Step() {
    switch (Below(11)) {
      case 0:
        return OpenOne();
      case 1:
        if (Below(3) == 0) CloseOne();
        return;
      case 2:
      case 3:
        return CreditOne();
      case 4:
        if (Below(8) == 0) StopOne();
        return;
      case 5:
        return AcknowledgeOne();
      case 6:
        return DurableOne();
      case 7:
        return ReserveOne();
      case 8:
        return PublishOne();
      default:
        return TakeOne();
    }
  }

  void Check() {
    const std::vector<Sheet> sheets = delivery_.Sheets();
    ASSERT_EQ(sheets.size(), models_.size());
    for (const Sheet& sheet : sheets) {
      const ModelGroup& model = models_.at(sheet.group);
      EXPECT_EQ(sheet.durable, model.Count(Place::kDurable));
      EXPECT_EQ(sheet.acknowledged, model.Count(Place::kAcknowledged));
      EXPECT_EQ(sheet.in_flight, model.Count(Place::kInFlight));
      EXPECT_EQ(sheet.retained, model.Count(Place::kRetained));
      EXPECT_EQ(sheet.dropped_overflow, model.Count(Place::kDroppedOverflow));
      EXPECT_EQ(sheet.dropped_lost, model.Count(Place::kDroppedLost));
      EXPECT_EQ(sheet.dropped_slow, model.Count(Place::kDroppedSlow));
      EXPECT_EQ(sheet.not_offered, model.Count(Place::kNotOffered));
      const auto sum = [&](uint64_t Tally::*field) {
        return sheet.durable.*field + sheet.acknowledged.*field + sheet.in_flight.*field +
               sheet.retained.*field + sheet.dropped_overflow.*field + sheet.dropped_lost.*field +
               sheet.dropped_slow.*field;
      };
      EXPECT_EQ(sheet.offered.batches, sum(&Tally::batches));
      EXPECT_EQ(sheet.offered.rows, sum(&Tally::rows));
      // The two launches under way may come on top when their stream died meanwhile.
      EXPECT_LE(model.Copies(), retain_ + 2);
    }
    // Every batch that neither the model's groups nor this test hold is freed.
    std::set<uint64_t> held;
    for (const auto& [name, model] : models_) {
      for (const ModelGroup::Item& item : model.items) {
        if (item.copy) held.insert(item.sequence);
      }
    }
    for (size_t sequence = 0; sequence < published_.size(); ++sequence) {
      EXPECT_EQ(!published_[sequence].expired(), held.contains(sequence)) << sequence;
    }
  }

 private:
  struct Launch {
    Delivery::Ticket ticket;
    std::map<std::string, StreamId> model;
  };

  uint64_t Below(uint64_t n) { return random_() % n; }

  std::pair<ModelGroup*, StreamId> AnyStream() {
    std::vector<std::pair<ModelGroup*, StreamId>> all;
    for (auto& [name, model] : models_) {
      for (const ModelGroup::Stream& stream : model.streams) all.push_back({&model, stream.id});
    }
    if (all.empty()) return {nullptr, 0};
    return all[Below(all.size())];
  }

  std::vector<SequenceRange> RandomRanges() {
    std::vector<SequenceRange> ranges;
    uint64_t at = Below(4);
    while (at < published_.size() && ranges.size() < 20) {
      const uint64_t last = at + Below(12);
      ranges.push_back({at, last});
      at = last + 1 + Below(6);
    }
    return ranges;
  }

  // One that may reach beyond what was published.
  SequenceRange AnyRange() {
    const uint64_t first = Below(published_.size());
    return {first, first + Below(4)};
  }

  void OpenOne() {
    const std::string group = "group" + std::to_string(Below(kGroups));
    const std::string consumer = "consumer" + std::to_string(Below(kConsumers));
    auto found = models_.find(group);
    bool live = false;
    if (found != models_.end()) {
      for (const ModelGroup::Stream& stream : found->second.streams) {
        live = live || stream.consumer == consumer;
      }
    }
    const std::vector<SequenceRange> held = RandomRanges();
    std::vector<SequenceRange> durable;
    if (!published_.empty() && Below(2) == 0) durable.push_back(AnyRange());
    const bool sent =
        durable.empty() || (found != models_.end() && found->second.WasSent(durable.front()));
    const auto opened = delivery_.Open(
        {.group = group, .consumer = consumer, .held = held, .durable = durable, .wake = [] {}});
    if (live) {
      EXPECT_EQ(opened.status().code(), absl::StatusCode::kAlreadyExists);
      return;
    }
    if (!sent) {
      EXPECT_EQ(opened.status().code(), absl::StatusCode::kNotFound);
      return;
    }
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->next_sequence, published_.size());
    found = models_.try_emplace(group, retain_, 4).first;
    for (const SequenceRange& range : durable) EXPECT_TRUE(found->second.Durable(range));
    found->second.Open(opened->id, consumer, held);
  }

  void CloseOne() {
    const auto [model, id] = AnyStream();
    if (model == nullptr) return;
    delivery_.Close(id);
    model->Close(id);
  }

  void CreditOne() {
    const auto [model, id] = AnyStream();
    if (model == nullptr) return;
    const int64_t n = static_cast<int64_t>(Below(5)) - 1;
    EXPECT_EQ(delivery_.AddCredit(id, n).ok(), model->Credit(id, n));
  }

  void StopOne() {
    const auto [model, id] = AnyStream();
    if (model == nullptr) return;
    delivery_.StopCredit(id);
    model->Stop(id);
  }

  void AcknowledgeOne() {
    const auto [model, id] = AnyStream();
    if (model == nullptr) return;
    const uint64_t range = published_.size() + 2;
    const uint64_t sequence = range - 1 - Below(std::min<uint64_t>(range, 10));
    const absl::Status status = delivery_.Acknowledge(id, kRun, sequence);
    EXPECT_EQ(status.code(), model->Acknowledge(id, sequence) ? absl::StatusCode::kOk
                                                              : absl::StatusCode::kNotFound);
  }

  void DurableOne() {
    const auto [model, id] = AnyStream();
    if (model == nullptr || published_.empty()) return;
    const SequenceRange range = AnyRange();
    const absl::Status status = delivery_.MarkDurable(id, kRun, {range});
    EXPECT_EQ(status.code(),
              model->Durable(range) ? absl::StatusCode::kOk : absl::StatusCode::kNotFound);
  }

  void ReserveOne() {
    if (launches_.size() >= 2) return;
    Launch launch;
    bool can_pay = false;
    for (auto& [name, model] : models_) can_pay = can_pay || model.CanReserve();
    std::optional<Delivery::Ticket> ticket = delivery_.Reserve();
    ASSERT_EQ(ticket.has_value(), can_pay);
    if (!ticket) return;
    for (auto& [name, model] : models_) {
      if (const auto id = model.Reserve()) launch.model[name] = *id;
    }
    std::map<std::string, StreamId> reserved;
    for (const auto& [group, id] : ticket->reserved) reserved[group->name()] = id;
    ASSERT_EQ(reserved, launch.model);
    launch.ticket = *ticket;
    launches_.push_back(std::move(launch));
  }

  void PublishOne() {
    if (launches_.empty()) return;
    const Launch launch = launches_.front();
    launches_.erase(launches_.begin());
    if (Below(5) == 0) {
      delivery_.Discard(launch.ticket);
      for (const auto& [name, id] : launch.model) models_.at(name).Return(id);
      return;
    }
    const uint64_t sequence = published_.size();
    const uint64_t rows = 1 + Below(3);
    auto batch = MakeFinishedBatch(sequence, rows);
    published_.push_back(batch);
    ASSERT_EQ(delivery_.next_sequence(), sequence);
    delivery_.Publish(launch.ticket, std::move(batch));
    for (auto& [name, model] : models_) {
      const auto found = launch.model.find(name);
      model.Publish(found == launch.model.end() ? std::nullopt : std::optional(found->second),
                    sequence, rows);
    }
  }

  void TakeOne() {
    const auto [model, id] = AnyStream();
    if (model == nullptr) return;
    const std::optional<Outgoing> outgoing = delivery_.Take(id);
    const std::optional<uint64_t> expected = model->Take(id);
    ASSERT_EQ(outgoing.has_value(), expected.has_value());
    if (!outgoing) return;
    EXPECT_EQ(outgoing->batch->sequence(), *expected);
    const uint32_t deliveries = ++deliveries_[std::pair(model, *expected)];
    EXPECT_EQ(outgoing->delivery, deliveries);
  }

  std::mt19937_64 random_;
  uint32_t retain_;
  Delivery delivery_;
  std::map<std::string, ModelGroup> models_;
  std::vector<Launch> launches_;
  std::vector<std::weak_ptr<const FinishedBatch>> published_;
  std::map<std::pair<ModelGroup*, uint64_t>, uint32_t> deliveries_;
};

TEST(DeliveryProperty, AgreesWithTheModelAfterEveryRandomOperation) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    World world(static_cast<uint64_t>(seed));
    for (int i = 0; i < kOperations; ++i) {
      world.Step();
      world.Check();
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ", operation " << i;
    }
  }
}

}  // namespace
}  // namespace vixen::server
