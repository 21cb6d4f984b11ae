// SPDX-License-Identifier: Apache-2.0
#include "market/npy/array.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/str_cat.h"

namespace vixen::market::npy {
namespace {

constexpr size_t kMostAxes = 8;
constexpr uint32_t kMostItemBytes = 1 << 20;

template <typename T>
T Load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The header's dictionary: {'descr': '<f8' or [('a', '<f8'), …], 'fortran_order': False, 'shape':
// (3, 4), }. Only what NumPy writes is understood.
class Header {
 public:
  Header(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  absl::Status Parse(Array& array) {
    bool descr = false, order = false, shape = false;
    VIXEN_RETURN_IF_ERROR(Expect('{'));
    while (!Take('}')) {
      VIXEN_ASSIGN_OR_RETURN(const std::string key, Text());
      VIXEN_RETURN_IF_ERROR(Expect(':'));
      if (key == "descr" && !descr) {
        descr = true;
        VIXEN_RETURN_IF_ERROR(Descr(array));
      } else if (key == "fortran_order" && !order) {
        order = true;
        VIXEN_ASSIGN_OR_RETURN(array.fortran_order, Boolean());
      } else if (key == "shape" && !shape) {
        shape = true;
        VIXEN_RETURN_IF_ERROR(Shape(array.shape));
      } else {
        return Fault(absl::StrCat("has the key `", key, "`"));
      }
      if (!Take(',') && !Peek('}')) return Fault("lacks a comma");
    }
    if (!descr || !order || !shape) return Fault("lacks descr, fortran_order or shape");
    return absl::OkStatus();
  }

 private:
  absl::Status Fault(const std::string& fault) const {
    return absl::InvalidArgumentError(absl::StrCat(source_, ": the array's header ", fault));
  }
  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool Peek(char c) {
    SkipBlanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool Take(char c) {
    if (!Peek(c)) return false;
    ++at_;
    return true;
  }
  absl::Status Expect(char c) {
    if (Take(c)) return absl::OkStatus();
    return Fault(absl::StrCat("lacks `", std::string(1, c), "` at byte ", at_));
  }
  absl::StatusOr<std::string> Text() {
    SkipBlanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') return Fault(absl::StrCat("lacks a text at byte ", at_));
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return Fault("holds a text without end");
    const std::string_view text = text_.substr(at_ + 1, end - at_ - 1);
    if (text.find('\\') != std::string_view::npos) return Fault("holds an escaped text");
    at_ = end + 1;
    return std::string(text);
  }
  absl::StatusOr<bool> Boolean() {
    SkipBlanks();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    return Fault("has a fortran_order that is neither True nor False");
  }
  absl::StatusOr<uint64_t> Number() {
    SkipBlanks();
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    uint64_t number = 0;
    const std::string_view digits = text_.substr(begin, at_ - begin);
    if (!absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()), &number)) {
      return Fault(absl::StrCat("lacks a number at byte ", begin));
    }
    return number;
  }
  absl::Status Shape(std::vector<uint64_t>& shape) {
    VIXEN_RETURN_IF_ERROR(Expect('('));
    while (!Take(')')) {
      VIXEN_ASSIGN_OR_RETURN(const uint64_t axis, Number());
      shape.push_back(axis);
      if (shape.size() > kMostAxes) return Fault("has too many axes");
      if (!Take(',') && !Peek(')')) return Fault("has a shape without comma");
    }
    return absl::OkStatus();
  }
  absl::Status Descr(Array& array) {
    if (!Take('[')) {
      VIXEN_ASSIGN_OR_RETURN(const std::string text, Text());
      return AddField("", text, array);
    }
    while (!Take(']')) {
      VIXEN_RETURN_IF_ERROR(Expect('('));
      VIXEN_ASSIGN_OR_RETURN(const std::string name, Text());
      VIXEN_RETURN_IF_ERROR(Expect(','));
      if (!Peek('\'') && !Peek('"')) return Fault(absl::StrCat("nests arrays in field ", name));
      VIXEN_ASSIGN_OR_RETURN(const std::string type, Text());
      if (!Take(')')) return Fault(absl::StrCat("gives field ", name, " a shape of its own"));
      VIXEN_RETURN_IF_ERROR(AddField(name, type, array));
      if (!Take(',') && !Peek(']')) return Fault("has fields without comma");
    }
    if (array.fields.empty()) return Fault("has no field");
    return absl::OkStatus();
  }
  absl::Status AddField(const std::string& name, const std::string& text, Array& array) {
    VIXEN_ASSIGN_OR_RETURN(const Type type, TypeOf(text));
    // Padding between fields is a field '|V4' without a name.
    const uint64_t offset = array.item_bytes;
    array.item_bytes += type.bytes;
    if (array.item_bytes > kMostItemBytes) return Fault("has items that are too large");
    if (text[0] == '|' && text[1] == 'V') return absl::OkStatus();
    if (std::ranges::any_of(array.fields, [&](const Field& f) { return f.name == name; })) {
      return Fault(absl::StrCat("has the field `", name, "` twice"));
    }
    array.fields.push_back({name, type, offset});
    return absl::OkStatus();
  }
  // "<f8", "|b1", "<M8[ns]", "<U12", …
  absl::StatusOr<Type> TypeOf(const std::string& text) {
    const auto refuse = [&](const char* why) {
      return Fault(absl::StrCat("has the type `", text, "`: ", why));
    };
    uint32_t size = 0;
    const size_t bracket = text.find('[');
    if (text.size() < 3 ||
        !absl::SimpleAtoi(text.substr(2, bracket == text.npos ? bracket : bracket - 2), &size)) {
      return refuse(text.find('O') != text.npos
                        ? "arrays of Python objects are not read; give numbers their dtype"
                        : "not understood");
    }
    if (text[0] == '>') return refuse("big-endian; write it with .astype(dtype.newbyteorder('<'))");
    if (text[0] != '<' && text[0] != '|' && text[0] != '=') return refuse("not understood");
    if (size > kMostItemBytes) return refuse("too large");
    const auto one_of = [size](std::initializer_list<uint32_t> sizes) {
      return std::ranges::find(sizes, size) != sizes.end();
    };
    Type type{static_cast<Kind>(text[1]), size, 0};
    switch (text[1]) {
      case 'b':
        if (size == 1) return type;
        break;
      case 'i':
      case 'u':
        if (one_of({1, 2, 4, 8})) return type;
        break;
      case 'f':
        if (one_of({4, 8})) return type;
        return refuse("floating-point numbers are read as float32 or float64");
      case 'S':
      case 'V':
        return type;
      case 'U':
        type.bytes = 4 * size;
        if (type.bytes <= kMostItemBytes) return type;
        break;
      case 'M':
        if (size == 8 && bracket != text.npos) return TimeType(text, text.substr(bracket));
        break;
      default:
        break;
    }
    return refuse("not understood");
  }
  absl::StatusOr<Type> TimeType(const std::string& text, const std::string& unit) {
    constexpr std::pair<const char*, int64_t> kUnits[] = {{"[ns]", 1},
                                                          {"[us]", 1'000},
                                                          {"[ms]", 1'000'000},
                                                          {"[s]", 1'000'000'000},
                                                          {"[m]", 60'000'000'000},
                                                          {"[h]", 3'600'000'000'000},
                                                          {"[D]", 86'400'000'000'000}};
    for (const auto& [name, ns] : kUnits) {
      if (unit == name) return Type{Kind::kTime, 8, ns};
    }
    return Fault(
        absl::StrCat("has the type `", text, "`: times are read in ns, us, ms, s, m, h or D"));
  }

  std::string_view text_;
  const std::string& source_;
  size_t at_ = 0;
};

void AppendUtf8(uint32_t c, std::string& text) {
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | c >> 6);
    text += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | c >> 12);
    text += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | (c >> 18 & 0x07));
    text += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    text += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (c & 0x3F));
  }
}

}  // namespace

std::string Type::Name() const {
  switch (kind) {
    case Kind::kBool:
      return "bool";
    case Kind::kSigned:
      return absl::StrCat("int", 8 * bytes);
    case Kind::kUnsigned:
      return absl::StrCat("uint", 8 * bytes);
    case Kind::kFloat:
      return absl::StrCat("float", 8 * bytes);
    case Kind::kTime:
      return "datetime64";
    case Kind::kUnicode:
      return absl::StrCat("text of ", bytes / 4);
    case Kind::kBytes:
      return absl::StrCat("text of ", bytes, " bytes");
  }
  return "void";
}

std::string Array::Describe() const {
  return absl::StrCat(is_structured() ? "records" : fields[0].type.Name(), " [",
                      absl::StrJoin(shape, ", "), "]");
}

const char* Array::At(const Field& field, uint64_t i, uint64_t column) const {
  uint64_t item = i;
  if (shape.size() == 2) item = fortran_order ? column * shape[0] + i : i * shape[1] + column;
  return data.data() + item * item_bytes + field.offset;
}

absl::StatusOr<Array> ParseArray(std::string_view bytes, const std::string& source) {
  constexpr std::string_view kMagic("\x93NUMPY", 6);
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": is no NPY array"));
  }
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": NPY version ", version, " is not read: 1, 2 and 3 are"));
  }
  const uint64_t begin = version == 1 ? 10 : 12;
  const uint64_t length = version == 1 ? Load<uint16_t>(&bytes[8]) : Load<uint32_t>(&bytes[8]);
  if (length > bytes.size() - begin) {
    return absl::DataLossError(absl::StrCat(source, ": the array's header of ", length,
                                            " bytes is cut: ", bytes.size() - begin, " are there"));
  }
  Array array;
  VIXEN_RETURN_IF_ERROR(Header(bytes.substr(begin, length), source).Parse(array));
  uint64_t wanted = array.item_bytes;
  for (const uint64_t axis : array.shape) {
    if (__builtin_mul_overflow(wanted, axis, &wanted)) wanted = UINT64_MAX;
  }
  if (array.fields.empty() || array.fields[0].type.bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": an array of empty items"));
  }
  if (wanted == 0)
    return absl::InvalidArgumentError(absl::StrCat(source, ": an array without values"));
  const std::string_view values = bytes.substr(begin + length);
  if (values.size() != wanted) {
    return absl::DataLossError(absl::StrCat(source, ": ", array.Describe(), " asks for ", wanted,
                                            " bytes of values, there are ", values.size()));
  }
  array.data = std::string(values);
  return array;
}

double NumberAt(const Type& type, const char* value) {
  if (type.kind == Kind::kFloat) {
    return type.bytes == 4 ? static_cast<double>(Load<float>(value)) : Load<double>(value);
  }
  if (type.kind == Kind::kUnsigned && type.bytes == 8) {
    return static_cast<double>(Load<uint64_t>(value));
  }
  return static_cast<double>(IntegerAt(type, value).value_or(0));
}

std::optional<int64_t> IntegerAt(const Type& type, const char* value) {
  const bool is_signed = type.kind != Kind::kUnsigned;
  switch (type.bytes) {
    case 1:
      return is_signed ? int64_t{Load<int8_t>(value)} : int64_t{Load<uint8_t>(value)};
    case 2:
      return is_signed ? int64_t{Load<int16_t>(value)} : int64_t{Load<uint16_t>(value)};
    case 4:
      return is_signed ? int64_t{Load<int32_t>(value)} : int64_t{Load<uint32_t>(value)};
    default:
      if (!is_signed && Load<uint64_t>(value) > static_cast<uint64_t>(INT64_MAX))
        return std::nullopt;
      return Load<int64_t>(value);
  }
}

std::string TextAt(const Type& type, const char* value) {
  std::string text;
  if (type.kind == Kind::kBytes) {
    text.assign(value, type.bytes);
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
  }
  for (uint32_t i = 0; i < type.bytes; i += 4) {
    const uint32_t c = Load<uint32_t>(value + i);
    if (c == 0) break;
    AppendUtf8(c, text);
  }
  return text;
}

}  // namespace vixen::market::npy
