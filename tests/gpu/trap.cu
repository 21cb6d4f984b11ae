// SPDX-License-Identifier: Apache-2.0
// A kernel that ends in a fault which loses the context, as an illegal access does.
namespace vixen::kernels {
namespace {
__global__ void Trap() { asm volatile("trap;"); }
}  // namespace

void LoseTheDevice() { Trap<<<1, 1>>>(); }

}  // namespace vixen::kernels
