/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "procfs/process/proc_parse.h"

/* The same bytes as each of the files of /proc/PID that a task can write into. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

static void status(const char *text, size_t len)
{
	struct proc_status s;

	if (proc_status_parse(text, len, &s) != 0)
		return;
	check(s.name.len <= PROC_NAME_MAX);
	check(s.n_nspid <= PROC_NSPID_MAX);
	check(s.tgid >= 0 && s.pid >= 0 && s.ppid >= 0);
	check(proc_status_has(&s, PROC_STATUS_NAME) && proc_status_has(&s, PROC_STATUS_PID));
	check(!(s.has >> PROC_STATUS_KEYS));
	for (unsigned i = 0; i < s.n_nspid; i++)
		check(s.nspid[i] >= 0);
}

static void cmdline(const char *text, size_t len)
{
	const char *end = text + len, *last = text, *arg;
	size_t n;

	for (const char *p = text; (p = proc_cmdline_next(p, end, &arg, &n)); last = p) {
		check(n > 0 && arg >= last && arg + n <= p && p <= end);
		for (size_t i = 0; i < n; i++)
			check(arg[i] != '\0');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct proc_smaps smaps;
	struct proc_stat stat;
	struct proc_name name;
	int64_t v;

	if (!data)
		return 0;
	status(text, size);
	(void)proc_stat_parse(text, size, &stat);
	proc_smaps_parse(text, size, &smaps);
	check(!(smaps.has >> PROC_SMAPS_KEYS));
	(void)proc_number_parse(text, size, &v);
	proc_comm_parse(text, size, &name);
	check(name.len <= PROC_NAME_MAX);
	cmdline(text, size);
	return 0;
}
