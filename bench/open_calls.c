/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a file 50,000 times: the load of bench/strace.sh. */
#include <fcntl.h>
#include <unistd.h>

#define OPENS 50000

int main(void)
{
	for (unsigned i = 0; i < OPENS; i++) {
		int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return 1;
		close(fd);
	}
	return 0;
}
