/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/recorder_crash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/recorder/crash_save.h"
#include "cli/recorder/recorder_dir.h"
#include "cli/terminal/kernel_events.h"

#define DEFAULT_BYTES_PER_CPU (4ull << 20)
#define DEFAULT_MIN_BYTES (32ull << 20)

/* ---- the recorder ---- */

static void log_saved(const struct crash_saved *s)
{
	char count[STR_COUNT_SIZE];

	if (!s->path[0]) {
		log_warn("no data is left from boot %.8s: %s", s->id, s->why);
		return;
	}
	log_info("saved the last events of boot ID %.8s to %s (%s)", s->id, s->path,
		 str_count(s->events, "event", count));
	if (s->cpus_with_events < s->cpus)
		log_warn("boot %.8s: no events from %u of %u CPUs", s->id,
			 s->cpus - s->cpus_with_events, s->cpus);
}

void recorder_crash_start(const char *dir, char *ret, size_t size)
{
	struct crash_ring ring;
	struct crash_saved saved;
	struct err_text e;
	char bytes[32];
	int r;

	crash_ring_find("/proc", tracefs_roots, &ring);
	r = crash_save_last(&ring, dir, &saved, &e);
	if (r == 0 && saved.id[0])
		log_saved(&saved);
	if (r == 0)
		r = crash_save_arm(&ring, dir, &e);
	if (r < 0) {
		snprintf(ret, size, "not armed: %.200s", e.text);
		log_warn("the ring that survives a crash is not armed: %s", e.text);
	} else {
		snprintf(ret, size, "armed, %s of memory", str_bytes(ring.bytes, bytes));
	}
}

void recorder_crash_save(const char *dir)
{
	_cleanup_(closep) int lock = -1;
	struct crash_ring ring;
	struct crash_saved saved;
	struct err_text e;

	if (!crash_save_is_due(dir) || recorder_dir_lock(dir, &lock, &e) < 0)
		return;
	crash_ring_find("/proc", tracefs_roots, &ring);
	if (ring.state != CRASH_RING_STOPPED)
		return; /* the recorder will report why */
	if (crash_save_last(&ring, dir, &saved, &e) < 0)
		log_warn("%s", e.text);
	else if (saved.path[0])
		log_saved(&saved);
}

int recorder_crash_stop(struct err_text *e)
{
	struct crash_ring ring;
	int r;

	crash_ring_find("/proc", tracefs_roots, &ring);
	r = crash_save_disarm(&ring);
	return r < 0 ? err_set(e, r, "cannot stop %.300s: %s", ring.path, strerror(-r)) : 0;
}

/* ---- the kernel's command line ---- */

void recorder_crash_put_line(uint64_t bytes, struct strbuf *b)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (!bytes)
		bytes = MAX((uint64_t)MAX(cpus, 1) * DEFAULT_BYTES_PER_CPU, DEFAULT_MIN_BYTES);
	strbuf_printf(b,
		      "reserve_mem=%" PRIu64 "M:2M:" CRASH_RING_NAME
		      " trace_instance=" CRASH_RING_NAME "^traceoff@" CRASH_RING_NAME,
		      (bytes + (1u << 20) - 1) >> 20);
}

static int write_grub_file(const char *line, struct err_text *e)
{
	_cleanup_(closep) int fd = -1;
	struct strbuf text = {0};
	int r;

	strbuf_printf(&text,
		      "# Written by sonda recorder enable --crash --grub: the ring that survives a "
		      "crash.\n"
		      "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT %s\"\n",
		      line);
	fd = open(RECORDER_GRUB_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	r = fd < 0 ? -errno : text.failed ? -ENOMEM : fs_write_all(fd, text.s, text.len);
	if (r == 0 && fchmod(fd, 0644) < 0)
		r = -errno;
	strbuf_deinit(&text);
	return r < 0 ? err_set(e, r, "cannot write " RECORDER_GRUB_FILE ": %s%s", strerror(-r),
			       r == -ENOENT
				       ? "; add the parameters by hand: see sonda recorder enable "
					 "--crash"
				       : "")
		     : 0;
}

int recorder_crash_prepare_boot(uint64_t bytes, bool grub, struct err_text *e)
{
	struct strbuf line = {0};
	struct crash_ring ring;
	int r = 0;

	crash_ring_find("/proc", tracefs_roots, &ring);
	recorder_crash_put_line(bytes, &line);
	if (ring.state == CRASH_RING_OLD_KERNEL)
		r = err_set(e, -ENOSYS, "--crash: %s", crash_ring_state_text(ring.state));
	else if (line.failed)
		r = err_set(e, -ENOMEM, "out of memory");
	else if (grub && (r = write_grub_file(line.s, e)) == 0)
		printf("wrote " RECORDER_GRUB_FILE "; to arm the ring, run: update-grub && "
		       "reboot\n");
	else if (!grub && ring.state == CRASH_RING_NOT_MADE)
		printf("to arm the ring that survives a crash, add these kernel parameters and "
		       "reboot\n"
		       "(--grub adds them for GRUB):\n"
		       "\n"
		       "  %s\n"
		       "\n",
		       line.s);
	strbuf_deinit(&line);
	return r;
}
