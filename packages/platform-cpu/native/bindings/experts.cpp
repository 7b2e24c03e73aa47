#include "linear/experts.h"

#include <nanobind/stl/vector.h>

#include "bindings/bind.h"

namespace nb = nanobind;

namespace kernelet {

void bind_experts(nb::module_& m) {
  nb::class_<Experts>(m, "Experts")
      .def(
          "__init__",
          [](Experts* self, const std::vector<const PackedLinear*>& gate_up,
             const std::vector<const PackedLinear*>& down, int activation) {
            new (self) Experts(gate_up, down, static_cast<Activation>(activation));
          },
          nb::arg("gate_up"), nb::arg("down"), nb::arg("activation"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def(
          "apply",
          [](const Experts& self, Address x, int64_t rows, Address ids, int64_t choices, Address out, int dtype) {
            self.apply(at<const void>(x), rows, at<const int64_t>(ids), choices, at<void>(out),
                       static_cast<Dtype>(dtype));
          },
          nb::arg("x"), nb::arg("rows"), nb::arg("ids"), nb::arg("choices"), nb::arg("out"), nb::arg("dtype"),
          nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace kernelet
