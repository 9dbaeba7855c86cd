// SPDX-License-Identifier: Apache-2.0
#include "trace/row_copy.h"

#include <utility>

namespace comity::trace {
namespace {

constexpr std::uint32_t kUnknown = 0xfffffffeU;
// What is added there has to be copied below, and anonymise.cc has to know whether it may be published.
static_assert(sizeof(profile::Attributes) == 128);

profile::List copy_list(profile::List list, const std::vector<profile::Deadline>& from,
                        std::vector<profile::Deadline>& to) {
  const auto first = static_cast<std::uint32_t>(to.size());
  to.insert(to.end(), from.begin() + list.first, from.begin() + list.first + list.count);
  return {first, list.count};
}

}  // namespace

RowCopier::RowCopier(const Trace& from, Trace& to, Rename rename)
    : from_(&from), to_(&to), rename_(std::move(rename)), attributes_(from.attributes.size(), kUnknown) {
  for (std::vector<std::uint32_t>& names : names_) names.assign(from.names.size(), kUnknown);
}

std::uint32_t RowCopier::name(Field field, std::uint32_t index) {
  if (index == profile::kNoName) return index;
  std::uint32_t& known = names_[static_cast<std::size_t>(field)][index];
  if (known == kUnknown) {
    const std::string text = rename_(field, from_->names[index]);
    known = text.empty() ? profile::kNoName : to_->names.intern(text);
  }
  return known;
}

std::uint32_t RowCopier::attributes(std::uint32_t index) {
  if (index == profile::kNoAttributes) return index;
  std::uint32_t& known = attributes_[index];
  if (known != kUnknown) return known;
  profile::Attributes a = from_->attributes[index];
  for (std::size_t i = 0; i < profile::kAttributeNames.size(); ++i) {
    std::uint32_t& index_of_name = a.*profile::kAttributeNames[i];
    index_of_name = name(static_cast<Field>(static_cast<std::size_t>(Field::kName) + i), index_of_name);
  }
  a.deadlines = copy_list(a.deadlines, from_->deadlines, to_->deadlines);
  a.gpu_models = copy_models(a.gpu_models);
  known = static_cast<std::uint32_t>(to_->attributes.size());
  to_->attributes.push_back(a);
  return known;
}

profile::List RowCopier::copy_models(profile::List list) {
  const auto first = static_cast<std::uint32_t>(to_->gpu_models.size());
  for (std::uint32_t i = 0; i < list.count; ++i) {
    const std::uint32_t model = name(Field::kGpuType, from_->gpu_models[list.first + i]);
    if (model != profile::kNoName) to_->gpu_models.push_back(model);
  }
  return {first, static_cast<std::uint32_t>(to_->gpu_models.size()) - first};
}

Row RowCopier::copy(const Row& row) {
  Row copy = row;
  copy.request.user = name(Field::kUser, row.request.user);
  copy.request.tenant = name(Field::kTenant, row.request.tenant);
  copy.request.group = name(Field::kGroup, row.request.group);
  copy.request.gpu_type = name(Field::kGpuType, row.request.gpu_type);
  copy.request.attributes = attributes(row.request.attributes);
  return copy;
}

}  // namespace comity::trace
