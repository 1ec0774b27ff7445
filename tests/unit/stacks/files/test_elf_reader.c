/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that parses files: requests and descriptors in, answers out. User 4242 makes files
 * that fill its memory.
 */
#include <dlfcn.h>
#include <lzma.h>
#include <sys/socket.h>

#include "stacks/files/elf_reader.h"
#include "stacks/files/file_messages.h"
#include "unit/counted_children.h"
#include "unit/symbols/elf_image.h"
#include "unit/symbols/own_file.h"

#define STRANGER 4242
#define NAME_BYTES 1000

static struct file_answer answer;

static void serve(int requests, int answers)
{
	elf_reader_run(answers, requests, NULL);
}

static int setup(void **state)
{
	return child_start(serve);
}

static void ask_only(const struct file_request *q, size_t len, int fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS}};
	struct iovec part = {(void *)q, len};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control.space);
	}
	assert_int_equal(sendmsg(child.requests, &m, 0), len);
}

static void ask(const struct file_request *q, size_t len, int fd)
{
	ask_only(q, len, fd);
	assert_true(recv(child.answers, &answer, sizeof(answer), 0) >= (ssize_t)FILE_ANSWER_HEAD);
}

/* The name number i of the answer. */
static const char *name_in_answer(unsigned i)
{
	static char name[FILE_ANSWER_MAX];
	size_t at = 0;
	uint16_t len;

	for (unsigned k = 0;; k++, at += len) {
		assert_true(k < answer.n && at + sizeof(len) <= answer.n_bytes);
		memcpy(&len, answer.body + at, sizeof(len));
		at += sizeof(len);
		if (k == i)
			break;
	}
	memcpy(name, answer.body + at, len);
	name[len] = '\0';
	return name;
}

/* The name of what a file, or code of a process, has at an address. */
static const char *name_of(uint32_t file, uint64_t address)
{
	const struct file_request q = {
		.kind = FILE_REQUEST_NAMES, .file = file, .n = 1, .addresses = {address}};

	ask(&q, FILE_REQUEST_HEAD + sizeof(address), -1);
	return answer.result ? "stale" : name_in_answer(0);
}

/* A request without an answer. */
static void tell(uint32_t kind, uint32_t file, int fd)
{
	const struct file_request q = {.kind = kind, .file = file};

	ask_only(&q, FILE_REQUEST_HEAD, fd);
}

/* Returns the result, and the number of the file in the answer. */
static int32_t read_file(int fd)
{
	const struct file_request q = {.kind = FILE_REQUEST_ELF};

	ask(&q, FILE_REQUEST_HEAD, fd);
	return answer.result;
}

__attribute__((noinline, used)) static int function_of_test(int x)
{
	return x + 1;
}

/* n functions, which all have one long name. */
static int file_of_stranger(size_t n)
{
	size_t symbols = sizeof(Elf64_Ehdr), names = symbols + n * sizeof(Elf64_Sym),
	       sections = names + NAME_BYTES + 8, len = sections + 3 * sizeof(Elf64_Shdr);
	int fd = memfd_create("stranger", MFD_CLOEXEC);
	char *at;
	Elf64_Shdr *s;

	assert_true(fd >= 0 && ftruncate(fd, (off_t)len) == 0);
	at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	*(Elf64_Ehdr *)at =
		(Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_DYN,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_shoff = sections,
			     .e_ehsize = sizeof(Elf64_Ehdr),
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = 3};
	for (size_t i = 0; i < n; i++)
		((Elf64_Sym *)(at + symbols))[i] =
			(Elf64_Sym){.st_name = 1,
				    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				    .st_shndx = 1,
				    .st_value = 16 * i,
				    .st_size = 16};
	memset(at + names + 1, 'x', NAME_BYTES - 1);
	s = (Elf64_Shdr *)(at + sections);
	s[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
			    .sh_offset = symbols,
			    .sh_size = n * sizeof(Elf64_Sym),
			    .sh_entsize = sizeof(Elf64_Sym),
			    .sh_link = 2};
	s[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = names, .sh_size = NAME_BYTES + 1};
	munmap(at, len);
	assert_int_equal(fchown(fd, STRANGER, STRANGER), 0);
	return fd;
}

TEST_WITH(files_of_one_user_leave_memory_for_those_of_others, setup, child_end)
{
	_cleanup_(closep) int own = open("/proc/self/exe", O_RDONLY);

	if (geteuid() != 0)
		skip();
	/* Until no file of that size finds memory, then smaller ones. */
	for (size_t n = 500000; n > 0; n /= 2) {
		int32_t r = 0;

		while (r == 0) {
			int fd = file_of_stranger(n);

			r = read_file(fd);
			close(fd);
		}
	}
	assert_int_equal(read_file(own), 0);
	assert_true(answer.elf.n_segments > 0);
	assert_string_equal(name_of(answer.file, own_address(function_of_test)),
			    "function_of_test");
}

TEST_WITH(files_of_one_user_are_not_all, setup, child_end)
{
	_cleanup_(closep) int own = open("/proc/self/exe", O_RDONLY);

	if (geteuid() != 0)
		skip();
	for (int i = 0; i < ELF_READER_FILES; i++) {
		int fd = file_of_stranger(1);

		(void)read_file(fd);
		close(fd);
	}
	assert_int_equal(read_file(own), 0);
}

/* Receives the answers to a request for rows. Returns their number; -errno: an answer with an error. */
static int64_t rows_of_file(uint32_t file, int fd)
{
	const struct file_request q = {.kind = FILE_REQUEST_ROWS, .file = file};
	uint32_t n_rules, left, last = 0;

	ask(&q, FILE_REQUEST_HEAD, fd);
	if (answer.result < 0)
		return answer.result;
	n_rules = answer.n;
	left = answer.rules.head.n_rows;
	assert_int_equal(answer.n_bytes,
			 sizeof(answer.rules.head) + n_rules * sizeof(answer.rules.rules[0]));
	for (uint32_t at = 0; at < left; at += answer.n) {
		assert_true(answer.has_more);
		assert_true(recv(child.answers, &answer, sizeof(answer), 0) >
			    (ssize_t)FILE_ANSWER_HEAD);
		assert_int_equal(answer.n_bytes, answer.n * sizeof(answer.rows[0]));
		for (uint32_t i = 0; i < answer.n; i++) {
			assert_true(at + i == 0 || answer.rows[i].address > last);
			assert_true(answer.rows[i].rule < UNWIND_RULES_FIRST + n_rules);
			last = answer.rows[i].address;
		}
	}
	assert_false(answer.has_more);
	return left;
}

TEST_WITH(rows_of_a_file_come_in_several_answers, setup, child_end)
{
	_cleanup_(closep) int libc = -1, own = open("/proc/self/exe", O_RDONLY);
	uint32_t file;
	Dl_info info;

	assert_true(dladdr(qsort, &info) != 0);
	libc = open(info.dli_fname, O_RDONLY);
	assert_int_equal(read_file(libc), 0);
	file = answer.file;
	assert_true(rows_of_file(file, libc) > (int64_t)FILE_ROWS_MAX);
	assert_int_equal(rows_of_file(file, own), -ESTALE);
	assert_int_equal(rows_of_file(file + 1, libc), -ESTALE);
}

TEST_WITH(the_vdso_has_rows, setup, child_end)
{
	assert_true(rows_of_file(FILE_VDSO, -1) > 0);
}

/* ---- names ---- */

/* Data of this program, and what the request finds of it. */
static long data_of_test[2] = {1};
static char bss_of_test[1 << 20];

static const struct file_data_mapping *record_of(uint32_t address, const char **ret_path)
{
	static struct file_data_mapping d;
	uint32_t at = 0;

	for (uint32_t i = 0; i < answer.n; i++) {
		memcpy(&d, answer.body + at, sizeof(d));
		*ret_path = answer.body + at + sizeof(d);
		at += (uint32_t)sizeof(d) + (d.m.path_len + 7) / 8 * 8;
		if (d.address == address)
			return &d;
	}
	return NULL;
}

TEST_WITH(the_mappings_of_data_are_found, setup, child_end)
{
	_cleanup_(closep) int maps = open("/proc/self/maps", O_RDONLY);
	char own[4096];
	long stack = 0;
	const uint64_t addresses[] = {(uintptr_t)data_of_test,
				      (uintptr_t)bss_of_test + sizeof(bss_of_test) / 2,
				      (uintptr_t)&stack, 16, (uintptr_t)&data_of_test[1]};
	struct file_request q = {.kind = FILE_REQUEST_DATA_MAPS, .n = ARRAY_SIZE(addresses)};
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own));
	const struct file_data_mapping *d;
	const char *path;

	memcpy(q.addresses, addresses, sizeof(addresses));
	ask(&q, FILE_REQUEST_HEAD + sizeof(addresses), maps);
	assert_int_equal(answer.result, 0);
	assert_int_equal(answer.n, 4);
	d = record_of(0, &path);
	assert_true(d && !d->is_behind && d->m.start <= addresses[0] && d->m.end > addresses[0]);
	assert_int_equal(d->m.path_len, len);
	assert_memory_equal(path, own, (size_t)len);
	d = record_of(1, &path);
	assert_true(d && d->is_behind && d->m.end <= addresses[1]);
	assert_memory_equal(path, own, (size_t)len);
	assert_non_null(record_of(2, &path));
	assert_null(record_of(3, &path));
	assert_non_null(record_of(4, &path));
	ask(&q, FILE_REQUEST_HEAD + sizeof(addresses), -1);
	assert_int_equal(answer.result, -ESRCH);
}

/* A variable has the offset in it; C++ names are those of the source. */
TEST_WITH(names_of_a_file_are_as_a_reader_expects_them, setup, child_end)
{
	_cleanup_(closep) int own = open("/proc/self/exe", O_RDONLY), plus = -1;
	_cleanup_(freep) struct image *f = image_new(IMAGE_MAX);
	uint64_t data = own_address(data_of_test);
	uint32_t file;

	assert_int_equal(read_file(own), 0);
	file = answer.file;
	assert_string_equal(name_of(file, data), "data_of_test");
	assert_string_equal(name_of(file, data + 12), "data_of_test+0xc");
	assert_string_equal(name_of(file, 1), "");
	assert_int_equal(read_file(own), 0);
	assert_int_equal(answer.file, file); /* it is read once */
	image_add_function(f, SHT_SYMTAB, "_ZN2ns4overEi", 0x1000);
	image_end(f);
	plus = image_file(f);
	assert_int_equal(read_file(plus), 0);
	assert_string_equal(name_of(answer.file, 0x1000), "ns::over(int)");
	assert_string_equal(name_of(file + 2, 0x1000), "stale");
	tell(FILE_REQUEST_CLOSE_ALL, 0, -1);
	assert_string_equal(name_of(file, data), "stale");
}

TEST_WITH(later_names_come_from_the_debug_file_of_the_owner_or_of_root, setup, child_end)
{
	_cleanup_(freep) struct image *f = image_new(IMAGE_MAX), *debug = image_new(IMAGE_MAX);
	_cleanup_(closep) int stripped = -1, separate = -1;

	image_add_function(debug, SHT_SYMTAB, "separate", 0x1000);
	image_end(debug);
	separate = image_file(debug);
	image_add_function(f, SHT_DYNSYM, "exported", 0x1000);
	image_add_link(f, "x", lzma_crc32(debug->bytes, debug->len, 0));
	image_end(f);
	stripped = image_file(f);
	assert_int_equal(read_file(stripped), 0);
	assert_true(answer.elf.is_stripped);
	tell(FILE_REQUEST_DEBUG_FILE, 0, -1);
	tell(FILE_REQUEST_DEBUG_FILE, 1, separate);
	assert_string_equal(name_of(0, 0x1000), "exported");
	if (geteuid() == 0) {
		assert_int_equal(fchown(separate, STRANGER, STRANGER), 0);
		tell(FILE_REQUEST_DEBUG_FILE, 0, separate);
		assert_string_equal(name_of(0, 0x1000), "exported");
		assert_int_equal(fchown(separate, 0, 0), 0);
	}
	tell(FILE_REQUEST_DEBUG_FILE, 0, separate);
	assert_string_equal(name_of(0, 0x1000), "separate");
}

/* ---- code that a process compiled ---- */

/* Reads the perf map of a process of that user. Returns the number of the process; 0: none. */
static uint32_t read_jit(uint32_t uid, int32_t pid, int fd)
{
	const struct file_request q = {
		.kind = FILE_REQUEST_PERF_MAP, .n = ENOENT, .uid = uid, .pid = pid, .started = 9};

	ask(&q, FILE_REQUEST_HEAD, fd);
	return answer.result ? 0 : answer.file;
}

TEST_WITH(a_map_is_read_as_it_grows_and_again_when_it_was_replaced, setup, child_end)
{
	_cleanup_(closep) int map = file_of("1000 10 first\n", 14),
			      other = file_of("1000 10 other\n", 14);
	uint32_t jit = read_jit(1, 5, map);

	assert_true(jit > ELF_READER_JITS_FIRST && answer.n == 1 && !answer.has_moved);
	assert_string_equal(name_of(jit, 0x1008), "first");
	assert_int_equal(write(map, "2000 10 second\n", 15), 15);
	assert_string_equal(name_of(jit, 0x2000), "");
	assert_int_equal(read_jit(1, 5, map), jit);
	assert_true(answer.n == 2 && !answer.has_moved);
	assert_string_equal(name_of(jit, 0x2000), "second");
	assert_int_equal(read_jit(1, 5, other), jit); /* another file in its place */
	assert_true(answer.n == 1 && answer.has_moved);
	assert_string_equal(name_of(jit, 0x1000), "other");
	assert_int_equal(ftruncate(other, 0), 0); /* it is written from its beginning */
	assert_int_equal(read_jit(1, 5, other), jit);
	assert_true(answer.n == 0 && answer.has_moved);
	tell(FILE_REQUEST_CLOSE_ALL, 0, -1);
	assert_string_equal(name_of(jit, 0x1000), "stale");
}

/* Reads the file of a process that has ended. */
static uint32_t read_ended_jit(enum file_request_kind kind, int32_t pid, int fd)
{
	const struct file_request q = {
		.kind = kind, .n = ESRCH, .uid = 1, .pid = pid, .started = 9, .has_ended = 1};

	ask(&q, FILE_REQUEST_HEAD, fd);
	return answer.result ? 0 : answer.file;
}

TEST_WITH(a_file_stays_open_until_its_process_has_ended, setup, child_end)
{
	_cleanup_(closep) int map = file_of("1000 10 first\n", 14),
			      other = file_of("2000 10 other\n", 14);
	uint32_t jit = read_jit(1, 5, map);

	assert_int_equal(read_jit(1, 6, -1), 0);
	assert_int_equal(answer.result, -ENOENT);
	assert_int_equal(write(map, "2000 10 second\n", 15), 15);
	assert_int_equal(read_jit(1, 5, -1), jit); /* it was deleted */
	assert_string_equal(name_of(jit, 0x2000), "second");
	assert_int_equal(write(map, "3000 10 third\n", 14), 14);
	/* Not a file that has its path now. */
	assert_int_equal(read_ended_jit(FILE_REQUEST_PERF_MAP, 5, other), jit);
	assert_string_equal(name_of(jit, 0x3000), "third");
	assert_string_equal(name_of(jit, 0x2000), "second");
	assert_int_equal(read_ended_jit(FILE_REQUEST_JITDUMP, 5, -1), 0);
	assert_int_equal(answer.result, -ESRCH);
	assert_int_equal(read_ended_jit(FILE_REQUEST_PERF_MAP, 5, -1), 0);
	assert_string_equal(name_of(jit, 0x3000), "third");
	/* A file that was written after the last request. */
	jit = read_ended_jit(FILE_REQUEST_PERF_MAP, 7, other);
	assert_string_equal(name_of(jit, 0x2000), "other");
}

/* Each user has half of what the others leave; files beyond are read, and closed. */
TEST_WITH(the_files_of_one_user_do_not_use_up_all_descriptors, setup, child_end)
{
	_cleanup_(closep) int map = file_of("1000 10 first\n", 14);

	for (int32_t pid = 1; pid <= ELF_READER_JIT_FILES / 2 + 1; pid++)
		assert_int_not_equal(read_jit(1, pid, map), 0);
	assert_int_not_equal(read_jit(1, ELF_READER_JIT_FILES / 2, -1), 0);
	assert_int_equal(read_jit(1, ELF_READER_JIT_FILES / 2 + 1, -1), 0);
	assert_int_not_equal(read_jit(2, 1, map), 0);
	assert_int_not_equal(read_jit(2, 1, -1), 0);
	/* The end of a process makes room. */
	assert_int_not_equal(read_ended_jit(FILE_REQUEST_PERF_MAP, 1, -1), 0);
	assert_int_not_equal(read_ended_jit(FILE_REQUEST_PERF_MAP, 2, -1), 0);
	assert_int_not_equal(read_jit(1, ELF_READER_JIT_FILES / 2 + 1, map), 0);
	assert_int_not_equal(read_jit(1, ELF_READER_JIT_FILES / 2 + 1, -1), 0);
}

/* A user has half of what the others leave; of its own processes the one that was used least
 * recently is forgotten. */
TEST_WITH(processes_of_one_user_leave_room_for_those_of_others, setup, child_end)
{
	_cleanup_(closep) int map = file_of("1000 10 f\n", 10);
	uint32_t first = read_jit(1, 1, map), second = read_jit(1, 2, map), last = 0;

	for (int32_t pid = 3; pid <= ELF_READER_JITS / 2; pid++)
		last = read_jit(1, pid, map);
	assert_string_equal(name_of(first, 0x1000), "f");
	for (int32_t pid = 1; pid <= ELF_READER_JITS / 4; pid++)
		assert_int_not_equal(read_jit(2, pid, map), 0);
	assert_int_not_equal(read_jit(1, 10000, map), 0);
	assert_string_equal(name_of(second, 0x1000), "stale");
	assert_string_equal(name_of(first, 0x1000), "f");
	assert_string_equal(name_of(last, 0x1000), "f");
}

TEST_WITH(a_file_that_is_no_jitdump_is_refused, setup, child_end)
{
	const struct file_request q = {.kind = FILE_REQUEST_JITDUMP, .uid = 1, .pid = 1};
	_cleanup_(closep) int text = file_of("1000 10 f\n"
					     "1000 10 f\n"
					     "1000 10 f\n"
					     "1000 10 f\n"
					     "1000 10 f\n",
					     50);

	ask(&q, FILE_REQUEST_HEAD, text);
	assert_int_equal(answer.result, -EBADMSG);
}

/* ---- executable mappings ---- */

/* Asks for the mappings in a file of that text. Returns their number; *ret_answers: in so many
 * answers. */
static unsigned mappings_of(const char *text, size_t len, unsigned *ret_answers)
{
	const struct file_request q = {.kind = FILE_REQUEST_MAPS};
	_cleanup_(closep) int fd = file_of(text, len);
	unsigned n = 0;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	ask(&q, FILE_REQUEST_HEAD, fd);
	for (*ret_answers = 1;; ++*ret_answers) {
		n += answer.n;
		if (!answer.has_more)
			return n;
		assert_true(recv(child.answers, &answer, sizeof(answer), 0) >
			    (ssize_t)FILE_ANSWER_HEAD);
	}
}

TEST_WITH(mappings_come_in_as_many_answers_as_they_need, setup, child_end)
{
	static char text[1 << 20];
	unsigned n_answers;
	size_t len = 0;

	for (unsigned i = 1; i <= 1000; i++)
		len += (size_t)sprintf(text + len, "%x000-%x000 r-xp 0 fe:01 7 /%0300d\n", i, i + 1,
				       i);
	assert_int_equal(mappings_of(text, len, &n_answers), 1000);
	assert_true(n_answers > 1000 * 300 / FILE_ANSWER_MAX);
	assert_int_equal(answer.result, 0);
	/* Of a path that is too long, and of data, there is none. */
	len = (size_t)sprintf(text,
			      "1000-2000 rw-p 0 fe:01 7 /a\n1000-2000 r-xp 0 fe:01 7 /%04096d\n"
			      "1000-2000 r-xp 0 fe:01 7 /b\nnonsense\n",
			      1);
	assert_int_equal(mappings_of(text, len, &n_answers), 1);
	memset(text, 'x', sizeof(text)); /* a line without an end */
	assert_int_equal(mappings_of(text, sizeof(text), &n_answers), 0);
	assert_int_equal(answer.result, -EFBIG);
}
