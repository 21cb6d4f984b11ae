// SPDX-License-Identifier: Apache-2.0
// vixen import: bars of other programs to a dataset.
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cpu_count.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "market/csv/reader.h"
#include "market/dbn/reader.h"
#include "market/import.h"
#include "market/npy/reader.h"
#include "market/prepare.h"
#include "tool/command.h"
#include "tool/import/flag_values.h"
#include "tool/import/report_text.h"

namespace vixen::tool {
namespace {

// Flags as typed; what CLI11 cannot parse by itself is parsed when the command runs.
struct ImportFlags {
  std::vector<std::string> inputs;
  std::string out;
  std::string delimiter, decimal = ".", thousands, header = "auto", date_order = "auto",
                         duplicates = "error";
  std::vector<std::string> columns;
  std::string gaps, max_gap, split, fit, scaler_from;
  std::string missing = "error";
  market::CsvOptions csv;
  market::DbnOptions dbn;
  market::NpyOptions npy;
  market::PrepareOptions prepare;
  std::string resample;
  std::string features_from;
  std::vector<std::string> feature_names;
  market::ImportOptions import;
  bool json = false;
};

absl::Status FillCsvOptions(ImportFlags& flags) {
  if (!flags.delimiter.empty()) {
    VIXEN_ASSIGN_OR_RETURN(flags.csv.delimiter, ParseDelimiter(flags.delimiter));
  }
  flags.csv.decimal = flags.decimal[0];
  flags.csv.thousands = flags.thousands.empty()      ? '\0'
                        : flags.thousands == "space" ? ' '
                                                     : flags.thousands[0];
  flags.csv.header = flags.header == "auto";
  flags.csv.date_order = flags.date_order == "mdy"   ? market::DateOrder::kMonthFirst
                         : flags.date_order == "dmy" ? market::DateOrder::kDayFirst
                                                     : market::DateOrder::kAuto;
  VIXEN_ASSIGN_OR_RETURN(flags.csv.columns, ParseColumns(flags.columns));
  return absl::OkStatus();
}

// What rows that are no plain bars come to, in every input.
template <typename Options>
void FillPolicies(const ImportFlags& flags, Options& options) {
  options.duplicates = flags.duplicates == "first"     ? market::Duplicates::kFirst
                       : flags.duplicates == "drop"    ? market::Duplicates::kFirst
                       : flags.duplicates == "last"    ? market::Duplicates::kLast
                       : flags.duplicates == "segment" ? market::Duplicates::kSegment
                                                       : market::Duplicates::kError;
  options.missing = flags.missing == "drop"      ? market::Missing::kDrop
                    : flags.missing == "segment" ? market::Missing::kSegment
                                                 : market::Missing::kError;
}

absl::Status FillImportOptions(ImportFlags& flags) {
  flags.prepare.time_zone = flags.csv.time_zone;
  if (!flags.resample.empty()) {
    VIXEN_ASSIGN_OR_RETURN(flags.prepare.resample_ns, ParseDuration("--resample", flags.resample));
  }
  if (!flags.max_gap.empty()) {
    VIXEN_ASSIGN_OR_RETURN(flags.import.max_gap_ns, ParseDuration("--max_gap", flags.max_gap));
  }
  if (!flags.gaps.empty()) {
    flags.import.gaps = flags.gaps == "error"  ? market::Gaps::kError
                        : flags.gaps == "drop" ? market::Gaps::kDrop
                                               : market::Gaps::kSegment;
  }
  if (!flags.split.empty()) {
    const size_t dots = flags.split.find("..");
    VIXEN_ASSIGN_OR_RETURN(flags.import.split, ParseSplit(flags.split.substr(0, dots)));
    if (dots != std::string::npos) {
      VIXEN_ASSIGN_OR_RETURN(flags.import.split_end, ParseSplit(flags.split.substr(dots + 2)));
    }
  }
  if (!flags.fit.empty()) {
    VIXEN_ASSIGN_OR_RETURN(flags.import.fit, ParseRange("--fit", flags.fit));
  }
  if (!flags.features_from.empty()) {
    VIXEN_ASSIGN_OR_RETURN(flags.import.own_features,
                           market::ReadOwnFeatures(flags.features_from, flags.feature_names));
  } else if (!flags.feature_names.empty()) {
    return base::UsageError("--feature_names needs --features_from");
  }
  if (!flags.scaler_from.empty()) {
    VIXEN_ASSIGN_OR_RETURN(flags.import.scaler_from, market::Dataset::Load(flags.scaler_from));
  }
  return absl::OkStatus();
}

absl::Status CheckOut(const ImportFlags& flags) {
  std::error_code ignored;
  for (const std::string& input : flags.inputs) {
    if (input == flags.out || std::filesystem::equivalent(input, flags.out, ignored)) {
      return base::UsageError(absl::StrCat("--out ", flags.out, " is also an input"));
    }
  }
  return absl::OkStatus();
}

std::string SourceText(const std::string& format, const std::vector<std::string>& inputs) {
  return absl::StrCat(format, " ",
                      absl::StrJoin(inputs, ", ", [](std::string* out, const auto& path) {
                        absl::StrAppend(out, std::filesystem::path(path).filename().string());
                      }));
}

absl::Status ImportTo(market::Bars bars, ImportFlags& flags) {
  flags.import.threads = base::AvailableCpus();
  VIXEN_RETURN_IF_ERROR(market::PrepareBars(flags.prepare, bars));
  VIXEN_ASSIGN_OR_RETURN(const market::ImportReport report,
                         market::ImportBars(std::move(bars), flags.import, flags.out));
  std::cout << (flags.json ? ImportJson(report, flags.out) : ImportText(report, flags.out));
  return absl::OkStatus();
}

absl::Status RunImportCsv(ImportFlags& flags) {
  VIXEN_RETURN_IF_ERROR(CheckOut(flags));
  VIXEN_RETURN_IF_ERROR(FillCsvOptions(flags));
  VIXEN_RETURN_IF_ERROR(FillImportOptions(flags));
  FillPolicies(flags, flags.csv);
  flags.import.source = SourceText("csv", flags.inputs);
  VIXEN_ASSIGN_OR_RETURN(market::Bars bars, market::ReadCsv(flags.inputs, flags.csv));
  return ImportTo(std::move(bars), flags);
}

absl::Status RunImportNpy(ImportFlags& flags) {
  VIXEN_RETURN_IF_ERROR(CheckOut(flags));
  VIXEN_RETURN_IF_ERROR(FillImportOptions(flags));
  FillPolicies(flags, flags.npy);
  VIXEN_ASSIGN_OR_RETURN(flags.npy.columns, ParseColumns(flags.columns));
  flags.npy.symbols = flags.csv.symbols;
  flags.npy.no_volume = flags.csv.volume == "none";
  flags.import.source = SourceText("npy", flags.inputs);
  VIXEN_ASSIGN_OR_RETURN(market::Bars bars, market::ReadNpy(flags.inputs, flags.npy));
  return ImportTo(std::move(bars), flags);
}

absl::Status RunImportDbn(ImportFlags& flags) {
  VIXEN_RETURN_IF_ERROR(CheckOut(flags));
  VIXEN_RETURN_IF_ERROR(FillImportOptions(flags));
  FillPolicies(flags, flags.dbn);
  flags.dbn.symbols = flags.csv.symbols;
  flags.import.source = SourceText("dbn", flags.inputs);
  VIXEN_ASSIGN_OR_RETURN(market::Bars bars, market::ReadDbn(flags.inputs, flags.dbn));
  return ImportTo(std::move(bars), flags);
}

void AddCsvFlags(CLI::App& command, ImportFlags& flags) {
  command
      .add_option("--columns", flags.columns,
                  "columns by role: time=NAME,open=NAME,… (time date open high low close volume "
                  "symbol adj_close; 1, 2, … without header)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--volume", flags.csv.volume, "volume column by name, or none: absent");
  command.add_option("--header", flags.header, "auto, or none: the first line is data")
      ->check(CLI::IsMember({"auto", "none"}));
  command.add_option("--delimiter", flags.delimiter, "one character or tab; default found out");
  command.add_option("--decimal", flags.decimal, "decimal sign, . or ,")
      ->check(CLI::IsMember({".", ","}));
  command
      .add_option("--thousands", flags.thousands,
                  "sign between groups of three digits: , . ' or space; default none")
      ->check(CLI::IsMember({",", ".", "'", "space"}));
  command.add_option("--date_order", flags.date_order, "of dates such as 1/4/1999: mdy, dmy, auto")
      ->check(CLI::IsMember({"auto", "mdy", "dmy"}));
  command.add_flag("--adjust", flags.csv.adjust,
                   "prices × adjusted close / close, volume divided by it");
}

void AddNpyFlags(CLI::App& command, ImportFlags& flags) {
  command
      .add_option("--columns", flags.columns,
                  "arrays by role: time=NAME,open=NAME,… (time open high low close volume symbol "
                  "last; 1, 2, … are the columns of a 2-D array)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--volume", flags.csv.volume, "none: the volume counts as absent")
      ->check(CLI::IsMember({"none"}));
}

void AddDbnFlags(CLI::App& command, ImportFlags& flags) {
  command.add_option("--interval", flags.dbn.interval,
                     "bars to read: 1s, 1m, 1h, 1d or eod; default the only one in the files");
  command.add_option("--publisher", flags.dbn.publisher,
                     "publisher id, where an instrument comes from several");
}

// Of every input: what rows are taken, and what is made of them.
void AddBarFlags(CLI::App& command, ImportFlags& flags) {
  command.add_option("--tz", flags.csv.time_zone,
                     "zone of times that carry none, of --session and of the dates of --factors: "
                     "IANA name, UTC or offset (-05:00)");
  command.add_option("--session", flags.prepare.session,
                     "hours of trading, such as 09:30-16:00 by the clock of --tz: other bars are "
                     "left out, each session is a segment");
  command.add_option("--resample", flags.resample, "longer bars of these: 5m, 1h, 1d");
  command.add_option("--factors", flags.prepare.factors,
                     "CSV of splits and dividends (date, symbol, split, dividend, factor) to take "
                     "out of the prices");
  command.add_option("--symbol", flags.csv.symbols, "instruments to read; default all")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--duplicates", flags.duplicates,
                  "equal times: error; keep first (drop) or last; segment: each begins one")
      ->check(CLI::IsMember({"error", "first", "last", "drop", "segment"}));
  command
      .add_option("--missing", flags.missing,
                  "rows without a price: error; drop; segment: drop and begin a segment")
      ->check(CLI::IsMember({"error", "drop", "segment"}));
}

void AddDatasetFlags(CLI::App& command, ImportFlags& flags) {
  command.add_option("--out", flags.out, "dataset file to write")->required();
  command.add_option("--warm_up", flags.import.warm_up,
                     "bars of each segment that give no row; default 250, 0 with --features_from");
  command.add_option("--max_gap", flags.max_gap,
                     "a longer step in time ends a segment: 90m, 72h, 3d; default off");
  command
      .add_option("--gaps", flags.gaps,
                  "longer steps than --max_gap (default the bars' interval): error; segment; drop: "
                  "as if there were none")
      ->check(CLI::IsMember({"error", "segment", "drop"}));
  command.add_option("--split", flags.split,
                     "earlier and later side by time: a share (0.8), a date or a time with zone; "
                     "A..B: a test block, with training rows before and after it");
  command.add_option("--embargo", flags.import.embargo,
                     "bars left out after each cut of the split; of a block, at either side of it");
  command.add_option("--features_from", flags.features_from,
                     "features of your own instead of the 51: .npy or .npz, a row a bar");
  command.add_option("--feature_names", flags.feature_names, "names of a 2-D array's columns")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--fit", flags.fit,
                     "rows A:B that the scaler is fitted on; default the earlier side, or 80 %");
  command.add_option("--scaler_from", flags.scaler_from, "take the scaler of that dataset");
  command.add_flag("--raw", flags.import.raw, "leave the features as they are");
  command.add_flag("--json", flags.json, "report as one JSON object");
}

}  // namespace

void AddImport(CLI::App& app, Selected& selected) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* import = app.add_subcommand("import", "bars of other programs to a dataset");
  import->require_subcommand(1);
  CLI::App* csv = import->add_subcommand("csv", "CSV files, plain or gzip, in order of time");
  csv->add_option("inputs", flags->inputs, "files; a later one continues the earlier")->required();
  AddCsvFlags(*csv, *flags);
  AddBarFlags(*csv, *flags);
  AddDatasetFlags(*csv, *flags);
  csv->callback([&selected, flags] { selected = [flags] { return RunImportCsv(*flags); }; });

  CLI::App* npy = import->add_subcommand(
      "npy", "NumPy arrays: .npz of 1-D arrays, .npy of records or 2-D, in order of time");
  npy->add_option("inputs", flags->inputs, "files; a later one continues the earlier")->required();
  AddNpyFlags(*npy, *flags);
  AddBarFlags(*npy, *flags);
  AddDatasetFlags(*npy, *flags);
  npy->callback([&selected, flags] { selected = [flags] { return RunImportNpy(*flags); }; });

  CLI::App* dbn = import->add_subcommand(
      "dbn", "Databento files (DBN 1 to 3, OHLCV), plain or Zstandard, in order of time");
  dbn->add_option("inputs", flags->inputs, "files; a later one continues the earlier")->required();
  AddDbnFlags(*dbn, *flags);
  AddBarFlags(*dbn, *flags);
  AddDatasetFlags(*dbn, *flags);
  dbn->callback([&selected, flags] { selected = [flags] { return RunImportDbn(*flags); }; });
}

}  // namespace vixen::tool
