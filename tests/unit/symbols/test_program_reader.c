/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and static probes of this test itself, found by name in another process. */
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include "symbols/program_reader.h"
#include "unit/test.h"
#include "usdt_note.h"

__attribute__((noinline, used)) static int function_to_find(int x)
{
	__asm__ volatile(USDT_NOTE("placed", "-4@%%edi 8@$5")::: "memory");
	return x + 1;
}

/* Names as a C++ compiler makes them. */
__attribute__((noinline, used)) static int load(int x) __asm__("_ZN2ns6Loader4loadEPKci");
static int load(int x)
{
	return x + 2;
}

__attribute__((noinline, used)) static int over_int(int x) __asm__("_ZN2ns4overEi");
static int over_int(int x)
{
	return x + 3;
}

__attribute__((noinline, used)) static int over_char(int x) __asm__("_ZN2ns4overEc");
static int over_char(int x)
{
	return x + 4;
}

static int chosen(int x)
{
	return x;
}

static int (*choose(void))(int)
{
	return chosen;
}

__attribute__((used)) int chosen_at_load(int x) __attribute__((ifunc("choose")));
extern int alias_of_function(int x) __attribute__((alias("function_to_find")));

/* The linker keeps what a test refers to. */
static void *volatile kept[] = {(void *)function_to_find, (void *)load,
				(void *)over_int,	  (void *)over_char,
				(void *)chosen_at_load,	  (void *)alias_of_function};

/* The offset in the file of code at an address in memory. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uint64_t *at = ctx, address = *at - info->dlpi_addr;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
		    address < p->p_vaddr + p->p_memsz)
			*at = address - p->p_vaddr + p->p_offset;
	}
	return 1; /* the program is the first one */
}

static uint64_t offset_of(void *code)
{
	uint64_t at = (uint64_t)(uintptr_t)code;

	dl_iterate_phdr(find_offset, &at);
	return at;
}

struct found {
	size_t n;
	struct program_item items[8];
	char texts[8][3][256];
};

static int keep(void *ctx, const struct program_item *item)
{
	struct found *f = ctx;

	assert_true(f->n < ARRAY_SIZE(f->items));
	f->items[f->n] = *item;
	for (int i = 0; i < 3; i++)
		snprintf(f->texts[f->n][i], 256, "%s", item->texts[i]);
	f->n++;
	return 0;
}

static struct program_reader reader;
static struct err_text e;

static struct found find(const char *name)
{
	struct found f = {.n = 0};

	assert_int_equal(program_reader_find_function(&reader, name, keep, &f, &e), 0);
	return f;
}

static void start(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		assert_non_null(kept[i]);
	if (program_reader_start(path, &reader, &e) != 0)
		fail_msg("%s", e.text);
}

TEST(functions_are_found_by_name)
{
	struct found f;

	start("/proc/self/exe");
	f = find("function_to_find");
	assert_int_equal(f.n, 1);
	assert_int_equal(f.items[0].kind, PROGRAM_FUNCTION);
	assert_true(f.items[0].offset == offset_of((void *)function_to_find));
	assert_false(f.items[0].has_no_code || f.items[0].is_chosen_at_load);
	f = find("alias_of_function");
	assert_true(f.n == 1 && f.items[0].offset == offset_of((void *)function_to_find));
	f = find("chosen_at_load");
	assert_true(f.n == 1 && f.items[0].is_chosen_at_load);
	program_reader_stop(&reader);
}

TEST(functions_of_cplusplus_are_found_by_both_names)
{
	struct found f;

	start("/proc/self/exe");
	f = find("ns::Loader::load");
	assert_true(f.n == 1 && f.items[0].offset == offset_of((void *)load));
	assert_string_equal(f.texts[0][0], "_ZN2ns6Loader4loadEPKci");
	assert_string_equal(f.texts[0][1], "ns::Loader::load(char const*, int)");
	f = find("_ZN2ns6Loader4loadEPKci");
	assert_true(f.n == 1 && f.items[0].offset == offset_of((void *)load));
	assert_int_equal(find("ns::over").n, 2);
	f = find("ns::over(char)");
	assert_true(f.n == 1 && f.items[0].offset == offset_of((void *)over_char));
	program_reader_stop(&reader);
}

TEST(a_name_that_no_function_has_gets_suggestions)
{
	struct found f;

	start("/proc/self/exe");
	f = find("function_to_fnid");
	assert_true(f.n >= 1 && f.items[0].kind == PROGRAM_SUGGESTION);
	assert_string_equal(f.texts[0][0], "function_to_find");
	f = find("Loader::load");
	assert_true(f.n >= 1 && f.items[0].kind == PROGRAM_SUGGESTION);
	assert_string_equal(f.texts[0][0], "ns::Loader::load");
	assert_int_equal(find("zzzzzzzzzzzzzzzz").n, 0);
	program_reader_stop(&reader);
}

static int stop_at_once(void *ctx, const struct program_item *item)
{
	++*(int *)ctx;
	return -ECANCELED;
}

TEST(functions_are_listed_by_pattern)
{
	struct found f = {.n = 0};
	int n = 0;

	start("/proc/self/exe");
	assert_int_equal(program_reader_list_functions(&reader, "ns::*", keep, &f, &e), 0);
	assert_int_equal(f.n, 3);
	/* After a stop the next request has its own answers. */
	assert_int_equal(program_reader_list_functions(&reader, "*", stop_at_once, &n, &e),
			 -ECANCELED);
	assert_int_equal(n, 1);
	assert_int_equal(find("function_to_find").n, 1);
	program_reader_stop(&reader);
}

TEST(static_probes_are_listed)
{
	struct found f = {.n = 0};

	start("/proc/self/exe");
	assert_int_equal(program_reader_list_usdt(&reader, "sonda_test:*", keep, &f, &e), 0);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.items[0].kind, PROGRAM_USDT);
	assert_string_equal(f.texts[0][0], "sonda_test");
	assert_string_equal(f.texts[0][1], "placed");
	assert_string_equal(f.texts[0][2], "-4@%edi 8@$5");
	assert_true(f.items[0].offset >= offset_of((void *)function_to_find) &&
		    f.items[0].offset < offset_of((void *)function_to_find) + 64);
	assert_true(f.items[0].semaphore == offset_of(&usdt_semaphore));
	f.n = 0;
	assert_int_equal(program_reader_list_usdt(&reader, "*:nosuch", keep, &f, &e), 0);
	assert_int_equal(f.n, 0);
	program_reader_stop(&reader);
}

static void refused(const char *path, int result, const char *why)
{
	assert_int_equal(program_reader_start(path, &reader, &e), result);
	if (!strstr(e.text, why))
		fail_msg("%s", e.text);
}

TEST(what_is_no_program_is_refused)
{
	char path[64];
	int fd = memfd_create("text", 0);

	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	refused(path, -ENOEXEC, "not an ELF file");
	close(fd);
	refused("/nonexistent", -ENOENT, "No such file");
	refused("/", -EINVAL, "not a file");
	refused("/dev/null", -EINVAL, "not a file");
	assert_int_equal(program_reader_find_function(&reader, "x", keep, NULL, NULL) < 0, 1);
}

/* Cut and spoiled copies of this test: the reader answers or ends, and says so. */
static void try_bytes(const char *bytes, size_t len)
{
	struct found f = {.n = 0};
	int fd = memfd_create("elf", 0);
	char path[64];

	assert_int_equal(write(fd, bytes, len), len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (program_reader_start(path, &reader, &e) == 0) {
		(void)program_reader_find_function(&reader, "function_to_find", keep, &f, &e);
		f.n = 0;
		(void)program_reader_list_usdt(&reader, "sonda_test:*", keep, &f, &e);
		program_reader_stop(&reader);
	} else {
		assert_true(e.text[0] != 0);
	}
	close(fd);
}

TEST(hostile_files)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	char *bytes;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	bytes = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	for (int i = 0; i < 16; i++)
		try_bytes(bytes, (size_t)st.st_size * (size_t)i / 16);
	srand(1);
	for (int i = 0; i < 16; i++) {
		char was[8];
		size_t at[8];

		/* Headers at the begin, section headers at the end. */
		for (int k = 0; k < 8; k++) {
			at[k] = (size_t)rand() % (k < 4 ? 1024 : (size_t)st.st_size);
			at[k] = k < 2 ? (size_t)st.st_size - 1 - at[k] % 2048 : at[k];
			was[k] = bytes[at[k]];
			bytes[at[k]] = (char)rand();
		}
		try_bytes(bytes, (size_t)st.st_size);
		for (int k = 8; k-- > 0;)
			bytes[at[k]] = was[k];
	}
	free(bytes);
}
