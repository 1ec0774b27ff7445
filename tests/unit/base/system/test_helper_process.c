/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/helper_process.h"
#include "base/system/sanitizer.h"
#include "unit/test.h"

#define LOW 40
#define KEPT 41
#define HIGH 5000

/* Sends which of three descriptors are open in the child: bits 0 to 2. */
static void send_open(int fd, void *ctx)
{
	static const int fds[] = {LOW, KEPT, HIGH};
	unsigned char open = 0;

	for (unsigned i = 0; i < 3; i++)
		open |= (unsigned char)((fcntl(fds[i], F_GETFD) >= 0) << i);
	(void)!write(fd, &open, 1);
}

static unsigned open_in_child(int keep_fd)
{
	struct helper_process child;
	unsigned char open = 0xff;

	assert_int_equal(helper_process_start("test", send_open, NULL, keep_fd, &child), 0);
	assert_int_equal(read(child.fd, &open, 1), 1);
	close(child.fd);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	return open;
}

TEST(a_child_has_no_descriptors_but_its_socket_and_the_one_to_keep)
{
	struct rlimit l;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
	if (l.rlim_max <= HIGH)
		skip();
	l.rlim_cur = l.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
	assert_int_equal(dup2(STDERR_FILENO, LOW), LOW);
	assert_int_equal(dup2(STDERR_FILENO, KEPT), KEPT);
	assert_int_equal(dup2(STDERR_FILENO, HIGH), HIGH);
	assert_int_equal(open_in_child(KEPT), 2);
	assert_int_equal(open_in_child(-1), 0);
	close(LOW);
	close(KEPT);
	close(HIGH);
}

/* Answers "x" by a byte of the file that it got, or by '-', and stays silent otherwise. */
static void read_passed_file(int fd, void *ctx)
{
	char kind, byte;
	int file;

	while (helper_receive(fd, &(struct iovec){&kind, 1}, 1, -1, &file) == 1) {
		byte = '-';
		if (file >= 0)
			(void)!pread(file, &byte, 1, 0);
		closep(&file);
		if (kind == 'x')
			helper_send(fd, &byte, 1, -1, 0);
	}
}

TEST(a_message_carries_a_descriptor_and_an_answer_may_be_late)
{
	struct helper_process child;
	char byte = 0;
	struct iovec part = {&byte, 1};
	int file = memfd_create("file", MFD_CLOEXEC), none = 7;

	assert_int_equal(write(file, "b", 1), 1);
	assert_int_equal(helper_process_start("test", read_passed_file, NULL, -1, &child), 0);
	assert_int_equal(helper_receive(child.fd, &part, 1, 0, NULL), -EAGAIN);
	assert_int_equal(helper_send(child.fd, "x", 1, file, 0), 0);
	assert_int_equal(helper_receive(child.fd, &part, 1, -1, &none), 1);
	assert_true(byte == 'b' && none == -1);
	assert_int_equal(helper_send(child.fd, "?", 1, file, MSG_DONTWAIT), 0);
	assert_int_equal(helper_receive(child.fd, &part, 1, 20, NULL), -EAGAIN);
	assert_int_equal(helper_send(child.fd, "x", 1, -1, 0), 0);
	assert_int_equal(helper_receive(child.fd, &part, 1, 60000, NULL), 1);
	assert_true(byte == '-');
	kill(child.pid, SIGKILL);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	assert_true(helper_receive(child.fd, &part, 1, 1000, NULL) <= 0);
	assert_int_equal(helper_send(child.fd, "x", 1, -1, 0), -EPIPE);
	close(child.fd);
	close(file);
}

#define PARSER_MEMORY (256u << 20)

/* Confines itself, and sends what it still can do: bits 0 to 4. */
static void send_what_a_parser_can(int fd, void *ctx)
{
	const int *file = ctx;
	unsigned char can = 0;
	char byte;

	(void)helper_confine_parser(PARSER_MEMORY);
	can |= read(*file, &byte, 1) == 1;
	can |= (unsigned char)((malloc(4096) != NULL) << 1);
	can |= (unsigned char)((open("/etc/passwd", O_RDONLY) >= 0) << 2);
	can |= (unsigned char)((mmap(NULL, 2 * PARSER_MEMORY, PROT_READ,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
			       << 3);
	can |= (unsigned char)((mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
				     -1, 0) != MAP_FAILED)
			       << 4);
	(void)helper_send(fd, &can, 1, -1, 0);
}

TEST(a_parser_reads_what_it_was_given_and_nothing_else)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct helper_process child;
	unsigned char can = 0xff;

	if (BUILT_WITH_SANITIZER)
		skip();
	assert_int_equal(helper_process_start("test", send_what_a_parser_can, &file, file, &child),
			 0);
	assert_int_equal(read(child.fd, &can, 1), 1);
	close(child.fd);
	close(file);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	assert_int_equal(can, 3);
}
