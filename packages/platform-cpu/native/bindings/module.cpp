#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bind.h"
#include "isa/isa.h"
#include "kernels/table.h"
#include "pool/pool.h"

namespace nb = nanobind;
using namespace kernelet;

NB_MODULE(_native, m) {
  m.doc() = "Kernels of the CPU platform. Buffers are passed as addresses; kernelet_platform_cpu checks them first.";
  m.def("available_isas", &available_isas);
  m.def("choose_isa", [](const std::string& name) { choose_isa(name); });
  m.def("chosen_isa", &chosen_isa);
  m.def("vector_bytes", [] { return kernels().vector_bytes; });
  m.def("start_pool", [](int threads, const std::vector<int>& cpus) { pool().start(threads, cpus); },
        nb::arg("threads"), nb::arg("cpus"), nb::call_guard<nb::gil_scoped_release>());
  m.def("pool_threads", [] { return pool().threads(); });
  m.def(
      "count_tasks",
      [](int64_t tasks) {  // that each task runs once is tested through this
        std::vector<int64_t> runs(static_cast<size_t>(tasks));
        pool().run(tasks, [&](int64_t task) { ++runs[static_cast<size_t>(task)]; });
        return runs;
      },
      nb::call_guard<nb::gil_scoped_release>());
  bind_linear(m);
  bind_linear_int(m);
  bind_experts(m);
  bind_ops(m);
  bind_ranks(m);
  bind_sampling(m);
  bind_attention(m);
  bind_layer(m);
}
