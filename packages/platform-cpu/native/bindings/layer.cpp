#include "bindings/bind.h"
#include "layer/decoder.h"

namespace nb = nanobind;

namespace kernelet {

void bind_layer(nb::module_& m) {
  nb::class_<Workspace>(m, "Workspace").def(nb::init<>());
  nb::class_<NormWeights>(m, "NormWeights")
      .def(
          "__init__",
          [](NormWeights* self, int kind, Address weight, Address bias, double eps) {
            new (self) NormWeights{static_cast<NormKind>(kind), at<const void>(weight), at<const void>(bias), eps};
          },
          nb::arg("kind"), nb::arg("weight"), nb::arg("bias"), nb::arg("eps"));
  nb::class_<LinearWeights>(m, "LinearWeights")
      .def(
          "__init__",
          [](LinearWeights* self, const PackedLinear& weight, Address bias) {
            new (self) LinearWeights{&weight, at<const void>(bias)};
          },
          nb::arg("weight"), nb::arg("bias"), nb::keep_alive<1, 2>());
  nb::class_<DecoderLayer>(m, "DecoderLayer")
      .def(
          "__init__",
          [](DecoderLayer* self, int dtype, double scale, const NormWeights& attention_norm,
             const NormWeights& mlp_norm, const LinearWeights& qkv, const LinearWeights& output,
             const LinearWeights& up, const LinearWeights& down, const AttentionLayer& attention, Address query_norm,
             double query_eps, Address key_norm, double key_eps, Address sinks, Address cache, int activation,
             bool gated) {
            new (self) DecoderLayer{static_cast<Dtype>(dtype), scale, attention_norm, mlp_norm, qkv, output, up, down,
                                    attention, at<const void>(query_norm), at<const void>(key_norm), query_eps, key_eps,
                                    at<const void>(sinks), at<void>(cache), static_cast<Activation>(activation), gated};
          },
          nb::kw_only(), nb::arg("dtype"), nb::arg("scale"), nb::arg("attention_norm"), nb::arg("mlp_norm"),
          nb::arg("qkv"), nb::arg("output"), nb::arg("up"), nb::arg("down"), nb::arg("attention"),
          nb::arg("query_norm"), nb::arg("query_eps"), nb::arg("key_norm"), nb::arg("key_eps"), nb::arg("sinks"),
          nb::arg("cache"), nb::arg("activation"), nb::arg("gated"))
      .def(
          "run",
          [](const DecoderLayer& self, Address residual, Address out, AttentionStep& step, Address cos, Address sin,
             int64_t rope_stride, int64_t rope_size, bool interleaved, Workspace& work) {
            self.run(at<const void>(residual), at<void>(out), step,
                     {at<const void>(cos), at<const void>(sin), rope_stride, rope_size, interleaved}, work);
          },
          nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace kernelet
