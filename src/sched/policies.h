// SPDX-License-Identifier: Apache-2.0
// One function a policy file: it appends its policies to the registry. A new policy adds one line here and one call in
// policy.cc.
#pragma once

#include <vector>

#include "sched/policy.h"

namespace comity::sched {

void add_list_policies(std::vector<PolicyInfo>& list);        // fifo, fit, sjf
void add_preemptive_policies(std::vector<PolicyInfo>& list);  // srtf, smallest_first, srsf
void add_longest_first(std::vector<PolicyInfo>& list);
void add_qssf(std::vector<PolicyInfo>& list);
void add_tiresias(std::vector<PolicyInfo>& list);
void add_sing(std::vector<PolicyInfo>& list);
void add_easy(std::vector<PolicyInfo>& list);
void add_conservative(std::vector<PolicyInfo>& list);
void add_slurm_multifactor(std::vector<PolicyInfo>& list);
void add_drf(std::vector<PolicyInfo>& list);
void add_themis(std::vector<PolicyInfo>& list);
void add_priority(std::vector<PolicyInfo>& list);
void add_hived(std::vector<PolicyInfo>& list);
void add_lucid(std::vector<PolicyInfo>& list);
void add_gandiva(std::vector<PolicyInfo>& list);
void add_icefrog(std::vector<PolicyInfo>& list);
void add_astraea(std::vector<PolicyInfo>& list);
void add_chronus(std::vector<PolicyInfo>& list);
void add_gavel(std::vector<PolicyInfo>& list);
void add_allox(std::vector<PolicyInfo>& list);

// Not in the registry: what replaces policies of the registry under --compat lucid (srtf, tiresias, qssf).
void add_lucid_compat(std::vector<PolicyInfo>& list);
void add_lucid_compat_sharing(std::vector<PolicyInfo>& list);  // lucid itself
void add_astraea_compat(std::vector<PolicyInfo>& list);        // and under --compat astraea
void add_chronus_compat(std::vector<PolicyInfo>& list);        // and chronus

}  // namespace comity::sched
