#include "isa/isa.h"

#include <atomic>
#include <stdexcept>

#include "kernels/table.h"

namespace kernelet {
namespace portable { const KernelTable& table(); }
namespace avx2 { const KernelTable& table(); }
namespace avx512 { const KernelTable& table(); }
namespace avx512bf16 { const KernelTable& table(); }

namespace {

std::atomic<const Isa*> chosen{nullptr};

[[maybe_unused]] bool always() { return true; }

#if defined(__x86_64__)
[[maybe_unused]] bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
         __builtin_cpu_supports("bmi2");
}
[[maybe_unused]] bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}
[[maybe_unused]] bool has_avx512bf16() { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }
// Twice as many products a cycle as with float32 there; on others, half as many.
[[maybe_unused]] bool gains_from_avx512bf16() { return has_avx512bf16() && __builtin_cpu_is("amd"); }
#endif

const Isa& best() {
  const Isa* found = nullptr;
  for (const Isa& isa : compiled_isas())
    if (isa.preferred()) found = &isa;
  return *found;
}

}  // namespace

const std::vector<Isa>& compiled_isas() {
  static const std::vector<Isa> isas = {
#if defined(KERNELET_HAS_portable)
      {"portable", always, always, portable::table},
#endif
#if defined(KERNELET_HAS_avx2)
      {"avx2", has_avx2, has_avx2, avx2::table},
#endif
#if defined(KERNELET_HAS_avx512)
      {"avx512", has_avx512, has_avx512, avx512::table},
#endif
#if defined(KERNELET_HAS_avx512bf16)
      {"avx512bf16", has_avx512bf16, gains_from_avx512bf16, avx512bf16::table},
#endif
  };
  return isas;
}

std::vector<std::string> available_isas() {
  std::vector<std::string> names;
  for (const Isa& isa : compiled_isas())
    if (isa.available()) names.emplace_back(isa.name);
  return names;
}

void choose_isa(std::string_view name) {
  if (name.empty()) {
    chosen = &best();
    return;
  }
  std::string known;
  for (const Isa& isa : compiled_isas()) {
    if (name == isa.name) {
      if (!isa.available())
        throw std::invalid_argument("this processor has no " + std::string(name));
      chosen = &isa;
      return;
    }
    known += (known.empty() ? "" : ", ") + std::string(isa.name);
  }
  throw std::invalid_argument("no kernels were built for '" + std::string(name) + "'; built are " + known);
}

const char* chosen_isa() {
  if (!chosen.load()) choose_isa("");
  return chosen.load()->name;
}

const KernelTable& kernels() {
  const Isa* isa = chosen.load(std::memory_order_relaxed);
  if (!isa) {
    choose_isa("");
    isa = chosen.load();
  }
  return isa->table();
}

}  // namespace kernelet
