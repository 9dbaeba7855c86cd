// SPDX-License-Identifier: Apache-2.0
#include "cluster/state.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/rng.h"

namespace comity::cluster {

State::State(const ClusterSpec& spec, Placement rule, const profile::NameTable& names, RankFn rank)
    : pools_{Pool(spec, rule)},
      reservations_(spec, names),
      names_(names),
      rank_(rank),
      active_(pools_[0].groups().size()),
      tenant_specs_(spec.tenants),
      user_specs_(spec.users) {
  default_user_limit_ = spec.user_max_gpus;
  limits_ = default_user_limit_ >= 0;
  for (const TenantSpec& tenant : spec.tenants) {
    const std::uint32_t name = names.find(tenant.name);
    if (tenant.max_gpus >= 0 && name != profile::kNoName) add_owner(true, name, tenant.max_gpus);
  }
}

void State::apply(const Event& event) {
  if (event.kind != EventKind::kSubmit) ++changes_;
  switch (event.kind) {
    case EventKind::kSubmit: return submit(event);
    case EventKind::kStart: return start(event);
    case EventKind::kEnd:
    case EventKind::kStop: stop_running(event.job, event.at); return leave(event.job, false);
    case EventKind::kPreempt: {
      Job& job = at(event.job);
      job.executed += running_[job.slot].progress(event.at);
      job.estimate += event.value;
      stop_running(event.job, event.at);
      return back_to_queue(event.job, event.at);
    }
    case EventKind::kRequeue: stop_running(event.job, event.at); return back_to_queue(event.job, event.at);
    case EventKind::kCoLocate: return co_locate(event);
    case EventKind::kSpeed: return set_speed(event.job, event.speed, event.at);
    case EventKind::kMigrate: return move(event, running_[at(event.job).slot].gpus, event.speed);
    case EventKind::kResize: return move(event, event.gpus, event.speed);
    case EventKind::kCancel: {
      const bool waits = at(event.job).status == JobStatus::kWaiting;
      if (waits) {
        dequeue(event.job);
      } else {
        stop_running(event.job, event.at);
      }
      return leave(event.job, waits);
    }
    case EventKind::kHold: return set_block(event.job, kHeld, true);
    case EventKind::kRelease: {
      Job& job = at(event.job);
      if ((job.blocks & kHeld) == 0) return;
      dequeue(event.job);  // the order changes with the eligible time
      job.eligible = std::max(job.eligible, event.at);
      return set_block(event.job, kHeld, false);
    }
    case EventKind::kNodeDown:
    case EventKind::kNodeUp:
      for (Pool& pool : pools_) pool.set_up(event.node, event.kind == EventKind::kNodeUp);
      return refresh_shapes();
    case EventKind::kClock: return clock(event.at);
    case EventKind::kUserLimit: return set_limit(false, event.name, event.value);
    case EventKind::kTenantLimit: return set_limit(true, event.name, event.value);
  }
}

ShapeId State::shape_of(const profile::JobRequest& request) {
  std::uint64_t hash = mix64(mix64((std::uint64_t{request.shape.nodes} << 32) | request.shape.gpus) ^
                             ((std::uint64_t{request.group} << 32) | request.gpu_type));
  if (limits_) hash = mix64(hash ^ ((std::uint64_t{request.user} << 32) | request.tenant));
  RecentShape& recent = recent_shapes_[hash % recent_shapes_.size()];
  if (recent.hash != hash || recent.shape == kNoSlot) recent = {hash, look_up_shape(request)};
  return recent.shape;
}

ShapeId State::look_up_shape(const profile::JobRequest& request) {
  ShapeClass like;
  const auto look = [&](const std::vector<std::string>& in, std::uint32_t name, std::uint32_t fallback) {
    if (name == profile::kNoName) return fallback;
    const auto it = std::find(in.begin(), in.end(), names_[name]);
    if (it != in.end()) return static_cast<std::uint32_t>(it - in.begin());
    like.known_group = false;
    return fallback;
  };
  like.shape = request.shape;
  like.where.group = look(pools_[0].groups(), request.group, 0);
  // A cluster that names no GPU types takes any.
  const bool types = pools_[0].types().size() > 1 || !pools_[0].types()[0].empty();
  like.where.type = types ? look(pools_[0].types(), request.gpu_type, Pool::kAnyType) : Pool::kAnyType;
  if (owner(false, request.user) != nullptr) like.user = request.user;
  if (owner(true, request.tenant) != nullptr) like.tenant = request.tenant;
  return find_shape(like);
}

// The class with the shape, place and owners of `like`, made if it is new.
ShapeId State::find_shape(const ShapeClass& like) {
  const std::uint64_t hash =
      mix64(mix64((std::uint64_t{like.shape.nodes} << 32) | like.shape.gpus) ^
            mix64((std::uint64_t{like.where.group} << 32) | like.where.type) ^
            mix64(((std::uint64_t{like.user} << 32) | like.tenant) + (like.known_group ? 0 : 1)) ^ like.barred);
  std::vector<ShapeId>& candidates = shape_index_[hash];
  for (const ShapeId id : candidates) {
    const ShapeClass& s = *shapes_[id];
    if (s.shape == like.shape && s.where == like.where && s.known_group == like.known_group && s.user == like.user &&
        s.tenant == like.tenant && s.barred == like.barred)
      return id;
  }
  auto made = std::make_unique<ShapeClass>();
  made->shape = like.shape;
  made->where = like.where;
  made->gpus = static_cast<std::uint32_t>(like.shape.total());
  made->known_group = like.known_group;
  made->user = like.user;
  made->tenant = like.tenant;
  made->barred = like.barred;
  made->pool = pool_without(like.barred);
  made->satisfiable = like.known_group && pools_[made->pool].could_fit(made->shape, made->where);
  shapes_.push_back(std::move(made));
  fronts_.emplace_back().job = JobId::kInvalid;
  const auto id = static_cast<ShapeId>(shapes_.size() - 1);
  candidates.push_back(id);
  for (const bool tenant : {false, true}) {
    Owner* o = owner(tenant, tenant ? like.tenant : like.user);
    if (o == nullptr) continue;
    o->shapes.push_back(id);
    recheck(id, *o, tenant ? kTenantLimit : kUserLimit);
  }
  return id;
}

std::uint32_t State::pool_without(Reservations::Mask mask) {
  const auto it = std::find(pool_masks_.begin(), pool_masks_.end(), mask);
  if (it != pool_masks_.end()) return static_cast<std::uint32_t>(it - pool_masks_.begin());
  pools_.push_back(pools_[0]);
  pools_.back().hide(reservations_.nodes(mask));
  pool_masks_.push_back(mask);
  return static_cast<std::uint32_t>(pools_.size() - 1);
}

// Puts a waiting job that isn't in its list into the shape that suits the reservations as of now.
void State::look_at_reservations(JobId id, Time now) {
  if (reservations_.empty()) return;
  Job& job = at(id);
  // Who has run longer than it said may go on for any time: it is none that ends before a window begins.
  const Time length = std::max<Time>(1, job.estimate - job.executed);
  const Reservations::Mask mask = reservations_.barred(job.user, job.tenant, length, now);
  const ShapeClass& s = *shapes_[job.shape];
  if (mask != s.barred) {
    ShapeClass like;
    like.shape = s.shape;
    like.where = s.where;
    like.known_group = s.known_group;
    like.user = s.user;
    like.tenant = s.tenant;
    like.barred = mask;
    job.shape = find_shape(like);
  }
  const Time next = reservations_.next_change(job.user, job.tenant, length, now);
  if (next != kNever) bars_.push({next, id});
}

void State::clock(Time now) {
  while (!bars_.empty() && bars_.top().at <= now) {
    const JobId id = bars_.top().job;
    bars_.pop();
    if (ended(id) || at(id).status != JobStatus::kWaiting) continue;
    const bool queued = at(id).queued;
    if (queued) dequeue(id);
    look_at_reservations(id, now);
    if (queued) enqueue(id);
  }
}

std::string State::never_runs(const profile::JobRequest& request) {
  const ShapeClass& s = *shapes_[shape_of(request)];
  if (!s.known_group) return "its resource group or GPU type is not in the cluster";
  if (!s.satisfiable) return why_not(s);
  if (!limits_) return {};
  for (const bool tenant : {false, true}) {
    const Owner* o = owner(tenant, tenant ? request.tenant : request.user);
    if (o == nullptr || o->limit < 0 || static_cast<std::int64_t>(s.gpus) <= o->limit) continue;
    return fmt::format("asks for {} GPUs, more than the limit of its {} ({})", s.gpus, tenant ? "tenant" : "user",
                       o->limit);
  }
  return {};
}

std::string State::why_not(const ShapeClass& s) const {
  const std::int64_t up = pools_[0].up_gpus(s.where);
  if (static_cast<std::int64_t>(s.gpus) > up) return fmt::format("asks for {} GPUs, the cluster has {}", s.gpus, up);
  if (s.shape.nodes == 0) return fmt::format("asks for {} GPUs, more than the nodes of one kind have together", s.gpus);
  return fmt::format("asks for {} nodes with {} GPUs each, which the cluster does not have", s.shape.nodes,
                     s.shape.gpus);
}

QueueEntry State::entry(JobId id) const {
  const Job& j = job(id);
  return {.rank = rank_(j, *shapes_[j.shape]),
          .eligible = j.eligible,
          .job = id.value,
          .unused = 0,
          .estimate = j.estimate - j.executed};
}

Time State::remaining_estimate(JobId id, Time now) const {
  const Job& j = job(id);
  const Time run = j.status == JobStatus::kRunning ? running_[j.slot].progress(now) : 0;
  return std::max<Time>(0, j.estimate - j.executed - run);
}

bool State::eligible(JobId id) const {
  const Job& j = job(id);
  return j.status == JobStatus::kWaiting && j.blocks == 0 && shapes_[j.shape]->eligible();
}

void State::submit(const Event& event) {
  const std::size_t chunk = event.job.value >> kChunkBits;
  while (chunks_.size() <= chunk) chunks_.emplace_back();
  if (!chunks_[chunk]) {
    if (spare_chunks_.empty()) {
      chunks_[chunk] = std::make_unique<Chunk>();
    } else {
      chunks_[chunk] = std::move(spare_chunks_.back());
      spare_chunks_.pop_back();
      chunks_[chunk]->submitted = chunks_[chunk]->ended = 0;
    }
  }
  ++chunks_[chunk]->submitted;
  Job& job = at(event.job);
  job = Job{};
  job.shape = shape_of(*event.request);
  job.user = event.request->user;
  job.tenant = event.request->tenant;
  job.gpus = shapes_[job.shape]->gpus;
  job.attributes = event.request->attributes;
  job.submit = job.eligible = event.at;
  job.estimate = event.value;
  job.status = JobStatus::kWaiting;
  ++waiting_;
  look_at_reservations(event.job, event.at);
  enqueue(event.job);
}

// Takes a waiting job out of its list and gives it a place among the running ones, without GPUs so far.
Running& State::add_running(JobId id, std::uint32_t gpus, Time now) {
  Job& job = at(id);
  COMITY_CHECK(job.status == JobStatus::kWaiting && job.blocks == 0);
  dequeue(id);
  --waiting_;
  job.status = JobStatus::kRunning;
  job.slot = static_cast<std::uint32_t>(running_.size());
  ++job.stretches;
  held_gpus_ += gpus;
  Running& run = running_.emplace_back();
  run.job = id;
  run.gpus = gpus;
  run.start = run.since = now;
  run.expected_end = now + (job.estimate - job.executed);
  return run;
}

void State::keep(Running& run, const Allocation& allocation) {
  if (run.allocation.parts.capacity() == 0 && !spare_parts_.empty()) {
    run.allocation.parts = std::move(spare_parts_.back());
    spare_parts_.pop_back();
  }
  run.allocation = allocation;
}

void State::start(const Event& event) {
  Running& run = add_running(event.job, event.gpus != 0 ? event.gpus : at(event.job).gpus, event.at);
  keep(run, *event.allocation);
  for (Pool& pool : pools_) pool.allocate(run.allocation);
  used_gpus_ += run.gpus;
  if (event.overtook.valid()) at(event.overtook).overtaken += run.gpus;
  own_running(event.job, run.gpus);
  run.alone = event.speed;
  if (event.speed != 1) set_speed(event.job, event.speed, event.at);
}

void State::co_locate(const Event& event) {
  COMITY_CHECK(at(event.partner).status == JobStatus::kRunning &&
               running_[at(event.partner).slot].gpus == at(event.job).gpus);
  Running& run = add_running(event.job, at(event.job).gpus, event.at);
  Running& other = running_[at(event.partner).slot];
  COMITY_CHECK(!other.partner.valid());
  keep(run, other.allocation);
  run.partner = event.partner;
  run.alone = event.alone;
  other.partner = event.job;
  own_running(event.job, run.gpus);
  set_speed(event.job, event.speed, event.at);
  set_speed(event.partner, event.partner_speed, event.at);
}

void State::set_speed(JobId id, double speed, Time now) {
  Job& job = at(id);
  COMITY_CHECK(job.status == JobStatus::kRunning && speed > 0);
  Running& run = running_[job.slot];
  run.done = run.progress(now);
  run.since = now;
  run.speed = speed;
  run.expected_end = now + time_at_speed(std::max<Time>(0, job.estimate - job.executed - run.done), speed);
  ++job.stretches;
}

void State::move(const Event& event, std::uint32_t gpus, double speed) {
  Job& job = at(event.job);
  Running& run = running_[job.slot];
  COMITY_CHECK(job.status == JobStatus::kRunning && !run.partner.valid() && gpus > 0);
  for (Pool& pool : pools_) pool.release(run.allocation);
  keep(run, *event.allocation);
  for (Pool& pool : pools_) pool.allocate(run.allocation);
  used_gpus_ += gpus;
  used_gpus_ -= run.gpus;
  held_gpus_ += gpus;
  held_gpus_ -= run.gpus;
  own_running(event.job, std::int64_t{gpus} - std::int64_t{run.gpus});
  run.gpus = gpus;
  run.alone = speed;
  job.estimate += event.value;
  set_speed(event.job, speed, event.at);
}

bool State::place_as(JobId id, const Shape& size, const Pool::Where& where, double speed, Time now, Allocation& out) {
  const Job& job = at(id);
  const bool runs = job.status == JobStatus::kRunning;
  std::uint32_t pool_at = shapes_[job.shape]->pool;
  if (!reservations_.empty()) {
    const Time length = time_at_speed(std::max<Time>(1, remaining_estimate(id, now)), speed);
    pool_at = pool_without(reservations_.barred(job.user, job.tenant, length, now));
  }
  if (runs) {
    for (Pool& pool : pools_) pool.release(running_[job.slot].allocation);
  }
  const bool placed = pools_[pool_at].place(size, where, out);
  if (runs) {
    for (Pool& pool : pools_) pool.allocate(running_[job.slot].allocation);
  }
  return placed;
}

bool State::may_hold(JobId id, std::uint32_t gpus) const {
  const Job& j = job(id);
  const std::int64_t now = j.status == JobStatus::kRunning ? running_[j.slot].gpus : 0;
  const auto may = [&](const Owners& owners, std::uint32_t name) {
    const auto it = owners.find(name);
    if (it == owners.end() || it->second.limit < 0) return true;
    return it->second.used - now + gpus <= it->second.limit;
  };
  return !limits_ || (may(users_, j.user) && may(tenants_, j.tenant));
}

// GPUs that are shared stay with the partner, which has them to itself from now on.
void State::stop_running(JobId id, Time now) {
  Job& job = at(id);
  COMITY_CHECK(job.status == JobStatus::kRunning);
  left_.push_back(id);
  Running& run = running_[job.slot];
  const std::uint32_t gpus = run.gpus;
  if (run.partner.valid()) {
    running_[at(run.partner).slot].partner = JobId();
    set_speed(run.partner, running_[at(run.partner).slot].alone, now);
  } else {
    for (Pool& pool : pools_) pool.release(run.allocation);
    used_gpus_ -= gpus;
  }
  if (run.allocation.parts.capacity() != 0) spare_parts_.push_back(std::move(run.allocation.parts));
  if (job.slot + 1 != running_.size()) {
    running_[job.slot] = std::move(running_.back());
    at(running_[job.slot].job).slot = job.slot;
  }
  running_.pop_back();
  job.slot = kNoSlot;
  held_gpus_ -= gpus;
  own_running(id, -std::int64_t{gpus});
}

void State::back_to_queue(JobId id, Time now) {
  at(id).status = JobStatus::kWaiting;
  ++waiting_;
  look_at_reservations(id, now);
  enqueue(id);
}

// Ended for good. A chunk whose jobs have all been submitted and have ended is used again.
void State::leave(JobId id, bool was_waiting) {
  if (was_waiting) --waiting_;
  at(id).status = JobStatus::kEnded;
  auto& chunk = chunks_[id.value >> kChunkBits];
  if (++chunk->ended == chunk->submitted && chunk->submitted == chunk->jobs.size()) {
    spare_chunks_.push_back(std::move(chunk));
  }
}

void State::set_front(ShapeId id) {
  const OrderedQueue& queue = shapes_[id]->queue;
  if (queue.empty()) {
    fronts_[id].job = JobId::kInvalid;
  } else {
    fronts_[id] = queue.front();
  }
}

void State::set_active(ShapeId id) {
  ShapeClass& s = *shapes_[id];
  std::vector<ShapeId>& list = active_[s.where.group];
  const bool want = s.eligible() && !s.queue.empty();
  if (want && s.active_at == kNoSlot) {
    s.active_at = static_cast<std::uint32_t>(list.size());
    list.push_back(id);
  } else if (!want && s.active_at != kNoSlot) {
    list[s.active_at] = list.back();
    shapes_[list.back()]->active_at = s.active_at;
    list.pop_back();
    s.active_at = kNoSlot;
  }
}

void State::enqueue(JobId id) {
  Job& job = at(id);
  if (job.queued || job.blocks != 0) return;
  OrderedQueue& queue = shapes_[job.shape]->queue;
  const bool was_empty = queue.empty();
  const QueueEntry added = entry(id);
  queue.insert(added);
  job.queued = true;
  if (was_empty || before(added, fronts_[job.shape])) fronts_[job.shape] = added;
  if (follow_) queue_changes_.push_back(id);
  if (was_empty) set_active(job.shape);
}

void State::dequeue(JobId id) {
  Job& job = at(id);
  if (!job.queued) return;
  OrderedQueue& queue = shapes_[job.shape]->queue;
  queue.erase(entry(id));
  job.queued = false;
  if (fronts_[job.shape].job == id.value) set_front(job.shape);
  if (follow_) queue_changes_.push_back(id);
  if (queue.empty()) set_active(job.shape);
}

void State::set_block(JobId id, std::uint8_t block, bool on) {
  Job& job = at(id);
  if (on) {
    dequeue(id);
    job.blocks |= block;
  } else {
    job.blocks &= static_cast<std::uint8_t>(~block);
    if (job.status == JobStatus::kWaiting) enqueue(id);
  }
}

void State::refresh_shapes() {
  for (ShapeId id = 0; id < shapes_.size(); ++id) {
    ShapeClass& s = *shapes_[id];
    s.satisfiable = s.known_group && pools_[s.pool].could_fit(s.shape, s.where);
    set_active(id);
  }
}

State::Owner* State::owner(bool tenant, std::uint32_t name) {
  if (!limits_ || name == profile::kNoName) return nullptr;
  Owners& owners = tenant ? tenants_ : users_;
  const auto it = owners.find(name);
  if (it != owners.end()) return &it->second;
  return !tenant && default_user_limit_ >= 0 ? &add_owner(false, name, default_user_limit_) : nullptr;
}

State::Owner& State::add_owner(bool tenant, std::uint32_t name, std::int64_t limit) {
  limits_ = true;
  Owner& owner = (tenant ? tenants_ : users_)[name];
  owner.limit = limit;
  return owner;
}

void State::own_running(JobId id, std::int64_t gpus) {
  if (!limits_) return;
  const Job& job = at(id);
  for (const bool tenant : {false, true}) {
    Owner* o = owner(tenant, tenant ? job.tenant : job.user);
    if (o == nullptr) continue;
    o->used += gpus;
    recheck(*o, tenant ? kTenantLimit : kUserLimit);
  }
}

// Jobs of more than limit - used GPUs are blocked, the others are not.
void State::recheck(const Owner& o, std::uint8_t block) {
  for (const ShapeId id : o.shapes) recheck(id, o, block);
}

void State::recheck(ShapeId id, const Owner& o, std::uint8_t block) {
  ShapeClass& s = *shapes_[id];
  const bool blocked = o.limit >= 0 && o.used + s.gpus > o.limit;
  if (((s.limits & block) != 0) == blocked) return;
  s.limits = static_cast<std::uint8_t>(blocked ? s.limits | block : s.limits & ~block);
  set_active(id);
  if (!follow_) return;
  for (OrderedQueue::Cursor c = s.queue.begin(); !s.queue.at_end(c); s.queue.advance(c))
    queue_changes_.push_back(JobId(s.queue.at(c).job));
}

// An owner gets its first limit: what it holds is counted, and its jobs go to shapes of their own.
void State::take_stock(bool tenant, std::uint32_t name) {
  recent_shapes_.fill({});
  for (std::uint32_t c = 0; c < chunks_.size(); ++c) {
    for (std::uint32_t i = 0; chunks_[c] && i <= kChunkMask; ++i) {
      const JobId id(c << kChunkBits | i);
      Job& job = at(id);
      const bool live = job.status == JobStatus::kWaiting || job.status == JobStatus::kRunning;
      if (!live || (tenant ? job.tenant : job.user) != name) continue;
      const bool queued = job.queued;
      if (queued) dequeue(id);
      ShapeClass like;
      like.shape = shapes_[job.shape]->shape;
      like.where = shapes_[job.shape]->where;
      like.known_group = shapes_[job.shape]->known_group;
      like.barred = shapes_[job.shape]->barred;
      like.user = tenant ? shapes_[job.shape]->user : name;
      like.tenant = tenant ? name : shapes_[job.shape]->tenant;
      job.shape = find_shape(like);
      if (queued) enqueue(id);
      if (job.status == JobStatus::kRunning) owner(tenant, name)->used += running_[job.slot].gpus;
    }
  }
}

void State::set_limit(bool tenant, std::uint32_t name, std::int64_t limit) {
  Owner* o = owner(tenant, name);
  if (o == nullptr) {
    o = &add_owner(tenant, name, limit);
    take_stock(tenant, name);
  }
  o->limit = limit;
  recheck(*o, tenant ? kTenantLimit : kUserLimit);
}

}  // namespace comity::cluster
