/* Faults of the system under read and pread, for files whose path has FAULTY in it. Loaded with LD_PRELOAD.
 *
 * FAULT names the fault, RATE how often it comes (0 to 1). The choice is made by a counter and not by time, so that a run
 * can be repeated. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef ssize_t (*pread_fn)(int, void *, size_t, off_t);
typedef ssize_t (*read_fn)(int, void *, size_t);

static atomic_uint turn;

static int is_meant(int fd) {
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    return strstr(path, "FAULTY") != NULL;
}

/* Whether this call fails. Scrambled, so that neighbouring calls do not fail together. */
static int is_due(unsigned *draw) {
    const char *rate = getenv("RATE");
    unsigned x = atomic_fetch_add(&turn, 1) * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    *draw = x;
    return (x & 0xffff) / 65536.0 < (rate ? atof(rate) : 0.0);
}

/* 1: fails with errno set; 2: reads at most *n bytes; 3: says that the file ended; 0: no fault. */
static int fault(int fd, size_t *n) {
    const char *name = getenv("FAULT");
    unsigned draw;
    if (!name || *n == 0 || !is_meant(fd) || !is_due(&draw)) return 0;
    if (!strcmp(name, "SHORT")) {
        *n = 1 + draw % *n;
        return 2;
    }
    if (!strcmp(name, "END")) return 3;
    if (!strcmp(name, "HANG")) {
        sleep(3600);
        return 0;
    }
    errno = !strcmp(name, "EINTR") ? EINTR : !strcmp(name, "EAGAIN") ? EAGAIN : !strcmp(name, "ESTALE") ? ESTALE : EIO;
    return 1;
}

ssize_t pread64(int fd, void *to, size_t n, off_t at) {
    static pread_fn real;
    if (!real) real = (pread_fn)dlsym(RTLD_NEXT, "pread64");
    int kind = fault(fd, &n);
    return kind == 1 ? -1 : kind == 3 ? 0 : real(fd, to, n, at);
}

ssize_t pread(int fd, void *to, size_t n, off_t at) { return pread64(fd, to, n, at); }

ssize_t read(int fd, void *to, size_t n) {
    static read_fn real;
    if (!real) real = (read_fn)dlsym(RTLD_NEXT, "read");
    int kind = fault(fd, &n);
    return kind == 1 ? -1 : kind == 3 ? 0 : real(fd, to, n);
}
