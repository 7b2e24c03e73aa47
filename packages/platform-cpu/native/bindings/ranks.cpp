#include "bindings/bind.h"
#include "ranks/meeting.h"

namespace nb = nanobind;

namespace kernelet {

void bind_ranks(nb::module_& m) {
  m.def("meeting_bytes", &Meeting::bytes);
  nb::class_<Meeting>(m, "Meeting")
      .def("__init__", [](Meeting* self, Address memory, int rank, int size) {
        new (self) Meeting(at<void>(memory), rank, size);
      })
      .def("meet", &Meeting::meet, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace kernelet
