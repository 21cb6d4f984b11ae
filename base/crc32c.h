// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vixen::base {

// CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected), as in RFC 3720 B.4: "123456789" →
// 0xE3069283. `crc` is the value of the bytes before these (0 at the start), so pieces can be
// chained. Uses the SSE4.2 instruction where the processor has it. Debian 12 packages no C++
// library for it.
uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> bytes);

inline uint32_t Crc32c(std::span<const std::byte> bytes) { return ExtendCrc32c(0, bytes); }

namespace internal {
// The same value from tables alone: what processors without the instruction run.
uint32_t ExtendCrc32cPortable(uint32_t crc, std::span<const std::byte> bytes);
}  // namespace internal

}  // namespace vixen::base
