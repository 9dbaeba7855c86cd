// SPDX-License-Identifier: Apache-2.0
// The state of a cluster: who waits, who runs where, what is free. A pure state machine: no clock, no randomness, no
// I/O; the same events give the same state. Policies read it as a view: eligible jobs stand in one ordered list for
// each shape, so that no scheduling pass copies or scans the whole queue.
//
// Policies walk eligible jobs only (rule S1 of the review): not held, within the limits of their user and tenant, and
// of a shape that the nodes that are up could hold. Others cost nothing and carry their reason. Held jobs leave the
// list of their shape. Limits and nodes concern all jobs of a list alike (owners with a limit have lists of their own),
// so that such a list as a whole becomes active or not, whatever its length. A hold that is released moves the eligible
// time; a limit does not, and a job requeued because its node failed keeps it.
//
// Not thread-safe. Memory: about 60 bytes for each job between its submission and its end.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/event.h"
#include "cluster/ordered_queue.h"
#include "cluster/pool.h"
#include "cluster/reservations.h"

namespace comity::cluster {

using ShapeId = std::uint32_t;
inline constexpr std::uint32_t kNoSlot = 0xffffffffU;

struct Job {
  ShapeId shape = 0;
  std::uint32_t user = profile::kNoName;
  std::uint32_t tenant = profile::kNoName;
  std::uint32_t slot = kNoSlot;  // in running() while it runs
  Time submit = 0;
  Time eligible = 0;            // order of the queue: (eligible, id)
  Time estimate = 0;            // how long its whole work is said to take, overhead charged so far included
  Time executed = 0;            // progress before the present run
  std::uint32_t overtaken = 0;  // GPUs that started past it while it was head (rule S2: kept for its whole life)
  std::uint32_t gpus = 0;       // in all
  std::uint32_t stretches = 0;  // times it was started or its speed or place changed
  std::uint32_t attributes = profile::kNoAttributes;
  JobStatus status = JobStatus::kUnknown;
  std::uint8_t blocks = 0;  // Block bits
  bool queued = false;      // stands in its shape's list
};

struct Running {
  JobId job;
  Time start = 0;
  Time expected_end = 0;  // now + what is left of the estimate, at the present speed
  Allocation allocation;
  JobId partner;           // who else runs on these GPUs
  double speed = 1;        // progress a second
  double alone = 1;        // the same without the partner
  Time since = 0;          // since when at this speed
  Time done = 0;           // progress of this run before that
  std::uint32_t gpus = 0;  // that it holds

  [[nodiscard]] Time progress(Time now) const {
    const Time wall = now - since;
    return done + (speed == 1 ? wall : static_cast<Time>(static_cast<double>(wall) * speed));
  }
};
// How long `work` takes at a speed, to the next nanosecond.
[[nodiscard]] inline Time time_at_speed(Time work, double speed) {
  return speed == 1 ? work : static_cast<Time>(std::ceil(static_cast<double>(work) / speed));
}

// One (shape, group, type, owners with limits, reservations that bar): the jobs that are interchangeable for placement
// and limits.
struct ShapeClass {
  Shape shape;
  Pool::Where where;
  std::uint32_t gpus = 0;                 // in all
  bool known_group = true;                // false: names a group or type that the cluster doesn't have
  bool satisfiable = true;                // on the nodes that are up
  std::uint8_t limits = 0;                // Block bits: limits that its owners have reached for jobs of this size
  std::uint32_t user = profile::kNoName;  // the owners, where they have a limit
  std::uint32_t tenant = profile::kNoName;
  Reservations::Mask barred = 0;      // reservations whose nodes its jobs may not use at present
  std::uint32_t pool = 0;             // the pool without those nodes: State::pool_of()
  std::uint32_t active_at = kNoSlot;  // place in State::active()
  OrderedQueue queue;                 // its jobs that are not held

  [[nodiscard]] bool eligible() const { return satisfiable && limits == 0; }
};

// A policy's order: low rank first; then eligible time, then id. Called when a job enters its list.
using RankFn = std::int64_t (*)(const Job& job, const ShapeClass& shape);
[[nodiscard]] inline std::int64_t rank_by_arrival(const Job&, const ShapeClass&) { return 0; }

class State {
 public:
  // `names` resolves the group and type names of requests and the tenants of the spec; it must outlive the state.
  State(const ClusterSpec& spec, Placement rule, const profile::NameTable& names, RankFn rank = rank_by_arrival);

  void apply(const Event& event);

  [[nodiscard]] const Job& job(JobId id) const { return chunks_[id.value >> kChunkBits]->jobs[id.value & kChunkMask]; }
  // Whether a submitted job has ended; asking is allowed for ever, unlike job().
  [[nodiscard]] bool ended(JobId id) const {
    const auto& chunk = chunks_[id.value >> kChunkBits];
    return !chunk || chunk->jobs[id.value & kChunkMask].status == JobStatus::kEnded;
  }
  [[nodiscard]] const ShapeClass& shape(ShapeId id) const { return *shapes_[id]; }
  [[nodiscard]] const std::vector<Running>& running() const { return running_; }
  [[nodiscard]] const Pool& pool() const { return pools_[0]; }
  // The pool as jobs of a shape may use it: without nodes that are reserved for others.
  [[nodiscard]] const Pool& pool_of(const ShapeClass& shape) const { return pools_[shape.pool]; }
  // The next instant at which a reservation changes what a waiting job may use: apply kClock then. kNever = none.
  [[nodiscard]] Time next_change() const { return bars_.empty() ? kNever : bars_.top().at; }
  // Jobs that stopped running (ended, preempted, requeued, cancelled) since forget_left(), so that a policy can keep
  // an order of the running jobs without looking at each of them.
  [[nodiscard]] const std::vector<JobId>& left() const { return left_; }
  // Events other than submissions so far. While it stays the same nothing has left a list or a GPU, so that what was
  // decided about the jobs that waited then still holds, where newcomers stand behind them.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  // Jobs that entered or left the list of their shape since forget_left() (they may have ended), in the order in which
  // it happened, so that a policy can keep an order of the waiting jobs of its own. A job is named each time.
  [[nodiscard]] const std::vector<JobId>& queue_changes() const { return queue_changes_; }
  // Nobody asks for queue_changes(): don't keep them.
  void ignore_queue_changes() { follow_ = false; }
  void forget_left() {
    left_.clear();
    queue_changes_.clear();
  }
  [[nodiscard]] std::size_t groups() const { return active_.size(); }
  // Shapes of a group with a non-empty list of eligible jobs. Order is not meaningful.
  [[nodiscard]] const std::vector<ShapeId>& active(std::uint32_t group) const { return active_[group]; }
  // The first of the list of a shape; `job` is JobId::kInvalid when it is empty. Kept dense: walks compare many fronts.
  [[nodiscard]] const QueueEntry& front(ShapeId id) const { return fronts_[id]; }
  [[nodiscard]] std::uint64_t waiting() const { return waiting_; }  // eligible or not
  [[nodiscard]] std::uint64_t used_gpus() const { return used_gpus_; }
  // The same, counting GPUs that two jobs share twice.
  [[nodiscard]] std::uint64_t held_gpus() const { return held_gpus_; }
  // Jobs waiting or running: 0 when all is done.
  [[nodiscard]] std::uint64_t live() const { return waiting_ + running_.size(); }

  // What the cluster file says of tenants and users, and the text of Job::tenant and Job::user.
  [[nodiscard]] const std::vector<TenantSpec>& tenants() const { return tenant_specs_; }
  [[nodiscard]] const std::vector<UserSpec>& users() const { return user_specs_; }
  [[nodiscard]] const profile::NameTable& names() const { return names_; }
  // The side table that Job::attributes points into; it must outlive the state. nullptr where a job has none.
  void set_attributes(const std::vector<profile::Attributes>* table,
                      const std::vector<profile::Deadline>* deadlines = nullptr) {
    attributes_ = table;
    deadlines_ = deadlines;
  }
  [[nodiscard]] const profile::Attributes* attributes(JobId id) const {
    const std::uint32_t at = job(id).attributes;
    return attributes_ == nullptr || at == profile::kNoAttributes ? nullptr : &(*attributes_)[at];
  }

  // Rising; empty where it has none.
  [[nodiscard]] std::span<const profile::Deadline> deadlines(JobId id) const {
    const profile::Attributes* a = attributes(id);
    if (a == nullptr || deadlines_ == nullptr) return {};
    return {deadlines_->data() + a->deadlines.first, a->deadlines.count};
  }

  // The shape of a request, made if it is new.
  [[nodiscard]] ShapeId shape_of(const profile::JobRequest& request);
  // Why the job could never run with the nodes that are up and the limits as they are; empty = it could.
  [[nodiscard]] std::string never_runs(const profile::JobRequest& request);
  [[nodiscard]] bool has_limits() const { return limits_; }
  [[nodiscard]] bool has_reservations() const { return !reservations_.empty(); }
  // Whether the limits of its owners let a job hold so many GPUs (in place of what it holds).
  [[nodiscard]] bool may_hold(JobId id, std::uint32_t gpus) const;
  // Where the placement rule would put a job of another size that goes on at `speed`, clear of reservations that it
  // would run into; the GPUs that a running one holds count as free.
  [[nodiscard]] bool place_as(JobId id, const Shape& size, const Pool::Where& where, double speed, Time now,
                              Allocation& out);
  [[nodiscard]] QueueEntry entry(JobId id) const;
  [[nodiscard]] Time remaining_estimate(JobId id, Time now) const;  // running or waiting, >= 0
  // A waiting job that is neither held nor limited and whose shape is satisfiable.
  [[nodiscard]] bool eligible(JobId id) const;
  // A waiting job that is neither held nor limited, whether or not the nodes that are up could hold it.
  [[nodiscard]] bool in_line(JobId id) const { return job(id).queued && shapes_[job(id).shape]->limits == 0; }
  // Why a waiting job is not eligible: Block bits.
  [[nodiscard]] std::uint8_t blocks(JobId id) const { return job(id).blocks | shapes_[job(id).shape]->limits; }

 private:
  static constexpr std::uint32_t kChunkBits = 12;
  static constexpr std::uint32_t kChunkMask = (1U << kChunkBits) - 1;
  struct Chunk {
    std::array<Job, 1U << kChunkBits> jobs;
    std::uint32_t submitted = 0;
    std::uint32_t ended = 0;
  };
  // GPUs held by a user or tenant that has a limit, and the shapes of its jobs.
  struct Owner {
    std::int64_t limit = -1;
    std::int64_t used = 0;
    std::vector<ShapeId> shapes;
  };
  using Owners = std::unordered_map<std::uint32_t, Owner>;

  Job& at(JobId id) { return chunks_[id.value >> kChunkBits]->jobs[id.value & kChunkMask]; }
  [[nodiscard]] std::string why_not(const ShapeClass& s) const;
  void submit(const Event& event);
  void start(const Event& event);
  void stop_running(JobId id, Time now);
  void co_locate(const Event& event);
  void move(const Event& event, std::uint32_t gpus, double speed);
  void set_speed(JobId id, double speed, Time now);
  Running& add_running(JobId id, std::uint32_t gpus, Time now);
  void keep(Running& run, const Allocation& allocation);
  void back_to_queue(JobId id, Time now);
  void leave(JobId id, bool was_waiting);
  void enqueue(JobId id);
  void dequeue(JobId id);
  void set_block(JobId id, std::uint8_t block, bool on);
  void refresh_shapes();
  void set_active(ShapeId id);
  void set_front(ShapeId id);
  [[nodiscard]] ShapeId look_up_shape(const profile::JobRequest& request);
  void own_running(JobId id, std::int64_t gpus);
  // The owner that has, or had, a limit; nullptr for others.
  [[nodiscard]] Owner* owner(bool tenant, std::uint32_t name);
  Owner& add_owner(bool tenant, std::uint32_t name, std::int64_t limit);
  [[nodiscard]] ShapeId find_shape(const ShapeClass& like);
  [[nodiscard]] std::uint32_t pool_without(Reservations::Mask mask);
  void look_at_reservations(JobId id, Time now);
  void clock(Time now);
  void take_stock(bool tenant, std::uint32_t name);
  void set_limit(bool tenant, std::uint32_t name, std::int64_t limit);
  void recheck(const Owner& owner, std::uint8_t block);
  void recheck(ShapeId id, const Owner& owner, std::uint8_t block);

  std::vector<Pool> pools_;  // [0] whole, then one for each set of reservations that bars somebody
  Reservations reservations_;
  std::vector<Reservations::Mask> pool_masks_ = {0};  // by pool
  struct BarChange {
    Time at;
    JobId job;
    bool operator>(const BarChange& o) const { return at != o.at ? at > o.at : o.job < job; }
  };
  std::priority_queue<BarChange, std::vector<BarChange>, std::greater<>> bars_;
  const profile::NameTable& names_;
  RankFn rank_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<std::unique_ptr<Chunk>> spare_chunks_;
  std::vector<std::unique_ptr<ShapeClass>> shapes_;
  std::unordered_map<std::uint64_t, std::vector<ShapeId>> shape_index_;  // hash -> candidates
  struct RecentShape {
    std::uint64_t hash = 0;
    ShapeId shape = kNoSlot;
  };
  std::array<RecentShape, 64> recent_shapes_;  // by hash: a cache before shape_index_
  std::vector<QueueEntry> fronts_;             // by shape
  std::vector<std::vector<ShapeId>> active_;   // by group
  std::vector<Running> running_;
  std::vector<JobId> left_;
  std::vector<std::vector<Part>> spare_parts_;  // of jobs that stopped: starting one allocates nothing
  std::uint64_t changes_ = 0;
  std::vector<JobId> queue_changes_;
  bool follow_ = true;
  std::vector<TenantSpec> tenant_specs_;
  std::vector<UserSpec> user_specs_;
  const std::vector<profile::Attributes>* attributes_ = nullptr;
  const std::vector<profile::Deadline>* deadlines_ = nullptr;
  std::uint64_t waiting_ = 0;
  std::uint64_t used_gpus_ = 0;
  std::uint64_t held_gpus_ = 0;
  bool limits_ = false;  // some owner has, or had, a limit
  std::int64_t default_user_limit_ = -1;
  Owners users_;
  Owners tenants_;
};

}  // namespace comity::cluster
