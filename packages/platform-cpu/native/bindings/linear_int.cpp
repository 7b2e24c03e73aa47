#include "linear/int.h"

#include <nanobind/stl/string.h>

#include "bindings/bind.h"

namespace nb = nanobind;

namespace kernelet {

void bind_linear_int(nb::module_& m) {
  nb::class_<IntFormat>(m, "IntFormat")
      .def(
          "__init__",
          [](IntFormat* self, int64_t outputs, int64_t inputs, int64_t group, int bits, int origin, int zero, int round,
             float input_scale) {
            new (self) IntFormat{outputs, inputs, group, bits, origin, static_cast<IntFormat::Zero>(zero),
                                 static_cast<IntFormat::Round>(round), input_scale};
          },
          nb::kw_only(), nb::arg("outputs"), nb::arg("inputs"), nb::arg("group"), nb::arg("bits"), nb::arg("origin"),
          nb::arg("zero"), nb::arg("round"), nb::arg("input_scale"))
      .def_prop_ro("nbytes", [](const IntFormat& self) { return IntLinear::bytes(self); });
  nb::class_<IntLinear, PackedLinear>(m, "IntLinear")
      .def(
          "__init__",
          [](IntLinear* self, const IntFormat& format, Address packed, nb::handle /*owner*/) {
            new (self) IntLinear(format, at<uint8_t>(packed));
          },
          nb::arg("format"), nb::arg("packed"), nb::arg("owner"), nb::keep_alive<1, 4>())
      .def_static("layout", &IntLinear::layout)
      .def(
          "pack",
          [](IntLinear& self, Address elements, Address scales, Address zeros) {
            self.pack({at<const uint8_t>(elements), at<const float>(scales), at<const void>(zeros)});
          },
          nb::arg("elements"), nb::arg("scales"), nb::arg("zeros"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace kernelet
