// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "market/npy/archive.h"
#include "market/npy/reader.h"
#include "market/npy/table.h"

namespace vixen::market {
namespace {

using npy::Array;
using npy::Column;

constexpr char kFeatures[] = "features";
constexpr char kFeatureNames[] = "feature_names";

// A 2-D array [T, F] of numbers.
absl::Status TakeMatrix(const Array& array, OwnFeatures& features) {
  const npy::Field& field = array.fields[0];
  if (array.shape.size() != 2 || array.is_structured() || !field.type.is_number()) {
    return absl::InvalidArgumentError(
        absl::StrCat(features.source, ": ", array.name, " is ", array.Describe(),
                     "; features are a 2-D array [T, F] of float32, float64 or integers"));
  }
  if (features.names.size() != array.shape[1]) {
    return absl::InvalidArgumentError(absl::StrCat(
        features.source, ": ", array.shape[1], " columns of features and ", features.names.size(),
        " names; name each by --feature_names a,b,… or an "
        "array feature_names in the archive"));
  }
  features.values.reserve(array.shape[0] * array.shape[1]);
  for (uint64_t row = 0; row < array.shape[0]; ++row) {
    for (uint64_t column = 0; column < array.shape[1]; ++column) {
      features.values.push_back(
          static_cast<float>(npy::NumberAt(field.type, array.At(field, row, column))));
    }
  }
  return absl::OkStatus();
}

absl::Status TakeColumns(const std::vector<Column>& columns, OwnFeatures& features) {
  std::vector<const Column*> taken;
  for (const Column& column : columns) {
    if (npy::IsTimeName(column.name)) continue;
    if (!column.type().is_number()) {
      return absl::InvalidArgumentError(
          absl::StrCat(features.source, ": ", column.name, " is ", column.type().Name(),
                       "; features are float32, float64 or integers"));
    }
    if (!taken.empty() && column.rows() != taken[0]->rows()) {
      return absl::InvalidArgumentError(absl::StrCat(features.source, ": ", column.name, " has ",
                                                     column.rows(), " rows, ", taken[0]->name,
                                                     " has ", taken[0]->rows()));
    }
    taken.push_back(&column);
    features.names.push_back(column.name);
  }
  if (taken.empty())
    return absl::InvalidArgumentError(absl::StrCat(features.source, ": no column of features"));
  for (uint64_t row = 0; row < taken[0]->rows(); ++row) {
    for (const Column* column : taken) {
      features.values.push_back(static_cast<float>(npy::NumberAt(column->type(), column->At(row))));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OwnFeatures> ReadOwnFeatures(const std::string& path,
                                            const std::vector<std::string>& names) {
  VIXEN_ASSIGN_OR_RETURN(const std::vector<Array> arrays, npy::ReadArrays(path));
  OwnFeatures features;
  features.source = path;
  const std::vector<Column> columns = npy::ColumnsOf(arrays);
  for (const Column& column : columns) {
    if (!npy::IsTimeName(column.name)) continue;
    VIXEN_ASSIGN_OR_RETURN(features.timestamp, npy::TimesOf(column, path));
  }
  const auto named = [&arrays](const char* name) {
    return std::ranges::find(arrays, name, &Array::name);
  };
  const bool whole = arrays.size() == 1 && arrays[0].name.empty() && !arrays[0].is_structured();
  if (whole || named(kFeatures) != arrays.end()) {
    features.names = names;
    if (const auto array = named(kFeatureNames); names.empty() && array != arrays.end()) {
      if (array->shape.size() != 1 || !array->fields[0].type.is_text()) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": feature_names is ", array->Describe(), ", not a list of texts"));
      }
      for (uint64_t i = 0; i < array->shape[0]; ++i) {
        features.names.push_back(
            npy::TextAt(array->fields[0].type, array->At(array->fields[0], i)));
      }
    }
    VIXEN_RETURN_IF_ERROR(TakeMatrix(whole ? arrays[0] : *named(kFeatures), features));
  } else {
    if (!names.empty()) {
      return base::UsageError(
          absl::StrCat("--feature_names is for a 2-D array; ", path, " names its columns itself"));
    }
    VIXEN_RETURN_IF_ERROR(TakeColumns(columns, features));
  }
  if (!features.timestamp.empty() &&
      features.timestamp.size() * features.names.size() != features.values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", features.timestamp.size(), " times for ",
                     features.values.size() / features.names.size(), " rows of features"));
  }
  return features;
}

}  // namespace vixen::market
