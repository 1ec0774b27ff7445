/* SPDX-License-Identifier: Apache-2.0 */
/* The process that parses ELF files, with files that user 4242 made to fill its memory. */
#include <dlfcn.h>
#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/system/sanitizer.h"
#include "stacks/files/elf_reader.h"
#include "stacks/files/file_messages.h"
#include "unit/test.h"

#define STRANGER 4242
#define NAME_BYTES 1000

static pid_t reader;
static int requests = -1, answers = -1;
static struct file_answer answer;

static int setup(void **state)
{
	int ask[2], tell[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ask) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, tell) < 0)
		return -1;
	reader = fork();
	if (reader == 0) {
		struct elf_reader_ctx ctx = {.requests = ask[1]};

		close(ask[0]);
		close(tell[0]);
		elf_reader_run(tell[1], &ctx);
	}
	close(ask[1]);
	close(tell[1]);
	requests = ask[0];
	answers = tell[0];
	return 0;
}

static int teardown(void **state)
{
	int status;

	close(requests);
	close(answers);
	return waitpid(reader, &status, 0) == reader && WIFEXITED(status) ? 0 : -1;
}

static void ask(const struct file_request *q, size_t len, int fd)
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
	assert_int_equal(sendmsg(requests, &m, 0), len);
	assert_true(recv(answers, &answer, sizeof(answer), 0) >= (ssize_t)FILE_ANSWER_HEAD);
}

/* Returns the result, and the number of the file in the answer. */
static int32_t read_file(int fd)
{
	const struct file_request q = {.kind = FILE_REQUEST_ELF};

	ask(&q, FILE_REQUEST_HEAD, fd);
	return answer.result;
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

/* Functions of this program that have a name, of the first bytes of its code. */
static unsigned names_of_file(uint32_t file, uint64_t from)
{
	struct file_request q = {.kind = FILE_REQUEST_NAMES, .file = file, .n = FILE_NAMES_MAX};
	unsigned n = 0;
	size_t at = 0;

	for (unsigned i = 0; i < FILE_NAMES_MAX; i++)
		q.addresses[i] = from + i * 16;
	ask(&q, FILE_REQUEST_HEAD + sizeof(q.addresses), -1);
	for (unsigned i = 0; i < answer.n; i++) {
		uint16_t len;

		memcpy(&len, answer.body + at, sizeof(len));
		at += sizeof(len) + len;
		n += len > 0;
	}
	return n;
}

TEST_WITH(files_of_one_user_leave_memory_for_those_of_others, setup, teardown)
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
	assert_true(names_of_file(answer.file, answer.elf.segments[0].address) > 0);
}

TEST_WITH(files_of_one_user_are_not_all, setup, teardown)
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
		assert_true(recv(answers, &answer, sizeof(answer), 0) > (ssize_t)FILE_ANSWER_HEAD);
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

TEST_WITH(rows_of_a_file_come_in_several_answers, setup, teardown)
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

TEST_WITH(the_vdso_has_rows, setup, teardown)
{
	assert_true(rows_of_file(FILE_VDSO, -1) > 0);
}

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

TEST_WITH(the_mappings_of_data_are_found, setup, teardown)
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
