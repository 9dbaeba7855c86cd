// SPDX-License-Identifier: Apache-2.0
#include "trace/row_copy.h"

#include <utility>

namespace comity::trace {
namespace {

constexpr std::uint32_t kUnknown = 0xfffffffeU;
// What is added there has to be copied below, and anonymise.cc has to know whether it may be published.
static_assert(sizeof(profile::Attributes) == 128);

// In the order of profile::kAttributeNames.
constexpr std::array<Field, 8> kAttributeFields = {Field::kName,      Field::kModel,        Field::kDataset,
                                                   Field::kClass,     Field::kStatus,       Field::kCommand,
                                                   Field::kDirectory, Field::kDurationBasis};
static_assert(kAttributeFields.size() == profile::kAttributeNames.size());

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
  for (std::size_t i = 0; i < profile::kAttributeNames.size(); ++i)
    a.*profile::kAttributeNames[i] = name(kAttributeFields[i], a.*profile::kAttributeNames[i]);
  a.deadlines.first = static_cast<std::uint32_t>(to_->deadlines.size());
  const auto deadlines = from_->deadlines.begin() + from_->attributes[index].deadlines.first;
  to_->deadlines.insert(to_->deadlines.end(), deadlines, deadlines + a.deadlines.count);
  const profile::List models = a.gpu_models;
  a.gpu_models = {.first = static_cast<std::uint32_t>(to_->gpu_models.size()), .count = 0};
  for (std::uint32_t i = 0; i < models.count; ++i) {
    const std::uint32_t model = name(Field::kGpuType, from_->gpu_models[models.first + i]);
    if (model == profile::kNoName) continue;
    to_->gpu_models.push_back(model);
    ++a.gpu_models.count;
  }
  known = static_cast<std::uint32_t>(to_->attributes.size());
  to_->attributes.push_back(a);
  return known;
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
