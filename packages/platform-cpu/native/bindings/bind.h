// One function a group of kernels, called by the module's definition.
#pragma once

#include <nanobind/nanobind.h>

#include "common/types.h"

namespace kernelet {

using Address = uintptr_t;  // of a buffer that Python keeps alive during the call

template <class T>
T* at(Address address) {
  return reinterpret_cast<T*>(address);
}

void bind_attention(nanobind::module_& m);
void bind_experts(nanobind::module_& m);
void bind_layer(nanobind::module_& m);
void bind_linear(nanobind::module_& m);
void bind_linear_int(nanobind::module_& m);
void bind_ops(nanobind::module_& m);
void bind_ranks(nanobind::module_& m);
void bind_sampling(nanobind::module_& m);

}  // namespace kernelet
