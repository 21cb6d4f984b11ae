// SPDX-License-Identifier: Apache-2.0
#include "base/sha256_sums.h"

#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/str_cat.h"

namespace vixen::base {
namespace {

constexpr char kSums[] = "SHA256SUMS";
constexpr size_t kBlock = 1 << 20;

absl::StatusOr<std::string> DigestOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::DataLossError(StrCat(path, " is missing"));
  Sha256 hash;
  std::vector<char> block(kBlock);
  while (file.read(block.data(), kBlock) || file.gcount() > 0) {
    hash.Update(std::string_view(block.data(), static_cast<size_t>(file.gcount())));
  }
  if (file.bad()) return absl::DataLossError(StrCat(path, " cannot be read to its end"));
  return ToHex(hash.Finish());
}

}  // namespace

absl::Status WriteSha256Sums(const std::string& folder, std::span<const char* const> files) {
  std::string sums;
  for (const char* file : files) {
    VIXEN_ASSIGN_OR_RETURN(const std::string digest, DigestOf(StrCat(folder, "/", file)));
    StrAppend(&sums, digest, "  ", file, "\n");
  }
  return WriteFileAtomically(StrCat(folder, "/", kSums), sums);
}

absl::Status VerifySha256Sums(const std::string& folder, std::span<const char* const> files) {
  const absl::StatusOr<std::string> sums = ReadFile(StrCat(folder, "/", kSums));
  if (!sums.ok()) return absl::DataLossError(sums.status().message());
  std::map<std::string, std::string> listed;
  std::istringstream lines(*sums);
  for (std::string digest, file; lines >> digest >> file;) listed[file] = digest;
  for (const char* file : files) {
    const std::string path = StrCat(folder, "/", file);
    VIXEN_ASSIGN_OR_RETURN(const std::string digest, DigestOf(path));
    if (digest == listed[file]) continue;
    return absl::DataLossError(StrCat(path, " has SHA-256 ", digest, ", ", kSums, " says ",
                                      listed[file].empty() ? "nothing" : listed[file]));
  }
  if (sums->empty() || sums->back() != '\n' || listed.size() != files.size()) {
    return absl::DataLossError(StrCat(folder, "/", kSums, " is cut off or lists ", listed.size(),
                                      " files, expected ", files.size()));
  }
  return absl::OkStatus();
}

}  // namespace vixen::base
