/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: struct_sizes
 *
 * Passes options of each size that a program may have been compiled with: as a smaller struct of an
 * earlier version, and as a larger one of a later version. The struct ends where readable memory
 * ends. Prints the name of the first check that fails.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sonda/service.h>
#include <sonda/sonda.h>

#define LATER 32 /* bytes that a later version has behind its last member of today */

static unsigned char *end_of_memory; /* of two pages, the second of which cannot be read */

static void check(int ok, const char *what, size_t size)
{
	if (ok)
		return;
	fprintf(stderr, "%s, with a struct of %zu bytes\n", what, size);
	exit(1);
}

/* Returns a struct of `size` bytes with these first bytes; the rest is 0. */
static void *struct_of(size_t size, const void *bytes, size_t len)
{
	unsigned char *at = end_of_memory - size;

	memset(at, 0, size);
	memcpy(at, bytes, len < size ? len : size);
	memcpy(at, &size, sizeof(size));
	return at;
}

/* Calls fn with each size. Those below `least` lack a member that must be set. */
static void check_sizes(const char *name, size_t least, const void *bytes, size_t len,
			int (*fn)(const void *options))
{
	unsigned char *later;

	for (size_t size = sizeof(size_t); size <= len; size += sizeof(size_t))
		check(fn(struct_of(size, bytes, len)) == (size < least ? -EINVAL : 0), name, size);
	later = struct_of(len + LATER, bytes, len);
	check(fn(later) == 0, name, len + LATER);
	later[len + LATER - 1] = 1;
	check(fn(later) == -EINVAL, "an unknown member that is not 0 is refused", len + LATER);
	for (size_t size = 0; size < sizeof(size_t); size++) {
		memcpy(end_of_memory - sizeof(size), &size, sizeof(size));
		check(fn(end_of_memory - sizeof(size)) == -EINVAL, name, size);
	}
}

static int init(const void *options)
{
	int r = sonda_init(options);

	sonda_shutdown();
	return r;
}

static int add_backend(const void *options)
{
	const struct sonda_init_options none = {.size = sizeof(none),
						.backends = SONDA_BACKEND_NONE};
	struct sonda_backend *b = NULL;
	int r = sonda_init(&none);

	if (r == 0)
		r = sonda_backend_add(options, &b);
	sonda_backend_remove(b);
	sonda_shutdown();
	return r;
}

static int register_source(const void *options)
{
	static struct sonda_data_source ds;
	int r = sonda_data_source_register(&ds, options);

	sonda_data_source_unregister(&ds);
	return r;
}

static int start_service(const void *options)
{
	struct sonda_service *s = NULL;
	int r = sonda_service_start(options, &s);

	sonda_service_stop(s);
	return r;
}

int main(void)
{
	const struct sonda_init_options init_options = {.backends = SONDA_BACKEND_NONE};
	const struct sonda_backend_options backend = {.producer_socket = "/nonexistent"};
	const struct sonda_data_source_options source = {.name = "sonda.test.sizes"};
	const struct sonda_service_options service = {.log_to_stderr = 0};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) < 0)
		return 77;
	end_of_memory = pages + page;
	check_sizes("sonda_init", 0, &init_options, sizeof(init_options), init);
	check_sizes("sonda_backend_add", 0, &backend, sizeof(backend), add_backend);
	check_sizes("sonda_data_source_register",
		    offsetof(struct sonda_data_source_options, name) + sizeof(source.name), &source,
		    sizeof(source), register_source);
	check_sizes("sonda_service_start", 0, &service, sizeof(service), start_service);
	return 0;
}
