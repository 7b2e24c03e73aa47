// What this machine can do at most: bytes a second of a streaming read, operations a second of multiply-adds.
// limit THREADS MIB MILLIONS ROUNDS (turns of twelve multiply-adds) prints one line of JSON; every figure is the best of the rounds.
#include <immintrin.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Runs work(thread) on all threads at once; the seconds of the best round.
template <class Work>
double best(int threads, int rounds, Work work) {
  double least = 1e30;
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> waiting{threads};
    std::vector<double> begun(threads), ended(threads);
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
      running.emplace_back([&, thread] {
        --waiting;
        while (waiting.load() > 0) {
        }
        begun[thread] = seconds();
        work(thread);
        ended[thread] = seconds();
      });
    }
    for (auto& thread : running) thread.join();
    double first = begun[0], last = ended[0];
    for (int thread = 1; thread < threads; ++thread) {
      if (begun[thread] < first) first = begun[thread];
      if (ended[thread] > last) last = ended[thread];
    }
    if (last - first < least) least = last - first;
  }
  return least;
}

volatile uint64_t sink;

// Sums 64-bit words: eight vectors a turn, so that loads and not additions are the limit.
uint64_t read_all(const uint64_t* words, size_t count) {
  typedef uint64_t v __attribute__((vector_size(64)));
  v sums[4] = {};
  for (size_t i = 0; i + 32 <= count; i += 32) {
    for (int part = 0; part < 4; ++part) sums[part] += *reinterpret_cast<const v*>(words + i + 8 * part);
  }
  const v total = sums[0] + sums[1] + sums[2] + sums[3];
  uint64_t sum = 0;
  for (int lane = 0; lane < 8; ++lane) sum += total[lane];
  return sum;
}

constexpr int kChains = 12;  // independent, more than the latency of an instruction times its throughput

#if defined(__AVX512F__)
typedef __m512 floats;
typedef __m512i ints;
#else
typedef __m256 floats;
typedef __m256i ints;
#endif

// Keeps a value in a register and unknown to the compiler.
template <class T>
void opaque(T& value) {
  asm volatile("" : "+x"(value));
}

void multiply_fp32(int64_t turns) {
  floats sums[kChains] = {}, a = {}, b = {};
  opaque(a), opaque(b);
  for (int64_t turn = 0; turn < turns; ++turn) {
    for (auto& sum : sums) {
#if defined(__AVX512F__)
      sum = _mm512_fmadd_ps(a, b, sum);
#else
      sum = _mm256_fmadd_ps(a, b, sum);
#endif
      opaque(sum);
    }
  }
}

void multiply_int8(int64_t turns) {
  ints sums[kChains] = {}, a = {}, b = {};
  opaque(a), opaque(b);
  for (int64_t turn = 0; turn < turns; ++turn) {
    for (auto& sum : sums) {
#if defined(__AVX512VNNI__)
      sum = _mm512_dpbusd_epi32(sum, a, b);
#elif defined(__AVX512BW__)
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_maddubs_epi16(a, b), _mm512_set1_epi16(1)));
#elif defined(__AVX512F__)
      sum = _mm512_add_epi32(sum, _mm512_mullo_epi32(a, b));
#elif defined(__AVXVNNI__)
      sum = _mm256_dpbusd_avx_epi32(sum, a, b);
#else
      // the three instructions that stand for one where a processor has no 8-bit dot product
      __m256i pairs = _mm256_maddubs_epi16(a, b);
      opaque(pairs);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
      opaque(sum);
    }
  }
}

#if defined(__AVX512BF16__)
void multiply_bf16(int64_t turns) {
  floats sums[kChains] = {};
  __m512bh a = {}, b = {};
  opaque(a), opaque(b);
  for (int64_t turn = 0; turn < turns; ++turn) {
    for (auto& sum : sums) {
      sum = _mm512_dpbf16_ps(sum, a, b);
      opaque(sum);
    }
  }
}
#endif

#if defined(__AVX512FP16__)
void multiply_fp16(int64_t turns) {
  __m512h sums[kChains] = {}, a = {}, b = {};
  opaque(a), opaque(b);
  for (int64_t turn = 0; turn < turns; ++turn) {
    for (auto& sum : sums) {
      sum = _mm512_fmadd_ph(a, b, sum);
      opaque(sum);
    }
  }
}
#endif

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return fprintf(stderr, "usage: limit THREADS MIB MILLIONS ROUNDS\n"), 2;
  const int threads = atoi(arguments[1]), rounds = atoi(arguments[4]);
  const int64_t turns = atoll(arguments[3]) * 1'000'000;
  const size_t words = static_cast<size_t>(atoll(arguments[2])) * (1 << 17) / threads / 32 * 32;
  std::vector<uint64_t*> parts(threads);
  for (auto& part : parts) {
    part = static_cast<uint64_t*>(aligned_alloc(64, words * 8));
    for (size_t i = 0; i < words; ++i) part[i] = i;
  }
  const double bytes = static_cast<double>(words) * 8 * threads;
  const double reading = best(threads, rounds, [&](int thread) { sink = read_all(parts[thread], words); });
  const double operations = 2.0 * kChains * turns * threads;
  const double fp32 = best(threads, rounds, [&](int) { multiply_fp32(turns); });
  const double int8 = best(threads, rounds, [&](int) { multiply_int8(turns); });
  printf("{\"bandwidth\": %.6g, \"rates\": {\"fp32\": %.6g, \"int8\": %.6g", bytes / reading,
         operations * sizeof(floats) / 4 / fp32, operations * sizeof(ints) / int8);
#if defined(__AVX512BF16__)
  const double bf16 = best(threads, rounds, [&](int) { multiply_bf16(turns); });
  printf(", \"bf16\": %.6g", operations * 32 / bf16);
#endif
#if defined(__AVX512FP16__)
  const double fp16 = best(threads, rounds, [&](int) { multiply_fp16(turns); });
  printf(", \"fp16\": %.6g", operations * 32 / fp16);
#endif
  printf("}}\n");
}
