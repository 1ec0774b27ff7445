/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and static probes of this test itself, found by name in another process. */
#include <link.h>
#include <lzma.h>

#include "symbols/program_reader.h"
#include "unit/counted_children.h"
#include "unit/symbols/elf_image.h"
#include "unit/symbols/own_file.h"
#include "unit/temp_dir.h"
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

static __attribute__((used)) int (*choose(void))(int)
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
	/* Names that contain it, and no more than the limit. */
	f = find("n_to_fin");
	assert_true(f.n >= 1 && f.n <= PROGRAM_SUGGESTIONS_MAX);
	assert_string_equal(f.texts[f.n - 1][0], "function_to_find");
	assert_int_equal(find("e").n, PROGRAM_SUGGESTIONS_MAX);
	f = find("operator()");
	assert_true(f.n == 0 || f.items[0].kind == PROGRAM_SUGGESTION);
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

/* ---- files that this test makes ---- */

/* Writes the image, and frees it. */
static void image_save(struct image *f, const char *path, uid_t owner)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_int_equal(write(fd, f->bytes, f->len), f->len);
	assert_int_equal(fchown(fd, owner, (gid_t)-1), 0);
	close(fd);
	free(f);
}

/* A debug file with a function; *ret_crc is that of a link to it. */
static struct image *debug_image(const char *name, uint32_t *ret_crc)
{
	struct image *f = image_new(IMAGE_MAX);

	image_add_function(f, SHT_SYMTAB, name, 0x1010);
	image_end(f);
	*ret_crc = lzma_crc32(f->bytes, f->len, 0);
	return f;
}

/* Whether a stripped program of root has the names of the debug file with that path and owner. */
static bool has_debug_names(void *const *state, const char *place, uid_t owner, bool has_crc)
{
	const char *program = temp_dir_path(state, 0, "program");
	const char *path = temp_dir_path(state, 1, place);
	struct image *f = image_new(IMAGE_MAX);
	struct found found;
	bool is_stripped;
	uint32_t crc;

	image_save(debug_image("separate", &crc), path, owner);
	image_add_function(f, SHT_DYNSYM, "exported", 0x1000);
	image_add_link(f, "program.debug", crc + !has_crc);
	image_add_segment(f, PT_LOAD, PF_R | PF_X, 0)->p_filesz = 0x1010;
	image_end(f);
	image_save(f, program, getuid());
	start(program);
	is_stripped = reader.is_stripped;
	found = find(is_stripped ? "exported" : "separate");
	assert_int_equal(found.n, 1);
	assert_int_equal(found.items[0].kind, PROGRAM_FUNCTION);
	assert_int_equal(found.items[0].has_no_code, !is_stripped); /* it is behind the segment */
	program_reader_stop(&reader);
	unlink(path);
	return !is_stripped;
}

TEST_WITH(names_come_from_the_separate_debug_file, temp_dir_setup, temp_dir_teardown)
{
	assert_int_equal(mkdir(temp_dir_path(state, 0, ".debug"), 0755), 0);
	assert_true(has_debug_names(state, "program.debug", getuid(), true));
	assert_true(has_debug_names(state, ".debug/program.debug", getuid(), true));
	assert_false(has_debug_names(state, "program.debug", getuid(), false));
	assert_false(has_debug_names(state, "another.debug", getuid(), true));
	if (getuid() == 0) /* only root and the owner of the program name its functions */
		assert_false(has_debug_names(state, "program.debug", 4242, true));
	assert_int_equal(mkfifo(temp_dir_path(state, 0, "program.debug"), 0644), 0);
	assert_true(has_debug_names(state, ".debug/program.debug", getuid(), true));
}

/* A probe that waits for a semaphore which is nowhere never fires. */
TEST_WITH(a_probe_without_its_semaphore_is_left_out, temp_dir_setup, temp_dir_teardown)
{
	struct __attribute__((packed)) note {
		Elf64_Nhdr head;
		char owner[8];
		uint64_t words[3];
		char texts[8];
	} notes[2] = {{{8, 32, 3}, "stapsdt", {0x1000, 0, 0x2010}, "p\0in\0"},
		      {{8, 32, 3}, "stapsdt", {0x1000, 0, 0x9000}, "p\0out\0"}};
	const char *program = temp_dir_path(state, 0, "program");
	struct image *f = image_new(IMAGE_MAX);
	struct found found = {.n = 0};
	Elf64_Phdr *p;

	image_add(f, ".note.stapsdt", SHT_NOTE, notes, sizeof(notes));
	p = image_add_segment(f, PT_LOAD, PF_R | PF_W, 0x2000);
	p->p_offset = 0x1800;
	p->p_filesz = 8;
	p->p_memsz = 0x100; /* with .bss */
	image_end(f);
	image_save(f, program, getuid());
	start(program);
	assert_int_equal(program_reader_list_usdt(&reader, "p:*", keep, &found, &e), 0);
	assert_int_equal(found.n, 1);
	assert_string_equal(found.texts[0][1], "in");
	assert_int_equal(found.items[0].semaphore, 0x1810);
	assert_true(found.items[0].has_no_code);
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
	int fd = file_of("#!/bin/sh\n", 10);

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
	int fd = file_of(bytes, len);
	char path[64];

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
	size_t len;
	_cleanup_(freep) char *bytes = own_bytes(&len);

	for (int i = 0; i < 16; i++)
		try_bytes(bytes, len * (size_t)i / 16);
	srand(1);
	for (int i = 0; i < 16; i++) {
		char was[8];
		size_t at[8];

		/* Headers at the begin, section headers at the end. */
		for (int k = 0; k < 8; k++) {
			at[k] = (size_t)rand() % (k < 4 ? 1024 : len);
			at[k] = k < 2 ? len - 1 - at[k] % 2048 : at[k];
			was[k] = bytes[at[k]];
			bytes[at[k]] = (char)rand();
		}
		try_bytes(bytes, len);
		for (int k = 8; k-- > 0;)
			bytes[at[k]] = was[k];
	}
}
