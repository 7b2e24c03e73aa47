// Candidates of a draw: the k best, and the smallest set of a given weight, without sorting. Of equals the lowest ids are kept.
#pragma once

#include "kernels/elementwise_math.h"

namespace kernelet::KERNELET_ISA {

typedef int64_t vl __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));

// Values of a row with their ids, ids rising, and room for their weights.
template <class W>
struct Candidates {
  W* values;
  double* weights;
  int64_t* ids;
  int64_t count;
};

// e^x of x from 0 down, within 2 ulp; 0 below -708. Cody and Waite's reduction, Taylor's polynomial.
inline vd weight_of(vd x) {
  constexpr double kMagic = 6755399441055744.0;
  const vd low = x < -708.0 ? splat(-708.0) : x;
  const vd shifted = fmadd(low, splat(1.44269504088896340736), splat(kMagic));
  const vd n = shifted - kMagic;
  vd r = fmadd(n, splat(-6.93147180369123816490e-01), low);
  r = fmadd(n, splat(-1.90821492927058770002e-10), r);
  constexpr double kFactors[] = {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0,
                                 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0};
  vd p = splat(1.0 / 6227020800.0);
  for (const double factor : kFactors) p = fmadd(p, r, splat(factor));
  const vl power = (vl)shifted - (vl)splat(kMagic);
  const vd weight = p * (vd)((power + 1023) << 52);
  return x < -708.0 ? vd{} : weight;
}

// Fills in the weights of all candidates.
template <class W>
inline void weigh(Candidates<W>& all) {
  constexpr int lanes = kVectorBytes / 8;
  for (int64_t i = 0; i < all.count; i += lanes) {
    double held[lanes] = {};
    const int64_t n = all.count - i < lanes ? all.count - i : lanes;
    for (int64_t lane = 0; lane < n; ++lane) held[lane] = static_cast<double>(all.values[i + lane]);
    store(held, weight_of(load(held)));
    std::memcpy(all.weights + i, held, static_cast<size_t>(n) * 8);
  }
}

inline double sum(const double* weights, int64_t from, int64_t to) {
  double total = 0;
  for (int64_t i = from; i < to; ++i) total += weights[i];
  return total;
}

template <class W>
inline W middle_of_three(W a, W b, W c) {
  if (a > b) {
    const W held = a;
    a = b;
    b = held;
  }
  return c < a ? a : c > b ? b : c;
}

// Splits values[from, to) into those above the pivot, equal to it, and below: [from, first), [first, last), [last, to).
// Weights, where there are some, go with their values.
template <class W>
inline void split(W* values, double* weights, int64_t from, int64_t to, W pivot, int64_t& first, int64_t& last) {
  const auto swap = [&](int64_t a, int64_t b) {
    const W value = values[a];
    values[a] = values[b];
    values[b] = value;
    if (weights) {
      const double weight = weights[a];
      weights[a] = weights[b];
      weights[b] = weight;
    }
  };
  first = from;
  last = to;
  for (int64_t i = from; i < last;) {
    if (values[i] > pivot)
      swap(i++, first++);
    else if (values[i] < pivot)
      swap(i, --last);
    else
      ++i;
  }
}

// The kth largest value (k from 1), with the number of larger ones. Reorders values.
template <class W>
inline W kth_largest(W* values, int64_t count, int64_t k, int64_t& larger) {
  int64_t from = 0, to = count;
  while (true) {
    const W pivot = middle_of_three(values[from], values[from + (to - from) / 2], values[to - 1]);
    int64_t first, last;
    split(values, nullptr, from, to, pivot, first, last);
    if (k <= first) {
      to = first;
    } else if (k <= last) {
      larger = first;
      return pivot;
    } else {
      from = last;
    }
  }
}

// Keeps what is above the cut and the first `equal` that equal it.
template <class W>
inline void keep(Candidates<W>& all, W cut, int64_t equal) {
  int64_t kept = 0;
  for (int64_t i = 0; i < all.count; ++i) {
    const W value = all.values[i];
    if (value > cut || (value == cut && equal-- > 0)) {
      all.values[kept] = value;
      all.weights[kept] = all.weights[i];
      all.ids[kept++] = all.ids[i];
    }
  }
  all.count = kept;
}

template <class W>
inline void keep_best(Candidates<W>& all, int64_t k, W* work) {
  if (k >= all.count) return;
  for (int64_t i = 0; i < all.count; ++i) work[i] = all.values[i];
  int64_t larger = 0;
  const W cut = kth_largest(work, all.count, k, larger);
  keep(all, cut, k - larger);
}

// Keeps the fewest best whose weights reach `share`; all where they do not. Candidates were weighed.
template <class W>
inline void keep_share(Candidates<W>& all, double share, W* work, double* weights) {
  for (int64_t i = 0; i < all.count; ++i) work[i] = all.values[i];
  for (int64_t i = 0; i < all.count; ++i) weights[i] = all.weights[i];
  double before = 0;  // weight of what is above work[from]
  int64_t from = 0, to = all.count;
  while (from < to) {
    const W pivot = middle_of_three(work[from], work[from + (to - from) / 2], work[to - 1]);
    int64_t first, last;
    split(work, weights, from, to, pivot, first, last);
    const double above = before + sum(weights, from, first);
    if (first > from && above >= share) {
      to = first;
      continue;
    }
    const double one = weights[first], with = above + one * static_cast<double>(last - first);
    if (with >= share) {
      int64_t equal = 1;
      while (equal < last - first && above + one * static_cast<double>(equal) < share) ++equal;
      return keep(all, pivot, equal);
    }
    before = with;
    from = last;
  }
}

}  // namespace kernelet::KERNELET_ISA
