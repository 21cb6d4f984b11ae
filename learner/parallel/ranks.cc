// SPDX-License-Identifier: Apache-2.0
#define USE_C10D_GLOO  // the wheel's headers hide the class without it
#include "learner/parallel/ranks.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Logging.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "learner/parallel/rank_store.h"
#include "proto/config/address.h"

namespace vixen::learner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{20};

std::string NameOf(const char* what, int rank) { return absl::StrCat(what, "/", rank); }

std::shared_ptr<::gloo::transport::Device> MakeDevice(const RankOptions& options) {
  const char* const interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr && *interface != '\0') {
    return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
  }
  if (config::Address{options.master, 0}.IsLoopback()) {
    return c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  }
  return c10d::ProcessGroupGloo::createDefaultDevice();
}

}  // namespace

struct Ranks::State {
  absl::Status Meet(Clock::time_point deadline, StopFlag& stop);
  absl::Status Connect();
  // Runs one collective and waits for it.
  absl::Status Do(const std::function<c10::intrusive_ptr<c10d::Work>()>& begin);
  size_t Place() const {
    return static_cast<size_t>(std::find(members.begin(), members.end(), options.rank) -
                               members.begin());
  }
  // Waits until `all` keys are there; the ranks whose key is not, at the deadline.
  std::vector<int> Missing(
      const char* what, const std::vector<int>& ranks, Clock::time_point deadline,
      const std::function<void()>& alive = [] {}) const;
  // What the store has at `key`, within `most`; throws what the store does, or that it is silent.
  std::string Await(const std::string& key, std::chrono::milliseconds most,
                    const std::function<void()>& alive) const;

  RankOptions options;
  StorePtr store;
  std::vector<int> members;
  int generation = 0;  // of `members`
  bool begun = false;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
  std::vector<double> gathered;
};

std::vector<int> Ranks::State::Missing(const char* what, const std::vector<int>& ranks,
                                       Clock::time_point deadline,
                                       const std::function<void()>& alive) const {
  while (true) {
    alive();
    std::vector<int> missing;
    for (const int rank : ranks) {
      if (!store->check({NameOf(what, rank)})) missing.push_back(rank);
    }
    if (missing.empty() || Clock::now() >= deadline) return missing;
    std::this_thread::sleep_for(kPoll);
  }
}

std::string Ranks::State::Await(const std::string& key, std::chrono::milliseconds most,
                                const std::function<void()>& alive) const {
  const Clock::time_point deadline = Clock::now() + most;
  // Where the store's process is frozen its client waits without end, after its timeout too: the
  // thread that asks is then left behind.
  auto asked = std::make_shared<std::promise<std::string>>();
  std::future<std::string> answer = asked->get_future();
  std::thread([store = store, key, most, asked] {
    try {
      store->wait({key}, most);
      asked->set_value(store->get_to_str(key));
    } catch (...) {
      asked->set_exception(std::current_exception());
    }
  }).detach();
  do {
    alive();
    if (answer.wait_for(5 * kPoll) == std::future_status::ready) return answer.get();
  } while (Clock::now() < deadline);
  throw std::runtime_error("it does not answer");
}

absl::Status Ranks::State::Meet(Clock::time_point deadline, StopFlag& stop) {
  for (int rank = 0; rank < options.world; ++rank) members.push_back(rank);
  try {
    if (store->add(NameOf("joined", options.rank), 1) > 1) {
      return absl::FailedPreconditionError(
          absl::StrCat("rank ", options.rank,
                       " has been here before: the others went on without it, or two "
                       "learners have RANK ",
                       options.rank));
    }
    std::vector<int> missing = members;
    Clock::time_point next_word = Clock::now() + std::chrono::seconds(5);
    while (!(missing = Missing("joined", missing, Clock::now() + 10 * kPoll)).empty()) {
      if (stop.stopped()) return absl::CancelledError("stopped before the ranks met");
      if (Clock::now() >= deadline) {
        return absl::DeadlineExceededError(
            absl::StrCat("rank ", options.rank, " waited ", options.join_timeout.count() / 1000,
                         " s (rank_join_seconds) for ranks ", absl::StrJoin(missing, ", "),
                         " of WORLD_SIZE ", options.world));
      }
      if (Clock::now() < next_word) continue;
      next_word = Clock::now() + std::chrono::seconds(30);
      spdlog::info("rank {} waits for ranks {}", options.rank, absl::StrJoin(missing, ", "));
    }
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("rank ", options.rank, ": ", FirstLine(error)));
  }
  return Connect();
}

absl::Status Ranks::State::Connect() {
  try {
    auto gloo =
        c10d::ProcessGroupGloo::Options::create(begun ? options.timeout : options.join_timeout);
    gloo->devices.push_back(MakeDevice(options));
    gloo->threads = 1;  // collectives come one after the other
    group = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>(absl::StrCat("group/", generation), store),
        static_cast<int>(Place()), static_cast<int>(members.size()), gloo);
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("rank ", options.rank, " of ", options.world,
                                               " cannot reach the others: ", FirstLine(error)));
  }
}

absl::Status Ranks::State::Do(const std::function<c10::intrusive_ptr<c10d::Work>()>& begin) {
  try {
    begin()->wait();
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("rank ", options.rank, " of ", options.world,
                                               " lost another: ", FirstLine(error)));
  }
}

Ranks::Ranks(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ranks::~Ranks() = default;

absl::StatusOr<std::unique_ptr<Ranks>> Ranks::Join(const RankOptions& options, StopFlag& stop) {
  // Gloo writes to its sockets without MSG_NOSIGNAL: the death of a peer would end this process.
  std::signal(SIGPIPE, SIG_IGN);
  // c10d warns, with a stack, of every try to connect and of what is an error here anyway.
  setenv("TORCH_CPP_LOG_LEVEL", "ERROR", /*overwrite=*/0);
  c10::initLogging();
  // NCCL would listen on another interface, as loopback is its last choice.
  if (config::Address{options.master, 0}.IsLoopback()) {
    setenv("NCCL_SOCKET_IFNAME", "lo", /*overwrite=*/0);
  }
  const Clock::time_point deadline = Clock::now() + options.join_timeout;
  auto state = std::make_unique<State>();
  state->options = options;
  VIXEN_ASSIGN_OR_RETURN(state->store, OpenStore(options, deadline, stop));
  VIXEN_RETURN_IF_ERROR(state->Meet(deadline, stop));
  return std::unique_ptr<Ranks>(new Ranks(std::move(state)));
}

size_t Ranks::place() const { return state_->Place(); }
int Ranks::rank() const { return state_->options.rank; }
const std::vector<int>& Ranks::members() const { return state_->members; }

std::chrono::milliseconds Ranks::timeout() const {
  return state_->begun ? state_->options.timeout : state_->options.join_timeout;
}

void Ranks::Begin() {
  state_->begun = true;
  state_->group->setTimeout(state_->options.timeout);
}

absl::Status Ranks::Sum(std::span<float> values) {
  std::vector<at::Tensor> tensors = {
      at::from_blob(values.data(), {static_cast<int64_t>(values.size())}, at::kFloat)};
  return state_->Do([&] { return state_->group->allreduce(tensors); });
}

absl::StatusOr<std::span<const double>> Ranks::Gather(std::span<const double> mine) {
  State& s = *state_;
  const auto width = static_cast<int64_t>(mine.size());
  std::vector<double> copy(mine.begin(), mine.end());
  s.gathered.resize(size() * mine.size());
  std::vector<std::vector<at::Tensor>> outputs(1);
  for (size_t i = 0; i < size(); ++i) {
    outputs[0].push_back(at::from_blob(s.gathered.data() + i * mine.size(), {width}, at::kDouble));
  }
  std::vector<at::Tensor> inputs = {at::from_blob(copy.data(), {width}, at::kDouble)};
  VIXEN_RETURN_IF_ERROR(s.Do([&] { return s.group->allgather(outputs, inputs); }));
  return std::span<const double>(s.gathered);
}

absl::StatusOr<std::vector<std::string>> Ranks::Gather(const std::string& mine) {
  const std::vector<double> length = {static_cast<double>(mine.size())};
  VIXEN_ASSIGN_OR_RETURN(const std::span<const double> lengths, Gather(length));
  const std::vector<double> all(lengths.begin(), lengths.end());
  const auto longest = static_cast<size_t>(*std::max_element(all.begin(), all.end()));
  // A double a byte: texts are short, and exchanged at the start and after a loss.
  std::vector<double> bytes(std::max<size_t>(longest, 1), 0.0);
  for (size_t i = 0; i < mine.size(); ++i) bytes[i] = static_cast<unsigned char>(mine[i]);
  VIXEN_ASSIGN_OR_RETURN(const std::span<const double> gathered, Gather(bytes));
  std::vector<std::string> texts;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::span<const double> text =
        gathered.subspan(i * bytes.size(), static_cast<size_t>(all[i]));
    std::string& out = texts.emplace_back();
    for (const double byte : text)
      out.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
  }
  return texts;
}

absl::Status Ranks::CopyFromLeader(std::span<std::byte> bytes) {
  std::vector<at::Tensor> tensors = {
      at::from_blob(bytes.data(), {static_cast<int64_t>(bytes.size())}, at::kByte)};
  return state_->Do([&] { return state_->group->broadcast(tensors); });
}

absl::StatusOr<Ranks::Survivors> Ranks::FindSurvivors(const LossWaits& waits,
                                                      const std::function<void()>& alive) {
  State& s = *state_;
  s.group.reset();  // breaks the others' connections, so that they notice too
  const std::string here = absl::StrCat("here/", s.generation);
  const std::string read = absl::StrCat("read/", s.generation);
  const std::string list = absl::StrCat("members/", s.generation);
  const Clock::time_point deadline = Clock::now() + waits.gather;
  Survivors survivors;
  try {
    s.store->set(NameOf(here.c_str(), rank()), "1");
    if (leads()) {
      survivors.lost = s.Missing(here.c_str(), s.members, deadline, alive);
      std::set_difference(s.members.begin(), s.members.end(), survivors.lost.begin(),
                          survivors.lost.end(), std::back_inserter(survivors.members));
      s.store->set(list, absl::StrJoin(survivors.members, ","));
      // The store ends with this process: the others read it first.
      std::vector<int> others(survivors.members.begin() + 1, survivors.members.end());
      s.Missing(read.c_str(), others, Clock::now() + std::chrono::seconds(2), alive);
      return survivors;
    }
    // Rank 0 may be the last to notice.
    const std::string listed =
        s.Await(list, waits.notice + waits.gather + std::chrono::seconds(2), alive);
    for (const absl::string_view text : absl::StrSplit(listed, ',')) {
      int member = 0;
      if (absl::SimpleAtoi(text, &member)) survivors.members.push_back(member);
    }
    s.store->set(NameOf(read.c_str(), rank()), "1");
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("rank 0 is lost (", FirstLine(error), ")"));
  }
  std::set_difference(s.members.begin(), s.members.end(), survivors.members.begin(),
                      survivors.members.end(), std::back_inserter(survivors.lost));
  if (std::find(survivors.members.begin(), survivors.members.end(), rank()) ==
      survivors.members.end()) {
    return absl::UnavailableError(absl::StrCat("the others went on without rank ", rank(),
                                               ", which was silent for too long"));
  }
  return survivors;
}

absl::Status Ranks::GoOnWith(const Survivors& survivors) {
  state_->members = survivors.members;
  ++state_->generation;
  return state_->Connect();
}

}  // namespace vixen::learner
