// Straight loops in C++ for benchmarks/native.py, which compiles them: user by user, what a policy's definition says.
//
// Arms stand in vectors of four doubles, which are registers of AVX2 where the processor has it. ARMS is set by the
// compiler's command line, so that loops over arms have no end test. Arms are known by their labels; `chances` is
// (trials, ARMS), `state` (trials, 8) with the two generators of bandit_core/kernels/streams.py, `clocks` (horizon,)
// what an index of user t needs to know of t. `pulls` (trials, ARMS) is filled; it holds zeros at first.

#include <cmath>
#include <cstdint>
#include <limits>
#ifdef __AVX__
#include <immintrin.h>
#endif

typedef double Four __attribute__((vector_size(32), may_alias));
typedef std::uint64_t Words __attribute__((vector_size(32)));
typedef std::int64_t Mask __attribute__((vector_size(32)));

constexpr int VECTORS = (ARMS + 3) / 4;
constexpr double UNIT = 0x1p-52, HALF_UNIT = 0x1p-53, NEVER = -std::numeric_limits<double>::infinity();

static inline int bits_of(Mask mask) {
#ifdef __AVX__
    return _mm256_movemask_pd((__m256d)mask);
#else
    return (mask[0] & 1) | (mask[1] & 2) | (mask[2] & 4) | (mask[3] & 8);
#endif
}

// xoshiro256++ (Blackman and Vigna 2019): one generator, or four side by side.
template <class Word>
struct Generator {
    Word a, b, c, d;

    Word next() {
        Word total = a + d, mixed = ((total << 23) | (total >> 41)) + a, shifted = b << 17;
        c ^= a;
        d ^= b;
        b ^= c;
        a ^= d;
        c ^= shifted;
        d = (d << 45) | (d >> 19);
        return mixed;
    }
};

typedef Generator<std::uint64_t> One;
typedef Generator<Words> Many;

static inline One generator(const std::uint64_t* words) { return {words[0], words[1], words[2], words[3]}; }

static inline double uniform(One& own) { return double(own.next() >> 12) * UNIT; }

static inline Four uniforms(Many& lanes) {
    Words bits = (lanes.next() >> 12) | 0x3FF0000000000000u;
    return (Four)bits - 1.0;
}

// Four generators that follow from one, by SplitMix64.
static Many four_generators(One own) {
    std::uint64_t words[16];
    std::uint64_t seed = own.next();
    for (auto& word : words) {
        std::uint64_t z = seed += 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        word = z ^ (z >> 31);
    }
    auto four = [&](int first) { return Words{words[first], words[first + 1], words[first + 2], words[first + 3]}; };
    return {four(0), four(4), four(8), four(12)};
}

// The first arm with the largest value.
static inline int first_largest(const Four* values) {
    Four most = values[0];
    for (int v = 1; v < VECTORS; v++) most = values[v] > most ? values[v] : most;
    Four other = {most[2], most[3], most[0], most[1]};
    most = most > other ? most : other;
    other = Four{most[1], most[0], most[3], most[2]};
    most = most > other ? most : other;
    int found = 0;
    for (int v = 0; v < VECTORS; v++) found |= bits_of(values[v] == most) << (4 * v);
    return __builtin_ctz(found);
}

// What stands beside the last arm never wins.
struct Rows {
    Four of[VECTORS];

    explicit Rows(double value, double beyond = 0.0) {
        for (int arm = 0; arm < 4 * VECTORS; arm++) at(arm) = arm < ARMS ? value : beyond;
    }
    double& at(int arm) { return reinterpret_cast<double*>(of)[arm]; }
};

// Indices mean + clock x width: a response is `high` with its arm's chance, else `low`.
struct Responses {
    double low, high, spread, shift, stretch, per_pull, per_spread;
};

struct Lines {
    One own;
    Rows means{std::numeric_limits<double>::infinity(), NEVER}, widths{0.0}, counts{0.0}, sums{0.0}, spreads{0.0};

    void play(const Responses& each, const double* chances, double clock) {
        Four values[VECTORS];
        for (int v = 0; v < VECTORS; v++) values[v] = means.of[v] + clock * widths.of[v];
        int arm = first_largest(values);
        sums.at(arm) += uniform(own) < chances[arm] ? each.high : each.low;
        double count = counts.at(arm) += 1.0, spread = spreads.at(arm) += each.spread;
        double wide = each.per_pull > 0.0 ? std::sqrt(each.per_pull * count) : 0.0;
        if (each.per_spread > 0.0) wide += std::sqrt(each.per_spread * spread);
        means.at(arm) = each.shift + each.stretch * (sums.at(arm) / count);
        widths.at(arm) = wide / count;
    }
};

// Four trials advance side by side, so that one waits for no other's division.
template <class Player, class Rule>
static void play(const std::uint64_t* state, const double* chances, std::int64_t trials, const double* clocks,
                 std::int64_t horizon, const Rule& rule, double* pulls) {
    for (std::int64_t first = 0; first < trials; first += 4) {
        const int side = trials - first < 4 ? int(trials - first) : 4;
        Player players[4];
        for (int s = 0; s < side; s++) players[s].own = generator(state + 8 * (first + s));
        for (std::int64_t t = 0; t < horizon; t++)
            for (int s = 0; s < side; s++) players[s].play(rule, chances + ARMS * (first + s), clocks[t]);
        for (int s = 0; s < side; s++)
            for (int arm = 0; arm < ARMS; arm++) pulls[ARMS * (first + s) + arm] = players[s].counts.at(arm);
    }
}

extern "C" void index_family(const std::uint64_t* state, const double* chances, std::int64_t trials,
                             const double* clocks, std::int64_t horizon, const Responses* rule, double* pulls) {
    play<Lines>(state, chances, trials, clocks, horizon, *rule, pulls);
}

// kl-UCB: the index of the arm that was played last, and of those only whose divergence from it allows a larger one.
struct Divergence {
    double margin;  // above rounding
};

static inline double xlog(double x) { return x > 0.0 ? x * std::log(x) : 0.0; }

// The q > mean with d(mean, q) = budget: Newton's method in x = logit(q).
static double quantile(double mean, double budget) {
    if (mean >= 1.0) return 1.0;
    if (mean <= 0.0) return -std::expm1(-budget);
    double variance = mean * (1.0 - mean), s = std::sqrt(2.0 * budget / variance), x;
    double constant = xlog(mean) + xlog(1.0 - mean) - budget;
    if (s < 1.5) {  // the inverse power series of d around the mean
        double second = (1.0 - 2.0 * mean) / 6.0, third = (1.0 - variance) / 36.0;
        x = std::log(mean / (1.0 - mean)) + s * (1.0 + s * (s * third - second));
    } else {  // two upper bounds
        double pinsker = mean + std::sqrt(0.5 * budget);
        x = -constant / (1.0 - mean);
        if (pinsker < 1.0) x = std::fmin(x, std::log(pinsker / (1.0 - pinsker)));
    }
    for (int turn = 0; turn < 60; turn++) {
        double power = std::exp(-std::fabs(x)), q = (x > 0.0 ? 1.0 : power) / (1.0 + power);
        double step = (std::fmax(x, 0.0) + std::log1p(power) - mean * x + constant) / (q - mean);
        x -= step;
        double shift = step * q * (1.0 - q);
        if (shift * shift <= 1e-13 * (q - mean)) break;
    }
    return 1.0 / (1.0 + std::exp(-x));
}

struct Balls {
    One own;
    Rows means{NEVER, NEVER}, counts{0.0}, sums{0.0}, entropies{0.0};
    int tried = 0, last = 0;

    int best(const Divergence& rule, double level) {
        if (tried < ARMS) return tried++;
        int arm = last;
        double highest = quantile(means.at(arm), level / counts.at(arm)), bar = highest - rule.margin;
        const double log = std::log(bar), rest = std::log1p(-bar);
        int rivals = 0;
        for (int v = 0; v < VECTORS; v++) {
            Four m = means.of[v], apart = counts.of[v] * (entropies.of[v] - m * log - (1.0 - m) * rest);
            rivals |= bits_of((apart <= level) | (m >= bar)) << (4 * v);
        }
        for (rivals &= ~(1 << last); rivals != 0; rivals &= rivals - 1) {
            int other = __builtin_ctz(rivals);
            double value = quantile(means.at(other), level / counts.at(other));
            if (value > highest || (value == highest && other < arm)) highest = value, arm = other;
        }
        return arm;
    }

    void play(const Divergence& rule, const double* chances, double level) {
        int arm = last = best(rule, level);
        sums.at(arm) += uniform(own) < chances[arm];
        double count = counts.at(arm) += 1.0, mean = means.at(arm) = sums.at(arm) / count;
        entropies.at(arm) = xlog(mean) + xlog(1.0 - mean);
    }
};

// A clock is ln t + 3 ln ln t.
extern "C" void divergence_index(const std::uint64_t* state, const double* chances, std::int64_t trials,
                             const double* clocks, std::int64_t horizon, const Divergence* rule, double* pulls) {
    play<Balls>(state, chances, trials, clocks, horizon, *rule, pulls);
}

// Normal variables by the ziggurat, whose tables are those of bandit_core/kernels/normals.py; `factor` and `turns` are
// those of Gaussian posteriors.
struct Draws {
    double bounds[256], widths[256], heights[257], edge, factor, turns;
};

// The other 1.2 %: NaN asks for another word.
static double rare(const Draws& table, std::uint64_t layer, double value, One& own) {
    if (layer == 0) {
        for (;;) {
            double beyond = -std::log(uniform(own) + HALF_UNIT) / table.edge;
            if (-2.0 * std::log(uniform(own) + HALF_UNIT) > beyond * beyond) return table.edge + beyond;
        }
    }
    double height = table.heights[layer] + uniform(own) * (table.heights[layer + 1] - table.heights[layer]);
    return height < std::exp(-0.5 * value * value) ? value : std::nan("");
}

static double normal(const Draws& table, One& own) {
    for (;;) {
        std::uint64_t word = own.next(), layer = word & 0xFF;
        double place = double(word >> 12), value = place * table.widths[layer];
        if (place >= table.bounds[layer]) value = rare(table, layer, value, own);
        if (!std::isnan(value)) return word & 0x100 ? -value : value;
    }
}

static inline Four normals(const Draws& table, Many& lanes, One& own) {
    Words word = lanes.next(), layer = word & 0xFF;
    Four place = (Four)((word >> 12) | 0x4330000000000000u) - 0x1p52;  // the upper 52 bits as a whole number
    Four value = place * Four{table.widths[layer[0]], table.widths[layer[1]], table.widths[layer[2]],
                              table.widths[layer[3]]};
    Four bound = {table.bounds[layer[0]], table.bounds[layer[1]], table.bounds[layer[2]], table.bounds[layer[3]]};
    for (int left = bits_of(place >= bound); left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        double other = rare(table, layer[lane], value[lane], own);
        value[lane] = std::isnan(other) ? normal(table, own) : other;
    }
    return (Four)((Words)value ^ ((word & 0x100) << 55));
}

// Gamma variables of shape d + 1/3 (Marsaglia and Tsang 2000), with c = 1 / sqrt(9 d).
static double gamma_from(double z, double u, double d, double c, const Draws& table, One& own) {
    for (;;) {
        double v = 1.0 + c * z;
        v = v * v * v;
        if (v > 0.0 && std::log(u) < 0.5 * z * z + d - d * v + d * std::log(v)) return d * v;
        z = normal(table, own);
        u = uniform(own) + HALF_UNIT;
    }
}

static inline Four gammas(Four d, Four c, const Draws& table, Many& lanes, One& own) {
    Four z = normals(table, lanes, own), u = uniforms(lanes) + HALF_UNIT, v = 1.0 + c * z;
    v = v * v * v;
    Four squared = z * z, found = d * v;
    Mask good = (v > 0.0) & (u < 1.0 - 0.0331 * squared * squared);
    for (int left = ~bits_of(good) & 15; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        found[lane] = gamma_from(z[lane], u[lane], d[lane], c[lane], table, own);
    }
    return found;
}

extern "C" void beta_posteriors(const std::uint64_t* state, const double* chances, std::int64_t trials,
                                  const double*, std::int64_t horizon, const Draws* rule, double* pulls) {
    for (std::int64_t trial = 0; trial < trials; trial++) {
        One answers = generator(state + 8 * trial), own = generator(state + 8 * trial + 4);
        Many lanes = four_generators(own);
        const double first = 2.0 / 3.0, scale = 1.0 / std::sqrt(6.0);
        Rows d_ones(first, first), c_ones(scale, scale), d_zeros(first, first), c_zeros(scale, scale), last(1.0, 0.0);
        double* pulled = pulls + ARMS * trial;
        for (std::int64_t t = 0; t < horizon; t++) {
            Four values[VECTORS];
            for (int v = 0; v < VECTORS; v++) {
                Four x = gammas(d_ones.of[v], c_ones.of[v], *rule, lanes, own);
                Four y = gammas(d_zeros.of[v], c_zeros.of[v], *rule, lanes, own);
                values[v] = last.of[v] * (x / (x + y));
            }
            int arm = first_largest(values);
            bool one = uniform(answers) < chances[ARMS * trial + arm];
            Rows &d = one ? d_ones : d_zeros, &c = one ? c_ones : c_zeros;
            d.at(arm) += 1.0;
            c.at(arm) = 1.0 / std::sqrt(9.0 * d.at(arm));
            pulled[arm] += 1.0;
        }
    }
}

// Rewards of 0 and 1; every arm `turns` times, then N(sum / (n + 1), factor / (n + 1)) for every arm.
extern "C" void normal_posteriors(const std::uint64_t* state, const double* chances, std::int64_t trials,
                                  const double*, std::int64_t horizon, const Draws* rule, double* pulls) {
    for (std::int64_t trial = 0; trial < trials; trial++) {
        One answers = generator(state + 8 * trial), own = generator(state + 8 * trial + 4);
        Many lanes = four_generators(own);
        Rows centres(0.0, NEVER), deviations(std::sqrt(rule->factor));
        double* pulled = pulls + ARMS * trial;
        double sums[ARMS] = {};
        for (std::int64_t t = 0; t < horizon; t++) {
            int arm = int(t % ARMS);
            if (t >= ARMS * rule->turns) {
                Four values[VECTORS];
                for (int v = 0; v < VECTORS; v++)
                    values[v] = centres.of[v] + deviations.of[v] * normals(*rule, lanes, own);
                arm = first_largest(values);
            }
            sums[arm] += uniform(answers) < chances[ARMS * trial + arm];
            pulled[arm] += 1.0;
            centres.at(arm) = sums[arm] / (pulled[arm] + 1.0);
            deviations.at(arm) = std::sqrt(rule->factor / (pulled[arm] + 1.0));
        }
    }
}
