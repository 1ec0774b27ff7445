/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/write_thread_places.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "service/ipc/limits.h"
#include "service/ipc/quota.h"

static struct {
	int ended, report; /* read and write end of the pipe; -1: not open */
	struct {
		bool taken, of_root;
		uint64_t user;
	} places[MAX_WRITE_THREADS];
} threads = {.ended = -1, .report = -1};

_Static_assert(MAX_WRITE_THREADS <= UINT8_MAX, "a place is a byte in the pipe");

static int free_ended(void)
{
	uint8_t place;
	int p[2];

	if (threads.ended < 0) {
		/* The pipe has room for a byte of each thread, so no thread waits to write. */
		if (pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0)
			return -errno;
		threads.ended = p[0];
		threads.report = p[1];
	}
	while (read(threads.ended, &place, sizeof(place)) == sizeof(place))
		threads.places[place].taken = false;
	return 0;
}

int write_thread_take_place(uint64_t user, bool is_root)
{
	unsigned of_user = 0, of_others = 0;
	int r = free_ended(), place = -EUSERS;

	if (r < 0)
		return r;
	for (int i = 0; i < (int)MAX_WRITE_THREADS; i++) {
		if (!threads.places[i].taken)
			place = i;
		else if (threads.places[i].user == user)
			of_user++;
		else if (!threads.places[i].of_root)
			of_others++;
	}
	if (!is_root && of_user >= quota_share(MAX_WRITE_THREADS, of_others))
		return -EDQUOT;
	if (place >= 0) {
		threads.places[place].taken = true;
		threads.places[place].of_root = is_root;
		threads.places[place].user = user;
	}
	return place;
}

void write_thread_leave_place(int place)
{
	threads.places[place].taken = false;
}

int write_thread_ended_fd(void)
{
	return threads.report;
}
