// Operators that draw from a generator: extern calls, each run exactly once and in order. Attention
// with dropout is one, too, by its argument (recompute_of). On a GPU most become a call that
// advances the generator and a function of where it stood before, which philox.cc lowers.
#include "inductor/lowering/row.h"

namespace inductor {
namespace {

constexpr auto kRandom = OpKind::kRandom;

constexpr LoweringRow kRows[] = {
    {"torchdyn::philox_state", kRandom, nullptr},
    {"aten::bernoulli", kRandom, nullptr},
    {"aten::bernoulli.p", kRandom, nullptr},
    {"aten::bernoulli.Tensor", kRandom, nullptr},
    {"aten::rand", kRandom, nullptr},
    {"aten::rand.generator", kRandom, nullptr},
    {"aten::rand_like", kRandom, nullptr},
    {"aten::randn", kRandom, nullptr},
    {"aten::randn.generator", kRandom, nullptr},
    {"aten::randn_like", kRandom, nullptr},
    {"aten::randint", kRandom, nullptr},
    {"aten::randint.generator", kRandom, nullptr},
    {"aten::randint.low", kRandom, nullptr},
    {"aten::randint.low_generator", kRandom, nullptr},
    {"aten::randint_like", kRandom, nullptr},
    {"aten::randint_like.low_dtype", kRandom, nullptr},
    {"aten::randint_like.Tensor", kRandom, nullptr},
    {"aten::randperm", kRandom, nullptr},
    {"aten::randperm.generator", kRandom, nullptr},
    {"aten::normal.Tensor_float", kRandom, nullptr},
    {"aten::normal.float_Tensor", kRandom, nullptr},
    {"aten::normal.Tensor_Tensor", kRandom, nullptr},
    {"aten::normal.float_float", kRandom, nullptr},
    {"aten::normal_functional", kRandom, nullptr},
    {"aten::uniform", kRandom, nullptr},
    {"aten::exponential", kRandom, nullptr},
    {"aten::geometric", kRandom, nullptr},
    {"aten::log_normal", kRandom, nullptr},
    {"aten::cauchy", kRandom, nullptr},
    {"aten::random", kRandom, nullptr},
    {"aten::random.from", kRandom, nullptr},
    {"aten::random.to", kRandom, nullptr},
    {"aten::multinomial", kRandom, nullptr},
    {"aten::poisson", kRandom, nullptr},
    {"aten::binomial", kRandom, nullptr},
    {"aten::native_dropout", kRandom, nullptr},
    {"aten::dropout", kRandom, nullptr},
    {"aten::feature_dropout", kRandom, nullptr},
    {"aten::alpha_dropout", kRandom, nullptr},
    {"aten::feature_alpha_dropout", kRandom, nullptr},
    {"aten::_fused_dropout", kRandom, nullptr},
    {"aten::_standard_gamma", kRandom, nullptr},
    {"aten::_sample_dirichlet", kRandom, nullptr},
    {"aten::rrelu_with_noise", kRandom, nullptr},
    {"aten::rrelu_with_noise_functional", kRandom, nullptr},
};

}  // namespace

LoweringRows random_rows() { return kRows; }

}  // namespace inductor
