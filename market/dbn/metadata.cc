// SPDX-License-Identifier: Apache-2.0
#include "market/dbn/metadata.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "market/dbn/layout.h"

namespace vixen::market::dbn {
namespace {

constexpr size_t kPrologue = 8;        // "DBN", version, length
constexpr uint32_t kFixedBytes = 100;  // from there to the schema definition
constexpr uint32_t kMostBytes = 256 << 20;
constexpr uint16_t kSymbolBytesOfV1 = 22;

// Takes values one after another; offsets in errors are those of the file.
class Cursor {
 public:
  Cursor(const uint8_t* bytes, uint32_t size, const std::string& path, uint16_t symbol_bytes)
      : bytes_(bytes), size_(size), path_(path), symbol_bytes_(symbol_bytes) {}

  absl::StatusOr<uint32_t> Number(const char* what) {
    if (size_ - at_ < sizeof(uint32_t)) return Cut(what);
    const uint32_t value = Load<uint32_t>(bytes_ + at_);
    at_ += sizeof(uint32_t);
    return value;
  }

  // A count of things of at least `bytes` each: more than the metadata can hold is refused before
  // memory is reserved.
  absl::StatusOr<uint32_t> Count(const char* what, size_t bytes) {
    const uint32_t at = at_;
    VIXEN_ASSIGN_OR_RETURN(const uint32_t count, Number(what));
    if (count > (size_ - at_) / bytes) {
      return Fault(at, absl::StrCat(count, " ", what, " in ", size_ - at_, " bytes of metadata"));
    }
    return count;
  }

  absl::StatusOr<std::string> Symbol(const char* what) {
    if (size_ - at_ < symbol_bytes_) return Cut(what);
    const std::string_view text(reinterpret_cast<const char*>(bytes_ + at_), symbol_bytes_);
    const size_t end = text.find('\0');
    if (end == std::string_view::npos) {
      return Fault(at_, absl::StrCat(what, " does not end inside its ", symbol_bytes_, " bytes"));
    }
    at_ += symbol_bytes_;
    return std::string(text.substr(0, end));
  }

  absl::StatusOr<std::vector<std::string>> Symbols(const char* what) {
    VIXEN_ASSIGN_OR_RETURN(const uint32_t count, Count(what, symbol_bytes_));
    std::vector<std::string> symbols(count);
    for (std::string& symbol : symbols) {
      VIXEN_ASSIGN_OR_RETURN(symbol, Symbol(what));
    }
    return symbols;
  }

  // YYYYMMDD as days since 1970-01-01.
  absl::StatusOr<int32_t> Day(const char* what) {
    const uint32_t at = at_;
    VIXEN_ASSIGN_OR_RETURN(const uint32_t date, Number(what));
    const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(date / 10'000)),
                                          std::chrono::month(date / 100 % 100),
                                          std::chrono::day(date % 100)};
    if (date > 99'991'231 || !day.ok())
      return Fault(at, absl::StrCat(what, " ", date, " is no date"));
    return static_cast<int32_t>(std::chrono::sys_days(day).time_since_epoch().count());
  }

  uint16_t symbol_bytes() const { return symbol_bytes_; }

 private:
  absl::Status Fault(uint32_t at, const std::string& fault) const {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": metadata at offset ", kPrologue + at, ": ", fault));
  }
  absl::Status Cut(const char* what) const {
    return Fault(at_, absl::StrCat("ends where ", what, " should stand"));
  }

  const uint8_t* bytes_;
  uint32_t size_;
  const std::string& path_;
  uint16_t symbol_bytes_;
  uint32_t at_ = kFixedBytes;
};

absl::StatusOr<std::vector<Mapping>> ReadMappings(Cursor& cursor) {
  VIXEN_ASSIGN_OR_RETURN(const uint32_t count,
                         cursor.Count("mappings", cursor.symbol_bytes() + sizeof(uint32_t)));
  std::vector<Mapping> mappings(count);
  for (Mapping& mapping : mappings) {
    VIXEN_ASSIGN_OR_RETURN(mapping.symbol, cursor.Symbol("a mapping's symbol"));
    VIXEN_ASSIGN_OR_RETURN(
        const uint32_t intervals,
        cursor.Count("intervals of a mapping", cursor.symbol_bytes() + 2 * sizeof(uint32_t)));
    mapping.intervals.resize(intervals);
    for (MappingInterval& interval : mapping.intervals) {
      VIXEN_ASSIGN_OR_RETURN(interval.first_day, cursor.Day("a mapping's first day"));
      VIXEN_ASSIGN_OR_RETURN(interval.end_day, cursor.Day("a mapping's end day"));
      VIXEN_ASSIGN_OR_RETURN(interval.symbol, cursor.Symbol("the symbol of a mapping's interval"));
    }
  }
  return mappings;
}

}  // namespace

absl::StatusOr<Metadata> ReadMetadata(Input& input) {
  const auto cut = [&input](uint64_t size) {
    return absl::DataLossError(absl::StrCat(
        input.path(), ": the metadata is cut: ", input.available(), " of ", size, " bytes"));
  };
  VIXEN_RETURN_IF_ERROR(input.Need(kPrologue));
  if (input.available() < kPrologue) return cut(kPrologue);
  const std::string_view magic(reinterpret_cast<const char*>(input.data()), 3);
  if (magic != "DBN") {
    return absl::InvalidArgumentError(
        absl::StrCat(input.path(), ": what its Zstandard frame holds is not DBN"));
  }
  Metadata metadata;
  metadata.version = input.data()[3];
  if (metadata.version < 1 || metadata.version > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat(input.path(), ": DBN version ", metadata.version,
                     " is not read: versions 1, 2 and 3 are. Write it again in one of them"));
  }
  const uint32_t length = Load<uint32_t>(input.data() + 4);
  if (length < kFixedBytes || length > kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(input.path(), ": metadata at offset 4: its length ", length,
                     " is not between ", kFixedBytes, " and ", kMostBytes));
  }
  VIXEN_RETURN_IF_ERROR(input.Need(kPrologue + length));
  if (input.available() < kPrologue + length) return cut(kPrologue + length);

  const uint8_t* bytes = input.data();
  const std::string_view dataset(reinterpret_cast<const char*>(bytes + 8), 16);
  metadata.dataset = std::string(dataset.substr(0, dataset.find('\0')));
  metadata.schema = Load<uint16_t>(bytes + 24);
  // Version 1 has a count of records before these.
  const uint8_t* after_limit = bytes + (metadata.version == 1 ? 58 : 50);
  metadata.stype_out = after_limit[1];
  metadata.ts_out = after_limit[2] != 0;
  const uint16_t symbol_bytes =
      metadata.version == 1 ? kSymbolBytesOfV1 : Load<uint16_t>(after_limit + 3);
  if (symbol_bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(input.path(), ": metadata at offset 53: symbols of 0 bytes"));
  }
  Cursor cursor(bytes + kPrologue, length, input.path(), symbol_bytes);
  VIXEN_ASSIGN_OR_RETURN(const uint32_t definition, cursor.Number("the schema definition"));
  if (definition != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(input.path(), ": metadata at offset 108: a schema definition of ", definition,
                     " bytes, which no version has"));
  }
  VIXEN_ASSIGN_OR_RETURN(metadata.symbols, cursor.Symbols("symbols"));
  VIXEN_RETURN_IF_ERROR(cursor.Symbols("partial symbols").status());
  VIXEN_RETURN_IF_ERROR(cursor.Symbols("symbols not found").status());
  VIXEN_ASSIGN_OR_RETURN(metadata.mappings, ReadMappings(cursor));
  input.Skip(kPrologue + length);
  return metadata;
}

}  // namespace vixen::market::dbn
