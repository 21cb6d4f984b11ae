// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target on the files of folders, where there is no libFuzzer: the seeds and what was
// once found stay tested in every build, and so do kMutants changed copies of each, the same in
// every run.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

constexpr int kMutants = 1000;

// What a decoder has to expect: wrong bits, extreme values, bytes left out, said twice, or cut off.
Bytes Mutant(Bytes bytes, std::mt19937& random) {
  for (uint32_t changes = 1 + random() % 4; changes > 0 && !bytes.empty(); --changes) {
    const auto at = static_cast<ptrdiff_t>(random() % bytes.size());
    const auto most = static_cast<uint32_t>(bytes.size() - static_cast<size_t>(at));
    const auto length = static_cast<ptrdiff_t>(1 + random() % std::min<uint32_t>(most, 16));
    const auto begin = bytes.begin() + at;
    switch (random() % 5) {
      case 0:
        *begin ^= static_cast<uint8_t>(1u << random() % 8);
        break;
      case 1:
        std::fill_n(begin, length, random() % 2 == 0 ? 0 : 0xFF);
        break;
      case 2:
        bytes.erase(begin, begin + length);
        break;
      case 3: {
        const Bytes twice(begin, begin + length);
        bytes.insert(begin, twice.begin(), twice.end());
        break;
      }
      default:
        bytes.erase(begin, bytes.end());
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  std::mt19937 random(1);  // NOLINT: the same mutants in every run
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    for (int i = 0; i < kMutants; ++i) {
      const Bytes mutant = Mutant(bytes, random);
      LLVMFuzzerTestOneInput(mutant.data(), mutant.size());
    }
  }
  std::printf("%zu inputs, %d mutants of each\n", files.size(), kMutants);
  return files.empty() ? 1 : 0;
}
