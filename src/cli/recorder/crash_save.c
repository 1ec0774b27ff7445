/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/crash_save.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
#include "cli/recorder/crash_boots.h"
#include "cli/recorder/crash_dat.h"
#include "cli/trace/trace_attributes.h"
#include "cli/trace/trace_file.h"
#include "import/import.h"

#define RING_TEXT_MAX 65536 /* bytes of a small file of tracefs */

/* What each CPU did, who ran and who waited, and what the kernel logged. All are events of the
 * kernel itself, not of modules. */
static const char *const crash_events[] = {
	"sched/sched_switch",
	"sched/sched_waking",
	"sched/sched_wakeup_new",
	"sched/sched_process_fork",
	"sched/sched_process_exec",
	"sched/sched_process_exit",
	"sched/sched_process_hang",
	"task/task_newtask",
	"task/task_rename",
	"irq/irq_handler_entry",
	"irq/irq_handler_exit",
	"irq/softirq_entry",
	"irq/softirq_exit",
	"workqueue/workqueue_execute_start",
	"workqueue/workqueue_execute_end",
	"signal/signal_deliver",
	"oom/mark_victim",
	"printk/console",
};

/* ---- arming ---- */

static int crash_save_write(const char *directory, const char *name, const char *text,
			    bool truncate)
{
	char path[PATH_MAX];
	int r = fs_join(path, sizeof(path), directory, name);

	return r ? r : fs_write_file(path, text, truncate);
}

/* Finds the boot that armed the ring last. *ret_runs: it is the running one. */
static bool find_last_boot(const char *dir, struct crash_boot *ret, bool *ret_runs)
{
	struct crash_boots boots = {0};
	bool found = crash_boots_read(dir, &boots) == 0 && boots.n;
	char id[40];

	if (found) {
		crash_boot_read_id(id);
		*ret = boots.of[boots.n - 1];
		*ret_runs = !strcmp(ret->id, id);
	}
	crash_boots_deinit(&boots);
	return found;
}

/* Returns CLOCK_REALTIME minus the ring's clock; 0: not known. */
static uint64_t read_date(const struct crash_ring *ring)
{
	static const char key[] = "now ts:";
	struct strbuf text = {0};
	char path[PATH_MAX];
	const char *at = NULL;
	uint64_t date = 0;

	if (fs_join(path, sizeof(path), ring->path, "per_cpu/cpu0/stats") == 0 &&
	    fs_read_file(path, RING_TEXT_MAX, &text) == 0 && text.s)
		at = strstr(text.s, key);
	if (at)
		date = clock_ns(CLOCK_REALTIME) -
		       (uint64_t)(str_leading_double(at + strlen(key)) * 1e9);
	strbuf_deinit(&text);
	return date;
}

static void describe_boot(const struct crash_ring *ring, struct crash_boot *ret)
{
	time_t now = time(NULL);
	struct utsname u;
	struct tm tm;

	*ret = (struct crash_boot){.armed_s = (uint64_t)now,
				   .cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF),
				   .date_ns = read_date(ring),
				   .clock = "local"};
	crash_boot_read_id(ret->id);
	if (gmtime_r(&now, &tm))
		strftime(ret->name, sizeof(ret->name), "%Y%m%dT%H%M%S-", &tm);
	snprintf(ret->name + strlen(ret->name), 9, "%.8s", ret->id);
	if (uname(&u) == 0) {
		snprintf(ret->release, sizeof(ret->release), "%s", u.release);
		snprintf(ret->machine, sizeof(ret->machine), "%s %.64s %.64s %.64s", u.sysname,
			 u.nodename, u.release, u.machine);
	}
}

/* Writes the formats of the events, which the next boot cannot read. */
static int save_formats(const struct crash_ring *ring, const char *dir, const struct crash_boot *b,
			struct err_text *e)
{
	const struct crash_dat_events events = {crash_events, ARRAY_SIZE(crash_events)};
	_cleanup_(closep) int fd = -1;
	char path[PATH_MAX];
	int r = crash_boot_path(dir, b, ".dat", path);

	if (r == 0)
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_set(e, r ? r : -errno, "cannot create %.300s: %s", path,
			       strerror(r ? -r : errno));
	return crash_dat_begin(fd, ring->tracefs, "/proc/kallsyms", &events, e);
}

/* Empties the ring, and selects its clock and events. Events that the kernel lacks are skipped. */
static int prepare_ring(const struct crash_ring *ring)
{
	int r = crash_save_write(ring->path, "tracing_on", "0", false);

	if (r == 0)
		r = crash_save_write(ring->path, "trace_clock", "local", false);
	if (r == 0)
		r = crash_save_write(ring->path, "trace", "", true);
	if (r == 0)
		r = crash_save_write(ring->path, "set_event", "", true);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(crash_events); i++) {
		char name[256];

		snprintf(name, sizeof(name), "events/%s/enable", crash_events[i]);
		r = crash_save_write(ring->path, name, "1", false);
		r = r == -ENOENT ? 0 : r;
	}
	return r;
}

int crash_save_arm(const struct crash_ring *ring, const char *dir, struct err_text *e)
{
	struct crash_boot b, last;
	bool runs = false;
	int r;

	if (ring->state < CRASH_RING_STOPPED)
		return err_set(e, -ENOENT, "%s", crash_ring_state_text(ring->state));
	if (find_last_boot(dir, &last, &runs) && runs && ring->state == CRASH_RING_RECORDS)
		return 0;
	r = prepare_ring(ring);
	if (r < 0)
		return err_set(e, r, "cannot set up %.200s: %s", ring->path, strerror(-r));
	describe_boot(ring, &b);
	if (runs) /* it was stopped meanwhile */
		memcpy(b.name, last.name, sizeof(b.name));
	r = crash_boot_write(dir, &b);
	if (r < 0)
		return err_set(e, r, "cannot write to %.200s/boots: %s", dir, strerror(-r));
	r = save_formats(ring, dir, &b, e);
	if (r < 0)
		return r;
	r = crash_save_write(ring->path, "tracing_on", "1", false);
	if (r < 0)
		return err_set(e, r, "cannot start %.200s: %s", ring->path, strerror(-r));
	crash_boots_prune(dir);
	return 0;
}

int crash_save_disarm(const struct crash_ring *ring)
{
	return ring->state == CRASH_RING_RECORDS
		       ? crash_save_write(ring->path, "tracing_on", "0", false)
		       : 0;
}

/* ---- saving ---- */

/* Appends the attributes that mark the trace as that of an earlier boot. Returns 0 or -errno. */
static int add_marker(int fd, const struct crash_boot *b)
{
	struct trace_attributes a;
	struct strbuf packet = {0};
	struct utsname u = {.release = ""};
	char number[32];
	int r;

	uname(&u);
	trace_attributes_begin(&a);
	trace_attributes_put(&a, "previous_boot.id", b->id);
	trace_attributes_put(&a, "previous_boot.kernel", b->release);
	trace_attributes_put(&a, "previous_boot.saved_by_kernel", u.release);
	snprintf(number, sizeof(number), "%" PRIu64, b->armed_s);
	trace_attributes_put(&a, "previous_boot.armed_s", number);
	trace_attributes_end(&a, &packet);
	r = packet.failed		 ? -ENOMEM
	    : lseek(fd, 0, SEEK_END) < 0 ? -errno
					 : fs_write_all(fd, packet.s, packet.len);
	strbuf_deinit(&packet);
	return r;
}

/* Makes the trace at path from the file with the formats and pages. Returns 0, or -errno and sets
 * e. */
static int import_pages(int dat, const struct crash_boot *b, const char *path,
			struct crash_saved *ret, struct err_text *e)
{
	const struct import_options options = {0};
	static struct import_result result;
	struct trace_file *f;
	int r = trace_file_open(path, e, &f);

	if (r < 0)
		return r;
	r = import_run(dat, trace_file_fd(f), &options, &result);
	if (r < 0)
		err_set(e, r, "cannot import the ring of boot %.8s: %s", b->id, result.problem);
	else if ((r = add_marker(trace_file_fd(f), b)) < 0 || (r = trace_file_update_size(f)) < 0)
		err_set(e, r, "cannot write %.300s: %s", path, strerror(-r));
	else
		r = trace_file_save(f, e);
	trace_file_free(f);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < MIN(result.n_notes, (uint32_t)IMPORT_NOTES); i++)
		log_warn("boot %.8s: %s", b->id, result.notes[i]);
	ret->events = result.n_events;
	ret->lost = result.n_lost;
	ret->unread = result.n_unread;
	return 0;
}

/* Completes the boot's .dat with the pages of the ring, and makes the trace, which replaces it.
 * Returns 0, or -errno and sets e to the reason why there is no trace. */
static int save_pages(const struct crash_ring *ring, const char *dir, const struct crash_boot *b,
		      struct crash_saved *ret, struct err_text *e)
{
	const struct crash_dat_facts facts = {.clock = b->clock,
					      .machine = b->machine,
					      .date_ns = (int64_t)b->date_ns,
					      .n_cpus = (uint32_t)MIN(b->cpus, 4096ull)};
	_cleanup_(closep) int fd = -1;
	char dat[PATH_MAX], path[PATH_MAX];
	struct crash_dat_pages pages;
	int r = crash_boot_path(dir, b, ".dat", dat) ?: crash_boot_path(dir, b, ".pftrace", path);

	if (r == 0)
		fd = open(dat, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_set(e, r ? r : -errno,
			       "the file with the event formats is missing (%.100s)", dat);
	r = crash_dat_finish(fd, ring->path, &facts, &pages, e);
	if (r == 0 && !pages.pages)
		r = err_set(e, -ENODATA,
			    "the ring did not survive the reboot: the power was off, the firmware "
			    "cleared the memory, or the kernel found the ring damaged");
	if (r == 0)
		r = import_pages(fd, b, path, ret, e);
	if (r < 0)
		return r;
	ret->cpus = facts.n_cpus;
	ret->cpus_with_events = pages.cpus;
	memcpy(ret->path, path, sizeof(path));
	unlink(dat);
	return 0;
}

bool crash_save_is_due(const char *dir)
{
	struct crash_boot b;
	bool runs;

	return find_last_boot(dir, &b, &runs) && !runs && !b.saved_s;
}

int crash_save_last(const struct crash_ring *ring, const char *dir, struct crash_saved *ret,
		    struct err_text *e)
{
	struct crash_boot b;
	struct err_text why = {0};
	struct statvfs fs;
	bool runs;
	int r;

	*ret = (struct crash_saved){0};
	if (!find_last_boot(dir, &b, &runs) || runs || b.saved_s)
		return 0;
	/* The pages, and the trace, which is about as large. */
	if (statvfs(dir, &fs) == 0 && trace_file_room_of(&fs) < 2 * ring->bytes)
		return err_set(
			e, -ENOSPC,
			"not enough space in %.200s to save the ring of boot %.8s, so it stays in "
			"memory and is not armed; free some space and run: sonda recorder enable "
			"--crash",
			dir, b.id);
	if (ring->state < CRASH_RING_STOPPED)
		err_set(&why, -ENOENT, "after the reboot, %s", crash_ring_state_text(ring->state));
	else if (ring->state == CRASH_RING_RECORDS)
		err_set(&why, -EBUSY, "another program restarted the ring before it was saved");
	else
		(void)save_pages(ring, dir, &b, ret, &why);
	memcpy(ret->id, b.id, sizeof(ret->id));
	snprintf(ret->why, sizeof(ret->why), "%.255s", ret->path[0] ? "" : why.text);
	memcpy(b.why, ret->why, sizeof(b.why));
	b.saved_s = (uint64_t)time(NULL);
	r = crash_boot_write(dir, &b);
	if (r < 0)
		log_warn("cannot write to %s/boots: %s", dir, strerror(-r));
	return 0;
}
