#include <vector>

#include "bindings/bind.h"
#include "isa/isa.h"
#include "kernels/table.h"
#include "pool/pool.h"

namespace nb = nanobind;

namespace kernelet {

void bind_sampling(nb::module_& m) {
  // temperature, top_p, min_p and number are double [rows], top_k and tokens int64 [rows], maxima double [rows]; a
  // temperature at 0 takes the best token of every row, whatever else is given.
  m.def(
      "sample",
      [](Address logits, int64_t stride, int64_t rows, int64_t size, int dtype, Address temperature, Address top_k,
         Address top_p, Address min_p, Address number, Address tokens, Address maxima) {
        const auto sample = kernels().sampling.sample[dtype];
        const int64_t bytes = stride * size_of(static_cast<Dtype>(dtype));
        pool().run(rows, [&](int64_t row) {
          DrawCall call{at<const char>(logits) + row * bytes, size, 0, 0, 1, 0, 0};
          static thread_local std::vector<double> scratch;  // kept: a step's rows are as wide as those of the step before
          if (temperature && at<const double>(temperature)[row] > 0) {
            call = {call.logits, size, at<const double>(temperature)[row], at<const int64_t>(top_k)[row],
                    at<const double>(top_p)[row], at<const double>(min_p)[row], at<const double>(number)[row]};
            scratch.resize(static_cast<size_t>(sample_scratch(size)));
          }
          const DrawResult result = sample(call, scratch.data());
          at<int64_t>(tokens)[row] = result.token;
          at<double>(maxima)[row] = result.maximum;
        });
      },
      nb::call_guard<nb::gil_scoped_release>());
  // masks are uint32 [count, (size + 31) / 32], rows int64 [count]: which rows of the logits; none twice.
  m.def(
      "apply_token_mask",
      [](Address logits, int64_t stride, int64_t size, int dtype, Address masks, int64_t words, Address rows,
         int64_t count) {
        const auto mask = kernels().sampling.mask[dtype];
        const int64_t bytes = stride * size_of(static_cast<Dtype>(dtype));
        pool().run(count, [&](int64_t i) {
          mask(at<char>(logits) + at<const int64_t>(rows)[i] * bytes, at<const uint32_t>(masks) + i * words, size);
        });
      },
      nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace kernelet
