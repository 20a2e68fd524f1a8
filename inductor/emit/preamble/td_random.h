// Random numbers of scalars, as td_special.h before it: Philox4x32-10, by which ATen's generators
// on a GPU count. It has no state: a number is a function of the seed, of how many calls a sequence
// made before, of the sequence, and of which of a call's four numbers it is.
//   TD_EACH(td_random::philox, seed, calls, 4 * sequence + number)      // in [0, 2^32)

namespace td_random {

// A call's four numbers.
struct words {
  uint32_t x, y, z, w;
};
TD_SPECIAL words philox_call(uint64_t seed, uint64_t calls, uint64_t sequence) {
  words c = {uint32_t(calls), uint32_t(calls >> 32), uint32_t(sequence), uint32_t(sequence >> 32)};
  uint32_t key = uint32_t(seed), other_key = uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(0xD2511F53u) * c.x, b = uint64_t(0xCD9E8D57u) * c.z;
    c = {uint32_t(b >> 32) ^ c.y ^ key, uint32_t(b), uint32_t(a >> 32) ^ c.w ^ other_key,
         uint32_t(a)};
    key += 0x9E3779B9u;
    other_key += 0xBB67AE85u;
  }
  return c;
}

template <class T>
TD_SPECIAL T philox(T seed, T calls, T place) {
  const words c = philox_call(uint64_t(seed), uint64_t(calls), uint64_t(place) >> 2);
  const int number = int(uint64_t(place) & 3);
  return T(number < 2 ? (number == 0 ? c.x : c.y) : (number == 2 ? c.z : c.w));
}

}  // namespace td_random
