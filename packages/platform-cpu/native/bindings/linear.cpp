#include "linear/linear.h"

#include <nanobind/stl/string.h>

#include "bindings/bind.h"
#include "linear/dense.h"

namespace nb = nanobind;

namespace kernelet {

void bind_linear(nb::module_& m) {
  nb::class_<PackedLinear>(m, "PackedLinear")
      .def_prop_ro("outputs", &PackedLinear::outputs)
      .def_prop_ro("inputs", &PackedLinear::inputs)
      .def_prop_ro("nbytes", &PackedLinear::nbytes)
      .def(
          "share",
          [](PackedLinear& self, int64_t row_bytes, int64_t panel_bytes, int64_t tasks, int64_t ahead) {
            self.set_sharing({row_bytes, panel_bytes, tasks, ahead});
          },
          nb::kw_only(), nb::arg("row_bytes"), nb::arg("panel_bytes"), nb::arg("tasks"), nb::arg("ahead"))
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

  nb::class_<DenseLinear, PackedLinear>(m, "DenseLinear")
      .def(
          "__init__",  // keeps `owner`, whose memory the panels are
          [](DenseLinear* self, int dtype, int64_t outputs, int64_t inputs, Address panels, nb::object) {
            new (self) DenseLinear(static_cast<Dtype>(dtype), outputs, inputs, at<const void>(panels));
          },
          nb::arg("dtype"), nb::arg("outputs"), nb::arg("inputs"), nb::arg("panels"), nb::arg("owner"),
          nb::keep_alive<1, 6>())
      .def_static("layout", [](int dtype) { return DenseLinear::layout(static_cast<Dtype>(dtype)); }, nb::arg("dtype"))
      .def_static(
          "packed_bytes",
          [](int dtype, int64_t outputs, int64_t inputs) {
            return DenseLinear::packed_bytes(static_cast<Dtype>(dtype), outputs, inputs);
          },
          nb::arg("dtype"), nb::arg("outputs"), nb::arg("inputs"))
      .def_static(
          "pack",
          [](int dtype, Address weight, int64_t stride, int64_t outputs, int64_t inputs, Address panels) {
            DenseLinear::pack(static_cast<Dtype>(dtype), at<const void>(weight), stride, outputs, inputs,
                              at<void>(panels));
          },
          nb::arg("dtype"), nb::arg("weight"), nb::arg("stride"), nb::arg("outputs"), nb::arg("inputs"),
          nb::arg("panels"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace kernelet
