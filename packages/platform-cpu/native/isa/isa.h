// Which instruction set the kernels run with: the best that was compiled and that the processor has, unless told.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernelet {

struct KernelTable;

struct Isa {
  const char* name;
  bool (*available)();
  bool (*preferred)();  // faster than those before it on this processor; else it must be asked for by name
  const KernelTable& (*table)();
};

// Compiled instruction sets, the plainest first.
const std::vector<Isa>& compiled_isas();

// Names of those that this processor has, the best last.
std::vector<std::string> available_isas();

// Chooses by name; empty: the best that is preferred here. Throws std::invalid_argument where the processor or the build lacks it.
void choose_isa(std::string_view name);

const char* chosen_isa();

// The kernels of the chosen instruction set.
const KernelTable& kernels();

}  // namespace kernelet
