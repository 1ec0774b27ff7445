/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "analyze/store/store_image.h"
#include "analyze/store/table_defs.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/terminal/programs.h"

#define ENDING ".store"
/* A trace that was written more recently is not cached: a further write may leave the same time. */
#define SETTLED_NS INT64_C(2000000000)

/* Identifies a file and its contents. */
struct identity {
	uint64_t dev, ino, size;
	int64_t modified_ns, changed_ns;
};

struct cache_head {
	char magic[8];
	uint32_t crc; /* of the image */
	uint32_t head_crc; /* of this struct, with 0 here */
	uint64_t image_len;
	struct identity trace, program;
	uint64_t undecodable, not_unpacked, cut_off; /* of struct import_result */
	uint64_t config_at, config_len; /* place and length; config_len 0: none */
};

static const char magic[8] = "sondaS2";

static int64_t timespec_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static struct identity file_identity(const struct stat *st)
{
	return (struct identity){.dev = st->st_dev,
				 .ino = st->st_ino,
				 .size = (uint64_t)st->st_size,
				 .modified_ns = timespec_ns(&st->st_mtim),
				 .changed_ns = timespec_ns(&st->st_ctim)};
}

static bool is_same_file(const struct identity *a, const struct identity *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

static uint32_t cache_head_crc(const struct cache_head *h)
{
	struct cache_head copy = *h;

	copy.head_crc = 0;
	return (uint32_t)crc32_z(0, (const uint8_t *)&copy, sizeof(copy));
}

static bool identify_program(struct identity *ret)
{
	struct stat st;

	if (stat(OURSELVES, &st) < 0)
		return false;
	*ret = file_identity(&st);
	return true;
}

/* Returns true for a file or directory that belongs to this user, and that no other user may
 * access. */
static bool is_private_file(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & 077);
}

static bool is_worth_caching(const struct stat *st)
{
	const char *value = getenv(TRACE_CACHE_VARIABLE);

	return S_ISREG(st->st_mode) && (uint64_t)st->st_size >= TRACE_CACHE_MIN &&
	       !(value && !strcmp(value, "off"));
}

/* Opens the directory of the cache; `make`: creates it if it is missing. Returns a descriptor, or
 * -1. */
static int open_dir(bool make)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool has_cache = cache && *cache == '/';
	char parent[PATH_MAX], path[PATH_MAX];
	struct stat st;
	int fd;

	if (!has_cache && !(home && *home == '/'))
		return -1;
	if (has_cache ? snprintf(parent, sizeof(parent), "%s", cache) >= (int)sizeof(parent)
		      : fs_join(parent, sizeof(parent), home, ".cache") < 0)
		return -1;
	if (fs_join(path, sizeof(path), parent, "sonda") < 0)
		return -1;
	/* Root creates nothing in another user's directory, which $HOME may name under sudo(8). */
	if (make && stat(has_cache ? cache : home, &st) == 0 && st.st_uid == geteuid()) {
		mkdir(parent, 0700);
		mkdir(path, 0700);
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !is_private_file(&st)))
		closep(&fd);
	return fd;
}

static void format_cache_name(const struct identity *trace, char name[static 48])
{
	snprintf(name, 48, "%" PRIx64 "-%" PRIx64 ENDING, trace->dev, trace->ino);
}

/* ---- reading ---- */

struct mapped_cache {
	uint8_t *data;
	size_t len;
};

static bool map_cache(int fd, struct mapped_cache *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !is_private_file(&st) ||
	    st.st_size < (off_t)sizeof(struct cache_head))
		return false;
	ret->len = (size_t)st.st_size;
	ret->data = mmap(NULL, ret->len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	return ret->data != MAP_FAILED;
}

/* Returns true if the cache is of this trace and this program, and is complete. */
static bool check_cache(const struct mapped_cache *c, const struct stat *st, struct cache_head *ret)
{
	struct identity program, trace = file_identity(st);
	const uint8_t *image = c->data + sizeof(*ret);

	memcpy(ret, c->data, sizeof(*ret));
	return !memcmp(ret->magic, magic, sizeof(magic)) && ret->head_crc == cache_head_crc(ret) &&
	       is_same_file(&ret->trace, &trace) && identify_program(&program) &&
	       is_same_file(&ret->program, &program) && ret->image_len == c->len - sizeof(*ret) &&
	       ret->crc == (uint32_t)crc32_z(0, image, ret->image_len);
}

/* Fills the store from the image. On failure the store may be filled in part. */
static bool load_image(struct store *s, int fd, const struct mapped_cache *c,
		       const struct cache_head *h, struct import_result *ret)
{
	struct trace_bytes bytes = {.len = h->trace.size, .mapped = true};
	struct image_reader r = {.at = c->data + sizeof(*h), .left = h->image_len};
	const uint8_t *config;
	size_t left = 0;

	bytes.data = mmap(NULL, bytes.len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes.data == MAP_FAILED || store_keep_bytes(s, bytes) < 0 ||
	    store_read_image(s, &r) < 0)
		return false;
	config = h->config_len ? store_bytes_at(s, h->config_at, &left) : NULL;
	if (left < h->config_len)
		return false;
	*ret = (struct import_result){.cut_off = h->cut_off != 0,
				      .undecodable = h->undecodable,
				      .not_unpacked = h->not_unpacked,
				      .config = config,
				      .config_len = h->config_len};
	return true;
}

bool trace_cache_load(struct store *s, int fd, const struct stat *st, struct import_result *ret)
{
	_cleanup_(closep) int dir = is_worth_caching(st) ? open_dir(false) : -1, file = -1;
	struct identity trace = file_identity(st);
	struct mapped_cache c;
	struct cache_head h;
	uint64_t limit = s->budget.limit;
	char name[48];
	bool good;

	format_cache_name(&trace, name);
	if (dir >= 0)
		file = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file < 0 || !map_cache(file, &c))
		return false;
	good = check_cache(&c, st, &h);
	if (good && !load_image(s, fd, &c, &h, ret)) {
		store_deinit(s);
		store_init(s, limit);
		good = false;
	}
	munmap(c.data, c.len);
	if (good)
		futimens(file, NULL);
	else
		unlinkat(dir, name, 0);
	return good;
}

/* ---- writing ---- */

struct cache_file {
	char name[NAME_MAX + 1];
	int64_t used_ns;
	uint64_t size;
};

static int compare_last_use(const void *a, const void *b)
{
	const struct cache_file *x = a, *y = b;

	return x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

/* Removes the least recently used files until the rest and `bytes` more fit into
 * TRACE_CACHE_BYTES. */
static void evict_old_caches(int dir, uint64_t bytes)
{
	struct cache_file *files = NULL;
	size_t n = 0, cap = 0;
	uint64_t used = bytes;
	struct dirent *entry;
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	while (d && (entry = readdir(d))) {
		struct stat st;

		if (entry->d_name[0] == '.' ||
		    fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    array_reserve(&files, &cap, n + 1, sizeof(*files)))
			continue;
		snprintf(files[n].name, sizeof(files[n].name), "%s", entry->d_name);
		files[n].used_ns = timespec_ns(&st.st_mtim);
		files[n++].size = (uint64_t)st.st_size;
		used += (uint64_t)st.st_size;
	}
	if (d)
		closedir(d);
	else
		closep(&fd);
	if (n)
		qsort(files, n, sizeof(*files), compare_last_use);
	for (size_t i = 0; i < n && used > TRACE_CACHE_BYTES; i++)
		if (unlinkat(dir, files[i].name, 0) == 0)
			used -= files[i].size;
	free(files);
}

/* Writes head and image, and closes the file. Returns false if a write failed, or if the file is
 * larger than a quarter of TRACE_CACHE_BYTES: then the caller removes it. */
static bool write_cache(FILE *to, const struct store *s, struct cache_head *h)
{
	struct image_writer w = {.to = to};

	fwrite(h, sizeof(*h), 1, to);
	store_write_image(s, &w);
	h->crc = w.crc;
	h->image_len = w.len;
	h->head_crc = cache_head_crc(h);
	w.failed |= fseeko(to, 0, SEEK_SET) < 0 || fwrite(h, sizeof(*h), 1, to) != 1;
	w.failed |= fclose(to) != 0;
	return !w.failed && sizeof(*h) + h->image_len <= TRACE_CACHE_BYTES / 4;
}

/* Returns true if the trace is the same as before its import, and was not written within
 * SETTLED_NS. */
static bool is_unchanged(int fd, const struct identity *trace)
{
	struct timespec now;
	struct stat st;
	struct identity is;

	if (fstat(fd, &st) < 0 || clock_gettime(CLOCK_REALTIME, &now) < 0)
		return false;
	is = file_identity(&st);
	return is_same_file(&is, trace) && timespec_ns(&now) - is.modified_ns > SETTLED_NS;
}

void trace_cache_save(const struct store *s, int fd, const struct stat *st,
		      const struct import_result *result)
{
	struct cache_head h = {.trace = file_identity(st),
			       .undecodable = result->undecodable,
			       .not_unpacked = result->not_unpacked,
			       .cut_off = result->cut_off};
	_cleanup_(closep) int dir = -1;
	char name[48], unfinished[64];
	FILE *to;
	int file;

	memcpy(h.magic, magic, sizeof(magic));
	if (!is_worth_caching(st) || !store_can_be_image(s) || !is_unchanged(fd, &h.trace) ||
	    !identify_program(&h.program))
		return;
	if (result->config && result->config_len) {
		h.config_at = store_find_place(s, result->config);
		h.config_len = result->config_len;
	}
	dir = open_dir(true);
	if (dir < 0)
		return;
	format_cache_name(&h.trace, name);
	snprintf(unfinished, sizeof(unfinished), "%s.%d", name, (int)getpid());
	file = openat(dir, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	to = file >= 0 ? fdopen(file, "w") : NULL;
	if (!to) {
		closep(&file);
		return;
	}
	setvbuf(to, NULL, _IOFBF, 1u << 20);
	if (write_cache(to, s, &h)) {
		evict_old_caches(dir, 0);
		renameat(dir, unfinished, dir, name);
	} else {
		unlinkat(dir, unfinished, 0);
	}
}
