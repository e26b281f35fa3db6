/* What a kernel needs beside itself: memory, which is never given back within a call, and the streams of its trials. */
#include <stddef.h>
#include <stdint.h>

#define EXPORTED(name) __attribute__((export_name(name)))
#define PAGE 65536u

extern unsigned char __heap_base;
static uintptr_t used;

static uintptr_t rounded(uintptr_t place) { return (place + 63) & ~(uintptr_t)63; }

/* Forget everything that was handed out. */
EXPORTED("reset") void reset(void) { used = 0; }

/* So many bytes, or 0 where the browser gives no more. */
EXPORTED("allocate") void *allocate(uint32_t bytes) {
  uintptr_t first = used ? used : rounded((uintptr_t)&__heap_base);
  uint64_t last = (uint64_t)first + bytes;
  uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) * PAGE;
  if (last > UINT32_MAX - 64) return NULL;
  if (last > have && __builtin_wasm_memory_grow(0, (last - have + PAGE - 1) / PAGE) == SIZE_MAX) return NULL;
  used = rounded((uintptr_t)last);
  return (void *)first;
}

/* An array as numba's compiled code holds it (numba/core/runtime/nrtdynmod.py), with pointers of 32 bits. */
typedef struct {
  int64_t references;
  void *destroy, *information, *content;
  int64_t size;
} Array;

void *NRT_MemInfo_alloc_aligned(int64_t size, uint32_t align) {
  (void)align;
  if (size < 0 || size > UINT32_MAX) return NULL;
  Array *made = allocate(sizeof(Array));
  void *content = made ? allocate((uint32_t)size) : NULL;
  if (!content) return NULL;
  *made = (Array){1, NULL, NULL, content, size};
  return made;
}

void *NRT_MemInfo_alloc(int64_t size) { return NRT_MemInfo_alloc_aligned(size, 16); }
void NRT_MemInfo_call_dtor(void *array) { (void)array; }
void *NRT_Allocate(int64_t size) { return size < 0 || size > UINT32_MAX ? NULL : allocate((uint32_t)size); }
void NRT_Free(void *memory) { (void)memory; }

/* What compiled code would raise in Python ends it here; the worker says so. */
char PyExc_RuntimeError;
void PyErr_SetString(void *kind, const char *words) {
  (void)kind, (void)words;
  __builtin_trap();
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
