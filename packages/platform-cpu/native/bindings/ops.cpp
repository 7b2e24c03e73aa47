#include "bindings/bind.h"
#include "layer/ops.h"

namespace nb = nanobind;

namespace kernelet {

void bind_ops(nb::module_& m) {
  const auto no_gil = nb::call_guard<nb::gil_scoped_release>();
  m.def(
      "norm",
      [](int kind, Address x, int64_t x_stride, Address y, int64_t rows, int64_t size, Address weight, Address bias,
         double eps, int dtype, bool of_wide) {
        norm(static_cast<NormKind>(kind),
             {at<const void>(x), x_stride, at<void>(y), size, size, at<const void>(weight), at<const void>(bias), eps},
             rows, static_cast<Dtype>(dtype), of_wide);
      },
      no_gil);
  m.def(
      "add_norm",
      [](int kind, Address residual, Address x, Address total, Address normed, int64_t rows, int64_t size,
         double scale, Address weight, Address bias, double eps, int dtype) {
        add_norm(static_cast<NormKind>(kind), {at<const void>(residual), at<const void>(x), at<void>(total), scale},
                 {at<const void>(total), size, at<void>(normed), size, size, at<const void>(weight),
                  at<const void>(bias), eps},
                 rows, static_cast<Dtype>(dtype));
      },
      no_gil);
  m.def(
      "add",
      [](Address x, Address y, Address out, int64_t elements, double scale, int dtype, bool to_wide) {
        add({at<const void>(x), at<const void>(y), at<void>(out), scale}, elements, static_cast<Dtype>(dtype),
            to_wide);
      },
      no_gil);
  m.def(
      "activate",
      [](Address x, int64_t x_stride, Address y, int64_t rows, int64_t size, int kind, bool gated, int dtype) {
        activate({at<const void>(x), x_stride, at<void>(y), size, static_cast<Activation>(kind), gated}, rows,
                 static_cast<Dtype>(dtype));
      },
      no_gil);
  m.def(
      "heads",
      [](Address x, int64_t token_stride, int64_t head_stride, int64_t tokens, int64_t count, int64_t size,
         Address weight, double eps, Address cos, Address sin, int64_t rope_stride, int64_t rope_size,
         bool interleaved, int dtype) {
        heads({at<void>(x), token_stride, head_stride, count, size, at<const void>(weight), eps,
               {at<const void>(cos), at<const void>(sin), rope_stride, rope_size, interleaved}},
              tokens, static_cast<Dtype>(dtype));
      },
      no_gil);
}

}  // namespace kernelet
