#include "aten_bridge/trace/seed_watch.h"

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>

namespace aten_bridge {
namespace {

// Where a generator of the CPU or of a GPU stands. Read, compared and put back without memory that
// would have to be found: it is put back when memory is short, too.
class Stand {
 public:
  static Stand of(const at::Generator& generator) {
    Stand stand;
    stand.seed_ = generator.current_seed();
    if (auto* cpu = of_cpu(generator)) {
      stand.engine_ = cpu->engine().data();
      stand.normal_ = cpu->next_float_normal_sample();
      stand.double_normal_ = cpu->next_double_normal_sample();
    } else {
      stand.offset_ = generator.get_offset();
    }
    return stand;
  }

  uint64_t seed() const { return seed_; }

  bool is_just_seeded() const {
    Stand fresh;
    fresh.seed_ = seed_;
    if (engine_) fresh.engine_ = at::mt19937(seed_).data();
    return *this == fresh;
  }

  void put_into(at::Generator& generator) const {
    if (auto* cpu = of_cpu(generator)) {
      at::mt19937 engine;
      engine.set_data(*engine_);
      cpu->set_engine(engine);
      cpu->set_next_float_normal_sample(normal_);
      cpu->set_next_double_normal_sample(double_normal_);
    } else {
      generator.set_current_seed(seed_);
      generator.set_offset(offset_);
    }
  }

  bool operator==(const Stand& other) const {
    const auto& a = engine_;
    const auto& b = other.engine_;
    return seed_ == other.seed_ && offset_ == other.offset_ && normal_ == other.normal_ &&
           double_normal_ == other.double_normal_ && a.has_value() == b.has_value() &&
           (!a || (a->left_ == b->left_ && a->next_ == b->next_ && a->state_ == b->state_));
  }

 private:
  static at::CPUGeneratorImpl* of_cpu(const at::Generator& generator) {
    return generator.device().is_cpu() ? generator.get<at::CPUGeneratorImpl>() : nullptr;
  }

  uint64_t seed_ = 0, offset_ = 0;
  std::optional<at::mt19937_data_pod> engine_;  // of the CPU's
  std::optional<float> normal_;
  std::optional<double> double_normal_;
};

void set_seed_only(at::Generator& generator, uint64_t seed) {
  auto* cpu = generator.get<at::CPUGeneratorImpl>();
  at::mt19937 engine = cpu->engine();
  at::mt19937_data_pod data = engine.data();
  data.seed_ = seed;
  engine.set_data(data);
  cpu->set_engine(engine);
}

// What a generator is told by, as long as any capture watches it. A CPU's remembers the inverse of
// its seed, from which nothing is drawn. Another's that was just seeded is moved on by one draw, so
// that seeding it again shows.
class Mark {
 public:
  int watches = 0;
  uint64_t round = 0;

  void set(at::Generator& generator) {
    const std::scoped_lock lock(generator.mutex());
    ++round;
    before_ = Stand::of(generator);
    if (generator.device().is_cpu()) return set_seed_only(generator, ~before_.seed());
    moved_ = before_.is_just_seeded();
    if (moved_) generator.set_offset(generator.get_offset() + 4);  // Philox counts in fours
    watched_ = Stand::of(generator);
  }

  bool is_gone(at::Generator& generator) const {
    const std::scoped_lock lock(generator.mutex());
    if (generator.device().is_cpu()) return generator.current_seed() != ~before_.seed();
    const Stand now = Stand::of(generator);
    return now.seed() != watched_.seed() || (now != watched_ && now.is_just_seeded());
  }

  // Draws since it was set stay drawn.
  void take_away(at::Generator& generator) {
    const std::scoped_lock lock(generator.mutex());
    if (generator.device().is_cpu()) return set_seed_only(generator, before_.seed());
    if (moved_ && Stand::of(generator) == watched_) before_.put_into(generator);
  }

  // After a seeding. Other watches of this round have seen one too.
  void rewind(at::Generator& generator) {
    const std::scoped_lock lock(generator.mutex());
    ++round;
    before_.put_into(generator);
  }

 private:
  Stand before_, watched_;
  bool moved_ = false;
};

struct Marks {
  std::mutex mutex;  // taken before a generator's
  std::map<const c10::GeneratorImpl*, Mark> of;
};

Marks& marks() {
  static auto& instance = *new Marks;  // usable while the process exits
  return instance;
}

}  // namespace

SeedWatch::SeedWatch(at::Generator generator) : generator_(std::move(generator)) {
  const std::scoped_lock lock(marks().mutex);
  Mark& mark = marks().of[generator_.unsafeGetGeneratorImpl()];
  if (mark.watches == 0 || mark.is_gone(generator_)) mark.set(generator_);
  ++mark.watches;
  round_ = mark.round;
}

SeedWatch::~SeedWatch() {
  const std::scoped_lock lock(marks().mutex);
  Mark& mark = marks().of[generator_.unsafeGetGeneratorImpl()];
  --mark.watches;
  const bool is_gone = mark.is_gone(generator_);
  if (is_gone && mark.round == round_) mark.rewind(generator_);
  if (!is_gone && mark.watches == 0) mark.take_away(generator_);
}

bool SeedWatch::seeded() const {
  const std::scoped_lock lock(marks().mutex);
  const Mark& mark = marks().of[generator_.unsafeGetGeneratorImpl()];
  return mark.round != round_ || mark.is_gone(generator_);
}

}  // namespace aten_bridge
