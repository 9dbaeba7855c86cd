// SPDX-License-Identifier: Apache-2.0
#include "workload/execution.h"

namespace comity::workload {

std::string_view schedule_name(Schedule schedule) {
  switch (schedule) {
    case Schedule::kGpipe: return "gpipe";
    case Schedule::k1f1b: return "1f1b";
    case Schedule::kInterleaved: return "interleaved";
    case Schedule::kZbH1: return "zb_h1";
    case Schedule::kZbH2: return "zb_h2";
    case Schedule::kDualPipe: return "dualpipe";
  }
  return "";
}

std::string_view recompute_name(Recompute recompute) {
  switch (recompute) {
    case Recompute::kNone: return "none";
    case Recompute::kSelective: return "selective";
    case Recompute::kFull: return "full";
  }
  return "";
}

std::string_view datatype_name(Datatype datatype) {
  switch (datatype) {
    case Datatype::kBf16: return "bf16";
    case Datatype::kFp16: return "fp16";
    case Datatype::kFp32: return "fp32";
    case Datatype::kFp8: return "fp8";
  }
  return "";
}

}  // namespace comity::workload
