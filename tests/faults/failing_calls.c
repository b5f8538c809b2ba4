/* Lets the n-th system call on files below one folder fail, or kills the process at it.

   Loaded with LD_PRELOAD, so that calls of every library are seen, not Python's alone. The counter
   lies in the file that FAULT_MEMORY names, shared with workers: their calls are counted with their
   parent's. Armed by fault_arm(); fault_count() says how many calls were seen since, and
   fault_site() where the n-th of them came from: the library that called, and the place in Python
   where this thread was, as the function given to fault_tell_place() finds it.

   fault_record() has every call that changes something written to a file, with the bytes of writes:
   power_loss.py makes of it what a disk holds when the power goes at any of them.
   fault_allocate() lets the n-th allocation fail. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define SITES 8192

struct site {
    char call[16];
    char path[232];
    char library[64];
    char place[200];
};

struct fault {
    char root[PATH_MAX];
    size_t length;
    long at;             /* which call; 0 is none */
    int error;           /* an errno; 0 is SIGKILL; -1 is the usual one of the call */
    int reading;         /* whether opens for reading are counted, or all other calls */
    pid_t group;         /* whose processes are killed, besides the one that makes the call */
    char what[PATH_MAX + 32];
    _Atomic long count;
    _Atomic long allocations;
    struct site sites[SITES];
};

static struct fault *fault;
static void (*tell_place)(long);
/* The path that was looked at last in this thread. */
static __thread char seen[2 * PATH_MAX];

__attribute__((constructor)) static void share(void) {
    const char *name = getenv("FAULT_MEMORY");
    int file = name ? (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT, 0600) : -1;
    if (name && (file < 0 || syscall(SYS_ftruncate, file, sizeof *fault) != 0)) abort();
    int how = MAP_SHARED | (name ? 0 : MAP_ANONYMOUS);
    fault = mmap(NULL, sizeof *fault, PROT_READ | PROT_WRITE, how, file, 0);
    if (fault == MAP_FAILED) abort();
    if (name) close(file);
}

void fault_tell_place(void (*tell)(long)) { tell_place = tell; }

/* The place in Python of the call that is being told; called by what fault_tell_place() was given. */
void fault_set_place(long now, const char *place) {
    snprintf(fault->sites[now - 1].place, sizeof fault->sites[0].place, "%s", place);
}

const struct site *fault_site(long at) {
    return at >= 1 && at <= SITES && at <= atomic_load(&fault->count) ? &fault->sites[at - 1] : NULL;
}

/* A thread that Python knows can be asked where it is; it may be without Python's lock just now. */
static int is_of_python(void) {
    static void *(*state)(void);
    if (!state) state = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    return state && state() != NULL;
}

static void note(long now, const char *call, const void *caller) {
    if (now > SITES) return;
    struct site *site = &fault->sites[now - 1];
    Dl_info known;
    const char *library = dladdr(caller, &known) && known.dli_fname ? known.dli_fname : "?";
    const char *slash = strrchr(library, '/');
    snprintf(site->call, sizeof site->call, "%s", call);
    snprintf(site->path, sizeof site->path, "%s", seen + fault->length);
    snprintf(site->library, sizeof site->library, "%s", slash ? slash + 1 : library);
    site->place[0] = 0;
    if (tell_place && is_of_python()) tell_place(now);
}

void fault_arm(const char *root, long at, int error, int reading) {
    snprintf(fault->root, sizeof fault->root, "%s", root);
    fault->length = strlen(fault->root);
    fault->at = at;
    fault->error = error;
    fault->reading = reading;
    fault->group = getpgrp();
    fault->what[0] = 0;
    atomic_store(&fault->count, 0);
}

void fault_disarm(void) { fault->length = 0; }
long fault_count(void) { return atomic_load(&fault->count); }
const char *fault_what(void) { return fault->what; }

static int below(const char *path) {
    if (path != seen) snprintf(seen, sizeof seen, "%s", path);
    return strncmp(path, fault->root, fault->length) == 0
        && (path[fault->length] == '/' || path[fault->length] == 0);
}

static int path_counts(int folder, const char *path) {
    char *whole = seen, link[64];
    if (!fault || !fault->length || !path) return 0;
    if (path[0] == '/') return below(path);
    if (folder == AT_FDCWD) {
        if (!getcwd(whole, PATH_MAX)) return 0;
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t size = readlink(link, whole, PATH_MAX - 1);
        if (size < 0) return 0;
        whole[size] = 0;
    }
    strncat(whole, "/", sizeof seen - strlen(whole) - 1);
    strncat(whole, path, sizeof seen - strlen(whole) - 1);
    return below(whole);
}

static int file_counts(int file) {
    char link[64], path[PATH_MAX];
    if (!fault || !fault->length) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return below(path);
}

/* 1 when this call shall fail; errno is set. A kill is of the command, whichever worker calls. */
static int fails_at(int reading, const char *call, int usual, const void *caller) {
    if (reading != fault->reading) return 0;
    long now = atomic_fetch_add(&fault->count, 1) + 1;
    if (!fault->at) note(now, call, caller);
    if (now != fault->at) return 0;
    snprintf(fault->what, sizeof fault->what, "%.16s %.*s", call, PATH_MAX, seen);
    if (fault->error == 0) {
        kill(-fault->group, SIGKILL);
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    errno = fault->error > 0 ? fault->error : usual;
    return 1;
}

/* The record: a line "KIND INODE OFFSET SIZE PATH<tab>PATH", then SIZE bytes if it is a write. */
static int record_to = -1;
static pthread_mutex_t record_turn = PTHREAD_MUTEX_INITIALIZER;

void fault_record(const char *name) {
    record_to = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (record_to < 0) abort();
}

static void put(const void *from, size_t size) {
    if ((size_t)syscall(SYS_write, record_to, from, size) != size) abort();
}

static void record(char kind, long inode, long offset, long size, const char *one, const char *two,
                   const void *bytes) {
    static char line[2 * PATH_MAX + 128];
    if (record_to < 0) return;
    int error = errno;
    pthread_mutex_lock(&record_turn);
    put(line, (size_t)snprintf(line, sizeof line, "%c %ld %ld %ld %s\t%s\n", kind, inode, offset, size,
                               one, two));
    if (bytes) put(bytes, (size_t)size);
    pthread_mutex_unlock(&record_turn);
    errno = error;
}

/* What was done to an opened file; the bytes that a write left there are read back. */
static void record_file(char kind, int file, long offset, long size) {
    char link[64], path[PATH_MAX];
    struct stat about;
    if (record_to < 0 || !file_counts(file)) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0 || fstat(file, &about) != 0) return;
    path[length] = 0;
    if (kind == 'C') size = about.st_size;
    if (kind == 'W' && offset < 0) offset = lseek(file, 0, SEEK_CUR) - size;
    char *bytes = NULL;
    if (kind == 'W') {
        int again = (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY);
        bytes = malloc((size_t)size + 1);
        if (again < 0 || syscall(SYS_pread64, again, bytes, size, offset) != size) abort();
        syscall(SYS_close, again);
    }
    record(kind, (long)about.st_ino, offset, size, path, "", bytes);
    free(bytes);
}

#define CALLER __builtin_return_address(0)
#define fails_if(reading, call, path, usual) fails_at(reading, call, usual, CALLER)
#define fails(call, path, usual) fails_at(0, call, usual, CALLER)

static int reads(int flags) {
    return (flags & O_ACCMODE) == O_RDONLY && !(flags & O_CREAT);
}

static int opened(int file, int flags) {
    if (file >= 0 && (flags & (O_CREAT | O_TRUNC))) record_file('C', file, 0, 0);
    return file;
}

static ssize_t written(int file, ssize_t size, long offset) {
    if (size > 0) record_file('W', file, offset, size);
    return size;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define MODE_OF(flags) \
    mode_t mode = 0; \
    if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) { \
        va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); \
    }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        MODE_OF(flags) \
        REAL(int, #name, const char *, int, ...); \
        if (path_counts(AT_FDCWD, path) && fails_if(reads(flags), "open", path, EACCES)) return -1; \
        return opened(real(path, flags, mode), flags); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        MODE_OF(flags) \
        REAL(int, #name, int, const char *, int, ...); \
        if (path_counts(folder, path) && fails_if(reads(flags), "open", path, EACCES)) return -1; \
        return opened(real(folder, path, flags, mode), flags); \
    }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name) \
    FILE *name(const char *path, const char *how) { \
        REAL(FILE *, #name, const char *, const char *); \
        int reading = how[0] == 'r' && !strchr(how, '+'); \
        if (path_counts(AT_FDCWD, path) && fails_if(reading, "fopen", path, EACCES)) return NULL; \
        FILE *file = real(path, how); \
        if (file && !reading) opened(fileno(file), O_CREAT); \
        return file; \
    }
FOPEN(fopen)
FOPEN(fopen64)

ssize_t write(int file, const void *from, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if (file_counts(file) && fails("write", NULL, ENOSPC)) return -1;
    return written(file, real(file, from, size), -1);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    if (file_counts(file) && fails("writev", NULL, ENOSPC)) return -1;
    return written(file, real(file, parts, count), -1);
}

#define PWRITE(name, offset_type) \
    ssize_t name(int file, const void *from, size_t size, offset_type at) { \
        REAL(ssize_t, #name, int, const void *, size_t, offset_type); \
        if (file_counts(file) && fails("pwrite", NULL, ENOSPC)) return -1; \
        return written(file, real(file, from, size, at), at); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define ON_FILE(name, usual) \
    int name(int file) { \
        REAL(int, #name, int); \
        int failed = file_counts(file) && fails(#name, NULL, usual), error = errno; \
        int done = real(file); \
        if (done == 0 && !failed) record_file('S', file, 0, 0); \
        errno = failed ? error : errno; \
        return failed ? -1 : done; \
    }
/* A sync that fails may have written all the same: this one has. */
ON_FILE(fsync, EIO)
ON_FILE(fdatasync, EIO)

#define TRUNCATE(name, size_type) \
    int name(int file, size_type size) { \
        REAL(int, #name, int, size_type); \
        if (file_counts(file) && fails("ftruncate", NULL, EIO)) return -1; \
        int done = real(file, size); \
        if (done == 0) record_file('T', file, 0, size); \
        return done; \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

/* A name that is made or goes: the record has it in full, whatever folder it is seen from. */
static int named(char kind, int done, int one_folder, const char *one, int two_folder,
                 const char *two) {
    char first[2 * PATH_MAX] = "";
    if (done != 0 || record_to < 0) return done;
    if (one) {
        path_counts(one_folder, one);
        snprintf(first, sizeof first, "%s", one[0] == '/' ? one : seen);
    }
    if (path_counts(two_folder, two)) record(kind, 0, 0, 0, first, two[0] == '/' ? two : seen, NULL);
    return done;
}

int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    if (path_counts(AT_FDCWD, to) && fails("rename", to, EIO)) return -1;
    return named('R', real(from, to), AT_FDCWD, from, AT_FDCWD, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    REAL(int, "renameat", int, const char *, int, const char *);
    if (path_counts(to_folder, to) && fails("renameat", to, EIO)) return -1;
    return named('R', real(from_folder, from, to_folder, to), from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    REAL(int, "renameat2", int, const char *, int, const char *, unsigned);
    if (path_counts(to_folder, to) && fails("renameat2", to, EIO)) return -1;
    int done = real(from_folder, from, to_folder, to, flags);
    return named(flags ? 'X' : 'R', done, from_folder, from, to_folder, to);
}

int link(const char *from, const char *to) {
    REAL(int, "link", const char *, const char *);
    if (path_counts(AT_FDCWD, to) && fails("link", to, EIO)) return -1;
    return named('L', real(from, to), AT_FDCWD, from, AT_FDCWD, to);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    REAL(int, "linkat", int, const char *, int, const char *, int);
    if (path_counts(to_folder, to) && fails("linkat", to, EIO)) return -1;
    return named('L', real(from_folder, from, to_folder, to, flags), from_folder, from, to_folder, to);
}

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    if (path_counts(AT_FDCWD, path) && fails("unlink", path, EACCES)) return -1;
    return named('U', real(path), 0, NULL, AT_FDCWD, path);
}

int remove(const char *path) {
    REAL(int, "remove", const char *);
    if (path_counts(AT_FDCWD, path) && fails("remove", path, EACCES)) return -1;
    return named('U', real(path), 0, NULL, AT_FDCWD, path);
}

int unlinkat(int folder, const char *path, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    if (path_counts(folder, path) && fails("unlinkat", path, EACCES)) return -1;
    return named('U', real(folder, path, flags), 0, NULL, folder, path);
}

int rmdir(const char *path) {
    REAL(int, "rmdir", const char *);
    if (path_counts(AT_FDCWD, path) && fails("rmdir", path, EACCES)) return -1;
    return named('U', real(path), 0, NULL, AT_FDCWD, path);
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    if (path_counts(AT_FDCWD, path) && fails("mkdir", path, ENOSPC)) return -1;
    return named('M', real(path, mode), 0, NULL, AT_FDCWD, path);
}

#define SENDFILE(name, offset_type) \
    ssize_t name(int to, int from, offset_type *at, size_t size) { \
        REAL(ssize_t, #name, int, int, offset_type *, size_t); \
        if (file_counts(to) && fails("sendfile", NULL, ENOSPC)) return -1; \
        return written(to, real(to, from, at, size), -1); \
    }
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t size,
                        unsigned flags) {
    REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
    if (file_counts(to) && fails("copy_file_range", NULL, ENOSPC)) return -1;
    ssize_t done = real(from, from_at, to, to_at, size, flags);
    return written(to, done, to_at ? (long)*to_at - done : -1);
}

/* Allocations: of at least so many bytes, counted since fault_allocate(); one of them fails. */
static long allocation_at;
static size_t allocation_least;
static int allocating;

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void fault_allocate(long at, size_t least) {
    allocation_at = at;
    allocation_least = least;
    atomic_store(&fault->allocations, 0);
    allocating = 1;
}

long fault_allocations(void) { return atomic_load(&fault->allocations); }

static int lacks(size_t size) {
    if (!allocating || size < allocation_least) return 0;
    if (atomic_fetch_add(&fault->allocations, 1) + 1 != allocation_at) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return lacks(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t many, size_t size) {
    return lacks(many * size) ? NULL : __libc_calloc(many, size);
}
void *realloc(void *old, size_t size) { return lacks(size) ? NULL : __libc_realloc(old, size); }
void *aligned_alloc(size_t to, size_t size) { return lacks(size) ? NULL : __libc_memalign(to, size); }
int posix_memalign(void **into, size_t to, size_t size) {
    void *made = lacks(size) ? NULL : __libc_memalign(to, size);
    if (!made) return ENOMEM;
    *into = made;
    return 0;
}

void *mmap(void *where, size_t size, int access, int how, int file, off_t at) {
    REAL(void *, "mmap", void *, size_t, int, int, int, off_t);
    if ((how & MAP_ANONYMOUS) && lacks(size)) return MAP_FAILED;
    return real(where, size, access, how, file, at);
}
