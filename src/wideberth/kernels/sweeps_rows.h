/* Rows of one type of numbers, REAL: products with them and an epoch over them. It is
   included by `sweeps.h` once for each type. */

typedef struct {
    const REAL *data;
    ptrdiff_t next_row, next_column; /* 0 for CSR */
    const void *indices, *indptr;
} NAMED(Matrix);

/* ⟨x,d⟩, eight partial sums at a time. */
INLINED double NAMED(dot)(const REAL *x, const double *d, ptrdiff_t size)
{
    double sums[8] = {0}, total = 0;
    ptrdiff_t p = 0;
    for (; p + 8 <= size; p += 8)
        for (int j = 0; j < 8; j++)
            sums[j] += d[p + j] * x[p + j];
    if (p + 4 <= size) {
        for (int j = 0; j < 4; j++)
            sums[j] += d[p + j] * x[p + j];
        p += 4;
    }
    for (; p < size; p++)
        total += d[p] * x[p];
    for (int j = 0; j < 4; j++)
        sums[j] += sums[j + 4];
    return total + ((sums[0] + sums[2]) + (sums[1] + sums[3]));
}

INLINED double NAMED(dot_strided)(const REAL *x, ptrdiff_t stride, const double *d,
                                  ptrdiff_t size)
{
    double sums[4] = {0}, total = 0;
    ptrdiff_t p = 0;
    for (; p + 4 <= size; p += 4)
        for (int j = 0; j < 4; j++)
            sums[j] += d[p + j] * x[(p + j) * stride];
    for (; p < size; p++)
        total += d[p] * x[p * stride];
    return total + ((sums[0] + sums[2]) + (sums[1] + sums[3]));
}

#define SPARSE_ROWS(INDEX)                                                             \
    INLINED double NAMED(dot_##INDEX)(const REAL *x, const INDEX *at, ptrdiff_t size,  \
                                      const double *d)                                 \
    {                                                                                  \
        double sums[4] = {0}, total = 0;                                               \
        ptrdiff_t p = 0;                                                               \
        for (; p + 4 <= size; p += 4)                                                  \
            for (int j = 0; j < 4; j++)                                                \
                sums[j] += d[at[p + j]] * x[p + j];                                    \
        for (; p < size; p++)                                                          \
            total += d[at[p]] * x[p];                                                  \
        return total + ((sums[0] + sums[2]) + (sums[1] + sums[3]));                    \
    }                                                                                  \
    INLINED void NAMED(add_##INDEX)(const REAL *x, const INDEX *at, ptrdiff_t size,    \
                                    double step, double *d)                            \
    {                                                                                  \
        for (ptrdiff_t p = 0; p < size; p++)                                           \
            d[at[p]] += step * x[p];                                                   \
    }                                                                                  \
    INLINED void NAMED(prefetch_##INDEX)(const REAL *x, const INDEX *at,               \
                                         const INDEX *row)                             \
    {                                                                                  \
        for (ptrdiff_t p = row[0]; p < row[1] && p < row[0] + 64; p += 16) {           \
            PREFETCH(at + p);                                                          \
            PREFETCH(x + p);                                                           \
            PREFETCH(x + p + 8);                                                       \
        }                                                                              \
    }

SPARSE_ROWS(int32_t)
SPARSE_ROWS(int64_t)
#undef SPARSE_ROWS

/* How rows are stored; a constant wherever it is an argument. */
#ifndef STORED
#define STORED
enum { CONTIGUOUS, STRIDED, SPARSE_32, SPARSE_64 };
#endif

/* One epoch: D is maximised over each α_i of the active rows, in random order; rows
   that `below` and `above` tell to leave are taken out of the active ones. */
INLINED void NAMED(any_epoch)(const NAMED(Matrix) *X, Ascent *at, int stored, int noisy)
{
    const REAL *data = X->data;
    const int32_t *indices32 = X->indices, *indptr32 = X->indptr;
    const int64_t *indices64 = X->indices, *indptr64 = X->indptr;
    double *restrict d = at->d, *alpha = at->alpha;
    const int looks = at->looks;
    const double beta = at->beta, below = at->below, above = at->above;
    ptrdiff_t size = at->n_features, n_active = at->n_active, *active = at->active;
    ptrdiff_t cut = (ptrdiff_t)number_below(&at->random, RUN), first = 0, kept = 0;
    ptrdiff_t n_runs = (n_active + cut + RUN - 1) / RUN;
    double asks_down = 0, asks_up = 0, gap = 0, rise = 0, entries = 0;
    double length = noisy ? norm_of_w(at) : 0, b = at->b, balance = at->balance;
    for (ptrdiff_t k = 0; k < n_runs; k++) { /* Fisher and Yates, from inside out */
        ptrdiff_t j = looks ? k : (ptrdiff_t)number_below(&at->random, k + 1);
        at->runs[k] = at->runs[j];
        at->runs[j] = k;
    }
    for (ptrdiff_t r = 0; r < n_runs; r++) {
        ptrdiff_t k = at->runs[r] * RUN - cut, stop = k + RUN, ahead = n_active;
        if (r + 1 < n_runs)
            ahead = at->runs[r + 1] * RUN - cut;
        if (k < 0)
            k = 0;
        if (stop > n_active)
            stop = n_active;
        for (; k < stop; k++, ahead++) {
            ptrdiff_t i = active[k];
            double y = at->y[i], old = alpha[i], c = at->weights[i], along, u, step;
            double square = at->squares[i], curvature = square + beta;
            double linear = at->targets[i] - y * b, up = (c - old) * ROUNDED_UP;
            double part, new_alpha;
            /* The reciprocal does not have to wait for ⟨x,d⟩. */
            double inverse = 1 / (curvature + DBL_MIN);
            const REAL *x;
            int more = ahead >= 0 && ahead < n_active;
            if (stored == SPARSE_32) {
                if (more)
                    NAMED(prefetch_int32_t)(data, indices32, indptr32 + active[ahead]);
                first = indptr32[i];
                size = indptr32[i + 1] - first;
                along = NAMED(dot_int32_t)(data + first, indices32 + first, size, d);
            } else if (stored == SPARSE_64) {
                if (more)
                    NAMED(prefetch_int64_t)(data, indices64, indptr64 + active[ahead]);
                first = indptr64[i];
                size = indptr64[i + 1] - first;
                along = NAMED(dot_int64_t)(data + first, indices64 + first, size, d);
            } else {
                x = data + i * X->next_row;
                if (more) {
                    const REAL *next = data + active[ahead] * X->next_row;
                    if (stored == CONTIGUOUS)
                        for (ptrdiff_t p = 0; p < size && p < 64; p += 64 / sizeof(REAL))
                            PREFETCH(next + p);
                }
                along = stored == CONTIGUOUS
                            ? NAMED(dot)(x, d, size)
                            : NAMED(dot_strided)(x, X->next_column, d, size);
            }
            entries += (double)size;
            u = linear - y * along;
            if (noisy) {
                along *= y;
                u = slope_at(0, along, square, at->norm2, at->s, at->radii[i], linear,
                             beta, &curvature);
            }
            /* Few branches: to foresee a random one wrongly costs as much as a row. */
            part = LARGER(up * u, -old * u);
            gap += part;
            if (!(part > 0)) { /* it rests at its bound */
                active[k] = i ^ -(ptrdiff_t)((u > above) | (-u > below));
                continue;
            }
            asks_up = LARGER(asks_up, u);
            asks_down = LARGER(asks_down, -u);
            if (looks)
                continue;
            if (noisy)
                step = maximiser(u, curvature, along, square, at->norm2, at->s,
                                 at->radii[i], linear, beta, -old, up);
            else
                step = u * inverse;
            step = SMALLER(step, up);
            step = LARGER(step, -old);
            if (step == 0)
                continue;
            new_alpha = old + step;
            alpha[i] = SMALLER(new_alpha, c);
            if (noisy) {
                rise += step * (linear - 0.5 * step * beta) + 0.5 * length * length;
                at->norm2 += step * (2 * along + step * square);
                if (!(at->norm2 > 0))
                    at->norm2 = 0;
                at->s += step * at->radii[i];
                if (!(at->s > 0))
                    at->s = 0;
                length = norm_of_w(at);
                rise -= 0.5 * length * length;
            } else {
                rise += step * (u - 0.5 * step * curvature);
            }
            step *= y;
            b += beta * step;
            balance += step;
            if (stored == SPARSE_32)
                NAMED(add_int32_t)(data + first, indices32 + first, size, step, d);
            else if (stored == SPARSE_64)
                NAMED(add_int64_t)(data + first, indices64 + first, size, step, d);
            else if (stored == CONTIGUOUS)
                for (ptrdiff_t p = 0; p < size; p++)
                    d[p] += step * x[p];
            else
                for (ptrdiff_t p = 0; p < size; p++)
                    d[p] += step * x[p * X->next_column];
        }
    }
    for (ptrdiff_t k = 0; k < n_active; k++)
        if (active[k] >= 0)
            active[kept++] = active[k];
    at->n_active = kept;
    at->b = b;
    at->balance = balance;
    at->below = asks_down;
    at->above = asks_up;
    at->gap = gap;
    at->rise = rise;
    at->entries = entries;
}

#define EPOCH(name, stored, noisy)                                                     \
    VERSIONS static void NAMED(name)(const NAMED(Matrix) *X, Ascent *at)               \
    {                                                                                  \
        NAMED(any_epoch)(X, at, stored, noisy);                                        \
    }
EPOCH(contiguous, CONTIGUOUS, 0)
EPOCH(strided, STRIDED, 0)
EPOCH(sparse_32, SPARSE_32, 0)
EPOCH(sparse_64, SPARSE_64, 0)
EPOCH(contiguous_noisy, CONTIGUOUS, 1)
EPOCH(strided_noisy, STRIDED, 1)
EPOCH(sparse_32_noisy, SPARSE_32, 1)
EPOCH(sparse_64_noisy, SPARSE_64, 1)
#undef EPOCH

static void NAMED(epoch)(const NAMED(Matrix) *X, Ascent *at, int stored, int noisy)
{
    static void (*const epochs[4][2])(const NAMED(Matrix) *, Ascent *) = {
        {NAMED(contiguous), NAMED(contiguous_noisy)},
        {NAMED(strided), NAMED(strided_noisy)},
        {NAMED(sparse_32), NAMED(sparse_32_noisy)},
        {NAMED(sparse_64), NAMED(sparse_64_noisy)},
    };
    epochs[stored][noisy](X, at);
}
