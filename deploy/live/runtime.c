/* What a kernel needs beside itself and the C library: numba's memory, and the streams of its trials. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORTED(name) __attribute__((export_name(name)))

EXPORTED("allocate") void *allocate(uint32_t bytes) { return malloc(bytes); }

/* An array as numba's compiled code holds it (numba/core/runtime/nrtdynmod.py), with pointers of 32 bits. */
typedef struct {
  int64_t references;
  void *destroy, *information, *content;
  int64_t size;
} Array;

void *NRT_MemInfo_alloc_aligned(int64_t size, uint32_t align) {
  (void)align; /* this machine reads from any place */
  Array *made = size < 0 || size > UINT32_MAX ? NULL : malloc(sizeof(Array) + (size_t)size);
  if (made) *made = (Array){1, NULL, NULL, made + 1, size};
  return made;
}

void NRT_MemInfo_call_dtor(void *array) { free(array); }

/* As numba has them (numba/_helperlib.c). */
double numba_ldexp(double value, int power) { return ldexp(value, power); }
double numba_frexp(double value, int *power) {
  *power = 0;
  return isfinite(value) && value != 0 ? frexp(value, power) : value;
}

/* Every array that a kernel reshapes is in one piece, so only the strides are new. */
int32_t numba_attempt_nocopy_reshape(int64_t dimensions, const int64_t *shape, const int64_t *strides, int64_t wanted,
                                     const int64_t *wanted_shape, int64_t *wanted_strides, int64_t item, int32_t fortran) {
  (void)dimensions, (void)shape, (void)strides, (void)fortran;
  for (int64_t axis = wanted - 1; axis >= 0; axis--) {
    wanted_strides[axis] = item;
    item *= wanted_shape[axis];
  }
  return 1;
}

/* numpy.random.SeedSequence (O'Neill's seed_seq_fe of 128 bits) */

static uint32_t hashed(uint32_t value, uint32_t *constant) {
  value ^= *constant;
  *constant *= 0x931e8875u;
  value *= *constant;
  return value ^ value >> 16;
}

static uint32_t mixed(uint32_t one, uint32_t other) {
  uint32_t value = one * 0xca01f9ddu - other * 0x4973f715u;
  return value ^ value >> 16;
}

/* Fill rows of eight words: SeedSequence(seed, spawn_key=(trial,)).generate_state(8, uint64) from trial `first` on. */
EXPORTED("streams") void streams(uint64_t seed, uint32_t first, uint32_t trials, uint32_t *words) {
  for (uint32_t trial = first; trial - first < trials; trial++) {
    uint32_t pool[4], constant = 0x43b0d7e5u;
    uint32_t entropy[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0};
    for (int at = 0; at < 4; at++) pool[at] = hashed(entropy[at], &constant);
    for (int from = 0; from < 4; from++)
      for (int to = 0; to < 4; to++)
        if (from != to) pool[to] = mixed(pool[to], hashed(pool[from], &constant));
    for (int to = 0; to < 4; to++) pool[to] = mixed(pool[to], hashed(trial, &constant));
    constant = 0x8b51f9ddu;
    for (int word = 0; word < 16; word++) {
      uint32_t value = pool[word % 4] ^ constant;
      constant *= 0x58f38dedu;
      value *= constant;
      *words++ = value ^ value >> 16;
    }
  }
}
