#include "bindings/bind.h"
#include "layer/ops.h"

namespace nb = nanobind;

namespace kernelet {

void bind_attention(nb::module_& m) {
  nb::class_<AttentionLayer>(m, "AttentionLayer")
      .def(
          "__init__",
          [](AttentionLayer* self, int64_t heads, int64_t kv_heads, int64_t size, int64_t block_size, int64_t window,
             double scale, double soft_cap, int form, float key_scale, float value_scale) {
            new (self) AttentionLayer{heads,    kv_heads,  size,       block_size, window, scale,
                                      soft_cap, static_cast<CacheForm>(form), key_scale, value_scale};
          },
          nb::arg("heads"), nb::arg("kv_heads"), nb::arg("size"), nb::arg("block_size"), nb::arg("window"),
          nb::arg("scale"), nb::arg("soft_cap"), nb::arg("form") = 0, nb::arg("key_scale") = 1.0f,
          nb::arg("value_scale") = 1.0f);
  nb::class_<AttentionStep>(m, "AttentionStep")
      .def(
          "__init__",
          [](AttentionStep* self, Address starts, Address lengths, int64_t requests, Address blocks, int64_t columns,
             Address slots, int64_t tokens) {
            new (self) AttentionStep(at<const int32_t>(starts), at<const int32_t>(lengths), requests,
                                     at<const int32_t>(blocks), columns, at<const int64_t>(slots), tokens);
          },
          nb::arg("starts"), nb::arg("lengths"), nb::arg("requests"), nb::arg("blocks"), nb::arg("columns"),
          nb::arg("slots"), nb::arg("tokens"))
      .def_prop_ro("tokens", &AttentionStep::tokens);
  m.def(
      "attention",
      [](const AttentionLayer& layer, AttentionStep& step, Address query, int64_t query_stride, Address out,
         Address cache, Address sinks, int dtype) {
        attention({layer, at<const void>(query), query_stride, at<void>(out), at<const void>(cache),
                   at<const void>(sinks)},
                  step, static_cast<Dtype>(dtype));
      },
      nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "write_kv",
      [](const AttentionLayer& layer, AttentionStep& step, Address key, int64_t key_stride, Address value,
         int64_t value_stride, Address cache, int dtype) {
        write({at<const void>(key), at<const void>(value), key_stride, value_stride, layer.kv_heads, layer.size,
               layer.block_size, at<void>(cache), step.slots(), layer.form, layer.key_scale, layer.value_scale},
              step.tokens(), static_cast<Dtype>(dtype));
      },
      nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace kernelet
