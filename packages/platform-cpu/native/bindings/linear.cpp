#include "linear/linear.h"

#include "bindings/bind.h"

namespace nb = nanobind;

namespace kernelet {

void bind_linear(nb::module_& m) {
  nb::class_<PackedLinear>(m, "PackedLinear")
      .def_prop_ro("outputs", &PackedLinear::outputs)
      .def_prop_ro("inputs", &PackedLinear::inputs)
      .def_prop_ro("nbytes", &PackedLinear::nbytes)
      .def(
          "apply",
          [](const PackedLinear& self, Address x, int64_t rows, Address y, int dtype, Address bias) {
            self.apply(at<const void>(x), rows, at<void>(y), static_cast<Dtype>(dtype), at<const void>(bias));
          },
          nb::arg("x"), nb::arg("rows"), nb::arg("y"), nb::arg("dtype"), nb::arg("bias"),
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "gather",
          [](const PackedLinear& self, Address ids, int64_t count, Address out) {
            self.gather(at<const int64_t>(ids), count, at<void>(out));
          },
          nb::arg("ids"), nb::arg("count"), nb::arg("out"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace kernelet
