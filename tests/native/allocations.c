/* Lets one allocation of a library fail. Loaded with LD_PRELOAD; a test says which library and which allocation. Other
 * code of the process, Python itself above all, gets its memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static uintptr_t from, to;
static atomic_long asked, fails_at;

/* The code of the library lies between these addresses. */
void infeed_watch(uintptr_t start, uintptr_t end) {
    from = start;
    to = end;
}

/* Counts anew, and lets the nth allocation from now on fail; 0: none. */
void infeed_fail(long nth) {
    atomic_store(&asked, 0);
    atomic_store(&fails_at, nth);
}

long infeed_asked(void) {
    return atomic_load(&asked);
}

static int fails(void *caller) {
    uintptr_t at = (uintptr_t)caller;
    if (at < from || at >= to) return 0;
    if (atomic_fetch_add(&asked, 1) + 1 != atomic_load(&fails_at)) return 0;
    errno = ENOMEM;
    return 1;
}

#define FAILS fails(__builtin_return_address(0))

void *malloc(size_t n) {
    return FAILS ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    return FAILS ? NULL : __libc_calloc(n, size);
}

void *realloc(void *part, size_t n) {
    return FAILS ? NULL : __libc_realloc(part, n);
}

void *memalign(size_t align, size_t n) {
    return FAILS ? NULL : __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n) {
    return FAILS ? NULL : __libc_memalign(align, n);
}

int posix_memalign(void **part, size_t align, size_t n) {
    if (FAILS) return ENOMEM;
    *part = __libc_memalign(align, n);
    return *part ? 0 : ENOMEM;
}
