// SPDX-License-Identifier: Apache-2.0
#include "market/npy/roles.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "market/csv/columns.h"

namespace vixen::market::npy {
namespace {

using Names = std::vector<std::string>;

std::string ListOf(const std::vector<Column>& columns) {
  return absl::StrJoin(columns, ", ",
                       [](std::string* out, const Column& column) { out->append(column.name); });
}

class RoleFinder {
 public:
  RoleFinder(const std::vector<Column>& columns, const NpyOptions& options, const std::string& path)
      : columns_(columns), options_(options), path_(path) {}

  absl::StatusOr<Roles> Find() const {
    Roles roles;
    VIXEN_ASSIGN_OR_RETURN(roles.time, Role("time", {}));
    const std::pair<const char*, Names> prices[] = {{"open", {"open", "o"}},
                                                    {"high", {"high", "h"}},
                                                    {"low", {"low", "l"}},
                                                    {"close", {"close", "c"}}};
    Names missing;
    if (roles.time == nullptr) missing.push_back("time");
    for (size_t i = 0; i < 4; ++i) {
      VIXEN_ASSIGN_OR_RETURN(roles.prices[i], Role(prices[i].first, prices[i].second));
      if (roles.prices[i] == nullptr) missing.push_back(prices[i].first);
    }
    VIXEN_ASSIGN_OR_RETURN(roles.volume, Role("volume", {"volume", "vol", "v"}));
    VIXEN_ASSIGN_OR_RETURN(roles.symbol, Role("symbol", {"symbol", "ticker", "instrument"}));
    VIXEN_ASSIGN_OR_RETURN(roles.last, Role("last", {"last"}));
    if (!missing.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": no array or field for ", absl::StrJoin(missing, ", "),
                       "; found: ", ListOf(columns_), ". Name them: --columns ",
                       absl::StrJoin(missing, ",", [](std::string* out, const std::string& role) {
                         absl::StrAppend(out, role, "=…");
                       })));
    }
    VIXEN_RETURN_IF_ERROR(Check(roles));
    return roles;
  }

 private:
  absl::StatusOr<const Column*> Role(const std::string& role, const Names& names) const {
    const auto told = options_.columns.find(role);
    const Column* found = nullptr;
    for (const Column& column : columns_) {
      const std::string canonical = csv::CanonicalName(column.name);
      const bool fits = told != options_.columns.end() ? column.name == told->second
                        : role == "time"               ? IsTimeName(column.name)
                                         : std::ranges::find(names, canonical) != names.end();
      if (!fits) continue;
      if (found != nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(path_, ": both ", found->name, " and ",
                                                       column.name, " may be the ", role,
                                                       "; say --columns ", role, "=…"));
      }
      found = &column;
    }
    if (told != options_.columns.end() && found == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(path_, ": --columns ", role, "=", told->second,
                                                     " names no array; found: ", ListOf(columns_)));
    }
    return found;
  }

  absl::Status Check(const Roles& roles) const {
    const auto check = [&](const Column* column, bool fits, const char* wanted) -> absl::Status {
      if (column == nullptr) return absl::OkStatus();
      if (!fits) {
        return absl::InvalidArgumentError(
            absl::StrCat(path_, ": ", column->name, " is ", column->type().Name(), "; ", wanted));
      }
      if (column->rows() != roles.time->rows()) {
        return absl::InvalidArgumentError(absl::StrCat(path_, ": ", column->name, " has ",
                                                       column->rows(), " rows, ", roles.time->name,
                                                       " has ", roles.time->rows()));
      }
      return absl::OkStatus();
    };
    for (const Column* price : roles.prices) {
      VIXEN_RETURN_IF_ERROR(
          check(price, price->type().is_number(), "prices are float32, float64 or integers"));
    }
    const Column* volume = roles.volume;
    VIXEN_RETURN_IF_ERROR(check(volume, volume == nullptr || volume->type().is_number(),
                                "volumes are float32, float64 or integers"));
    const Column* symbol = roles.symbol;
    VIXEN_RETURN_IF_ERROR(check(symbol, symbol == nullptr || symbol->type().is_text(),
                                "symbols are texts (dtype U or S)"));
    const Column* last = roles.last;
    return check(last, last == nullptr || last->type().bytes == 1, "last is bool or uint8");
  }

  const std::vector<Column>& columns_;
  const NpyOptions& options_;
  const std::string& path_;
};

}  // namespace

absl::StatusOr<Roles> FindRoles(const std::vector<Column>& columns, const NpyOptions& options,
                                const std::string& path) {
  return RoleFinder(columns, options, path).Find();
}

}  // namespace vixen::market::npy
