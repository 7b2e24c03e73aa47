#include "kernels/sampling.h"

#include "kernels/elementwise_math.h"
#include "kernels/sampling_select.h"

// A loop's body is compiled for full vectors and again for the rest: as a call it would take the number of lanes at run time.
#define KERNELET_INLINE __attribute__((always_inline))

namespace kernelet::KERNELET_ISA {
namespace {

constexpr int64_t kSumBlock = 256;  // elements whose weights are added before the running sum
constexpr int64_t kMaxBlock = 64;   // elements of which one maximum is taken to find the k best
constexpr double kSmall = 1e-3;     // shares are rounded: a bound that must not cut anything is taken this much lower
constexpr double kNear = 1e-5;      // more than weights in float32 are off
constexpr double kStep = 2.5;       // how far each further look for the best of a given weight goes down

template <class S>
struct Row {
  const S* logits;
  int64_t size;
  Wide<S> maximum;
  Wide<S> temperature;

  // (x - max) / temperature of the n elements at i.
  VecOf<S> scaled(int64_t i, int64_t n) const {
    return (widen(logits + i, n) - splat(maximum)) / splat(temperature);
  }
};

// A sum in doubles of vectors, lane by lane.
struct Sum {
  vd low = {}, high = {};

  void add(vd v) { low += v; }
  void add(vf v) {
    typedef float half __attribute__((vector_size(kVectorBytes / 2)));
    half part[2];
    std::memcpy(part, &v, sizeof v);
    low += __builtin_convertvector(part[0], vd);
    high += __builtin_convertvector(part[1], vd);
  }
  double total() const { return lane_sum(low + high); }
};

template <class V>
inline bool any(V mask) {
  int64_t held[sizeof(V) / 8];
  std::memcpy(held, &mask, sizeof mask);
  int64_t all = 0;
  for (int64_t part : held) all |= part;
  return all != 0;
}

template <class S>
Wide<S> largest_of(const S* row, int64_t size) {
  using V = VecOf<S>;
  using Mask = decltype(V{} != V{});
  constexpr int lanes = kWideLanes<S>;
  const Wide<S> least = -static_cast<Wide<S>>(INFINITY);
  V best[4] = {splat(least), splat(least), splat(least), splat(least)};
  Mask nan = {};
  int64_t i = 0;
  for (; i + 4 * lanes <= size; i += 4 * lanes)
    for (int part = 0; part < 4; ++part) {
      const V v = load(row + i + part * lanes);
      nan |= v != v;
      best[part] = v > best[part] ? v : best[part];
    }
  const V both = best[0] > best[1] ? best[0] : best[1], others = best[2] > best[3] ? best[2] : best[3];
  Wide<S> found = lane_max(both > others ? both : others);
  bool has_nan = any(nan);
  for (; i < size; ++i) {
    const Wide<S> value = widen_part(row + i, 1)[0];
    has_nan |= value != value;
    found = value > found ? value : found;
  }
  return has_nan ? static_cast<Wide<S>>(NAN) : found;
}

template <class S>
int64_t first_equal(const S* row, int64_t size, Wide<S> value) {
  constexpr int lanes = kWideLanes<S>;
  int64_t i = 0;
  while (i + lanes <= size && !any(load(row + i) == splat(value))) i += lanes;
  while (i < size && widen_part(row + i, 1)[0] != value) ++i;
  return i;
}

// First index whose running sum exceeds the target; rounding never leads past the last element with weight.
int64_t locate(const double* running, int64_t count, double target) {
  for (int64_t i = 0; i < count; ++i)
    if (running[i] > target) return i;
  for (int64_t i = 0; i < count; ++i)
    if (running[i] >= running[count - 1]) return i;
  return count - 1;
}

template <class V>
V first_lanes(V v, int64_t lanes) {
  std::remove_reference_t<decltype(v[0])> held[sizeof(V) / sizeof(v[0])] = {};
  std::memcpy(held, &v, static_cast<size_t>(lanes) * sizeof(v[0]));
  return load(held);
}

// Weights of a block of at most kSumBlock elements, and their sum.
template <class S>
double block_weights(const Row<S>& row, int64_t from, int64_t n, Wide<S>* weights) {
  Sum sum;
  each_vector<S>(n, [&](int64_t i, int lanes) KERNELET_INLINE {
    VecOf<S> weight = exp_of(row.scaled(from + i, lanes));
    if (lanes < kWideLanes<S>) weight = first_lanes(weight, lanes);
    narrow(weights + i, weight, lanes);
    sum.add(weight);
  });
  return sum.total();
}

template <class S>
int64_t draw_from_all(const Row<S>& row, double number, double* running) {
  Wide<S> weights[kSumBlock];
  double sums[kSumBlock];
  const int64_t blocks = (row.size + kSumBlock - 1) / kSumBlock;
  double total = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t from = block * kSumBlock, n = row.size - from < kSumBlock ? row.size - from : kSumBlock;
    running[block] = total += block_weights(row, from, n, weights);
  }
  const double target = number * total;
  const int64_t block = locate(running, blocks, target), from = block * kSumBlock;
  const int64_t n = row.size - from < kSumBlock ? row.size - from : kSumBlock;
  block_weights(row, from, n, weights);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sums[i] = sum += static_cast<double>(weights[i]);
  return from + locate(sums, n, target - (block ? running[block - 1] : 0.0));
}

// Weight of the elements of at least `floor`.
template <class W>
double weight_from(const W* weights, int64_t size, W floor) {
  Sum sum;
  each_vector<W>(size, [&](int64_t i, int lanes) KERNELET_INLINE {
    const VecOf<W> weight = widen(weights + i, lanes);
    sum.add(weight >= splat(floor) ? weight : VecOf<W>{});
  });
  return sum.total();
}

template <class W>
void collect(const W* values, int64_t size, W floor, Candidates<W>& found) {
  found.count = 0;
  each_vector<W>(size, [&](int64_t i, int lanes) KERNELET_INLINE {
    if (lanes == kWideLanes<W> && !any(load(values + i) >= splat(floor))) return;
    for (int lane = 0; lane < lanes; ++lane)
      if (values[i + lane] >= floor) {
        found.values[found.count] = values[i + lane];
        found.ids[found.count++] = i + lane;
      }
  });
}

// A value that the k best reach: the kth largest of the maxima of blocks, where there are enough blocks.
template <class W>
W floor_of_best(const W* values, int64_t size, int64_t k, W* maxima) {
  const int64_t blocks = size / kMaxBlock;
  if (k > blocks / 2) return -static_cast<W>(INFINITY);
  for (int64_t block = 0; block < blocks; ++block) {
    VecOf<W> best = load(values + block * kMaxBlock);
    for (int64_t i = kWideLanes<W>; i < kMaxBlock; i += kWideLanes<W>) {
      const VecOf<W> v = load(values + block * kMaxBlock + i);
      best = v > best ? v : best;
    }
    maxima[block] = lane_max(best);
  }
  int64_t larger = 0;
  return kth_largest(maxima, blocks, k, larger);
}

template <class W>
W log_of(double share) {
  return share > 0 ? static_cast<W>(::log(share)) : -static_cast<W>(INFINITY);
}

// A value that all of the fewest best of weight `share` reach; `least` is one already.
template <class W>
W floor_of_share(const W* weights, int64_t size, double share, W least) {
  for (double floor = -kStep; floor > static_cast<double>(least); floor -= kStep)
    if (weight_from(weights, size, static_cast<W>(::exp(floor))) >= share * (1 + kNear))
      return static_cast<W>(floor - kNear);
  return least;
}

// What top_k, top_p and min_p leave, weighed.
template <class S>
Candidates<Wide<S>> filter(const Row<S>& row, const DrawCall& call, double* scratch) {
  using W = Wide<S>;
  const int64_t size = row.size, room = size + 64;
  W* scaled = reinterpret_cast<W*>(scratch + 3 * room);
  W* work = reinterpret_cast<W*>(scratch + 4 * room);
  Candidates<W> kept{reinterpret_cast<W*>(scratch), scratch + room, reinterpret_cast<int64_t*>(scratch + 2 * room), 0};
  each_vector<S>(size, [&](int64_t i, int lanes) KERNELET_INLINE { narrow(scaled + i, row.scaled(i, lanes), lanes); });
  double total = -1;
  if (call.top_k > 0 && call.top_k < size) {
    collect(scaled, size, floor_of_best(scaled, size, call.top_k, work), kept);
    keep_best(kept, call.top_k, work);
    const W least = log_of<W>(call.min_p);
    const int64_t count = kept.count;
    kept.count = 0;
    for (int64_t i = 0; i < count; ++i)
      if (kept.values[i] >= least) {
        kept.values[kept.count] = kept.values[i];
        kept.ids[kept.count++] = kept.ids[i];
      }
  } else if (call.min_p > 0) {
    collect(scaled, size, log_of<W>(call.min_p), kept);
  } else {
    total = 0;
    for (int64_t from = 0; from < size; from += kSumBlock)
      total += block_weights(row, from, size - from < kSumBlock ? size - from : kSumBlock, work + from);
    // all tokens below this together weigh less than 1 - top_p of the total
    const W least = log_of<W>((1 - call.top_p) * (1 - kSmall) * total / static_cast<double>(size));
    collect(scaled, size, floor_of_share(work, size, call.top_p * total, least), kept);
  }
  weigh(kept);
  if (call.top_p < 1) {
    if (total < 0) total = sum(kept.weights, 0, kept.count);
    keep_share(kept, call.top_p * total, work, scratch + 3 * room);  // scaled is not needed any more
  }
  return kept;
}

template <class S>
int64_t draw_filtered(const Row<S>& row, const DrawCall& call, double* scratch) {
  const auto kept = filter(row, call, scratch);
  double running = 0;
  for (int64_t i = 0; i < kept.count; ++i) kept.weights[i] = running += kept.weights[i];
  return kept.ids[locate(kept.weights, kept.count, call.number * running)];
}

template <class S>
DrawResult sample(const DrawCall& call, double* scratch) {
  const S* logits = static_cast<const S*>(call.logits);
  const Wide<S> maximum = largest_of(logits, call.size);
  if (!std::isfinite(maximum)) return {0, static_cast<double>(maximum)};
  if (call.temperature == 0) return {first_equal(logits, call.size, maximum), static_cast<double>(maximum)};
  constexpr double tiny = sizeof(Wide<S>) == 4 ? 0x1p-126 : 0x1p-1022;
  const double temperature = static_cast<double>(static_cast<Wide<S>>(call.temperature));
  const Row<S> row{logits, call.size, maximum, static_cast<Wide<S>>(temperature < tiny ? tiny : temperature)};
  const bool filtered = (call.top_k > 0 && call.top_k < call.size) || call.top_p < 1 || call.min_p > 0;
  const int64_t token = filtered ? draw_filtered(row, call, scratch) : draw_from_all(row, call.number, scratch);
  return {token, static_cast<double>(maximum)};
}

// Elements as bits: a word is tested lane by lane, without a branch.
template <class Bits, Bits kLeast>
inline void mask_part(Bits* row, uint32_t word, int64_t count) {
  for (int64_t i = 0; i < count; ++i) row[i] = (word >> i) & 1 ? row[i] : kLeast;
}

template <class Bits, Bits kLeast>
void mask(void* row, const uint32_t* words, int64_t size) {
  Bits* bits = static_cast<Bits*>(row);
  const int64_t whole = size / 32;
  for (int64_t i = 0; i < whole; ++i)
    if (words[i] != ~uint32_t{0}) mask_part<Bits, kLeast>(bits + 32 * i, words[i], 32);
  if (size % 32) mask_part<Bits, kLeast>(bits + 32 * whole, words[whole], size % 32);
}

}  // namespace

SamplingKernels sampling_kernels() {
  return {
      .sample = {sample<float>, sample<bf16>, sample<fp16>, sample<double>},
      .mask = {mask<uint32_t, 0xff800000u>, mask<uint16_t, 0xff80>, mask<uint16_t, 0xfc00>,
               mask<uint64_t, 0xfff0000000000000ull>},
  };
}

}  // namespace kernelet::KERNELET_ISA
