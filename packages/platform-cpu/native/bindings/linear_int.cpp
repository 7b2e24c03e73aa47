#include "linear/int.h"

#include <nanobind/stl/string.h>

#include "bindings/bind.h"

namespace nb = nanobind;

namespace kernelet {

void bind_linear_int(nb::module_& m) {
  nb::class_<IntFormat>(m, "IntFormat")
      .def(
          "__init__",
          [](IntFormat* self, int64_t outputs, int64_t inputs, int64_t group, int64_t block, int bits, int origin,
             int element, int scale, int coarse, int zero, int round, float input_scale) {
            new (self) IntFormat{outputs,
                                 inputs,
                                 group,
                                 block,
                                 bits,
                                 origin,
                                 static_cast<IntFormat::Element>(element),
                                 static_cast<IntFormat::Scale>(scale),
                                 static_cast<IntFormat::Coarse>(coarse),
                                 static_cast<IntFormat::Zero>(zero),
                                 static_cast<IntFormat::Round>(round),
                                 input_scale};
          },
          nb::kw_only(), nb::arg("outputs"), nb::arg("inputs"), nb::arg("group"), nb::arg("block"), nb::arg("bits"),
          nb::arg("origin"), nb::arg("element"), nb::arg("scale"), nb::arg("coarse"), nb::arg("zero"), nb::arg("round"),
          nb::arg("input_scale"))
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
          [](IntLinear& self, Address elements, Address scales, Address zeros, Address coarse, Address coarse_offsets) {
            self.pack({at<const uint8_t>(elements), at<const void>(scales), at<const void>(zeros),
                       at<const void>(coarse), at<const void>(coarse_offsets)});
          },
          nb::kw_only(), nb::arg("elements"), nb::arg("scales"), nb::arg("zeros"), nb::arg("coarse"),
          nb::arg("coarse_offsets"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace kernelet
