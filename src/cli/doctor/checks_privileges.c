/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of data that the machine shows to few users: addresses of kernel functions, files of other
 * users, the journal.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "cli/doctor/doctor_check.h"

static const char *recording_process_name(const struct doctor_machine *m)
{
	return doctor_uses_service(m) ? "the service's sonda-probes" : "this user";
}

static void set_capabilities_remedy(const struct doctor_machine *m, struct doctor_finding *f)
{
	if (doctor_uses_service(m))
		doctor_set_remedy(f, "systemctl show sonda-probes -p CapabilityBoundingSet");
	else if (m->uid == 0)
		doctor_set_remedy(f,
				  "grep Cap /proc/self/status  # and start this shell with them");
	else
		doctor_set_remedy(f, "sudo sonda record EVENT...");
}

static void report_unknown_rights(struct doctor_finding *f)
{
	doctor_set_finding(f, DOCTOR_OK, "depends on the privileges of the service's sonda-probes");
}

/* ---- names of kernel functions ---- */

#define NO_NAMES "stacks contain addresses instead of kernel function names"

static int read_sysctl(const struct doctor_machine *m, const char *name, int otherwise)
{
	char text[16];

	return doctor_read_line(m->proc, name, text, sizeof(text)) || !text[0]
		       ? otherwise
		       : (int)str_leading_i64(text, 10);
}

/*
 * The kernel shows addresses in /proc/kallsyms (kallsyms_show_value()) if kptr_restrict is
 *
 *	0	to all, if perf_event_paranoid is at most 1; else as with 1
 *	1	to CAP_SYSLOG
 *	2	to none; with CAP_SYS_ADMIN, sonda-probes lowers it while it opens the file
 */
void check_symbols(struct doctor_machine *m, struct doctor_finding *f)
{
	int restriction = read_sysctl(m, "sys/kernel/kptr_restrict", 0);
	int paranoid = read_sysctl(m, "sys/kernel/perf_event_paranoid", 2);
	uint64_t caps = doctor_recorder_capabilities(m);
	int lowest = caps & (1ull << CAP_SYS_ADMIN) ? 0 : restriction;
	bool has_syslog = caps & (1ull << CAP_SYSLOG);

	if (!caps && doctor_uses_service(m))
		report_unknown_rights(f);
	else if ((lowest == 0 && paranoid <= 1) || (lowest <= 1 && has_syslog))
		doctor_set_finding(f, DOCTOR_OK,
				   "kernel function names can be read (kptr_restrict %d)",
				   restriction);
	else if (has_syslog) {
		doctor_set_finding(f, DOCTOR_LIMIT, "kptr_restrict is %d: " NO_NAMES, restriction);
		doctor_set_remedy(f, "sudo sysctl -w kernel.kptr_restrict=1");
	} else {
		doctor_set_finding(f, DOCTOR_LIMIT,
				   "kptr_restrict is %d, and %s has no CAP_SYSLOG: " NO_NAMES,
				   restriction, recording_process_name(m));
		set_capabilities_remedy(m, f);
	}
}

/* ---- call stacks ---- */

/* Checks whether the recorder may sample whole CPUs by perf_event_open(2): perf_event_paranoid has
 * to allow it, or CAP_PERFMON, which CAP_SYS_ADMIN contains. */
void check_stacks(struct doctor_machine *m, struct doctor_finding *f)
{
	static const char name[] = "sys/kernel/perf_event_paranoid";
	int paranoid = read_sysctl(m, name, INT_MIN);
	uint64_t caps = doctor_recorder_capabilities(m);
	bool may_sample = paranoid <= 0 || caps & (1ull << CAP_PERFMON | 1ull << CAP_SYS_ADMIN);

	if (paranoid == INT_MIN) {
		doctor_set_finding(
			f, DOCTOR_LIMIT,
			"the kernel has no perf events (CONFIG_PERF_EVENTS): linux.perf takes no "
			"samples");
		doctor_suggest(f, "apt", OTHER_KERNEL);
	} else if (!caps && doctor_uses_service(m)) {
		report_unknown_rights(f);
	} else if (!may_sample) {
		doctor_set_finding(
			f, DOCTOR_LIMIT,
			"perf_event_paranoid is %d, and %s has no CAP_PERFMON: linux.perf takes "
			"no samples",
			paranoid, recording_process_name(m));
		set_capabilities_remedy(m, f);
	} else {
		doctor_set_finding(f, DOCTOR_OK,
				   "call stacks can be sampled (perf_event_paranoid %d)", paranoid);
	}
}

/* ---- files of the processes of other users ---- */

#define READS_FILES (1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_DAC_OVERRIDE)

void check_files(struct doctor_machine *m, struct doctor_finding *f)
{
	uint64_t caps = doctor_recorder_capabilities(m);
	bool opens = caps & READS_FILES, traces = caps & (1ull << CAP_SYS_PTRACE);

	if (!caps && doctor_uses_service(m)) {
		report_unknown_rights(f);
	} else if (opens && traces) {
		doctor_set_finding(f, DOCTOR_OK, "details of all users' processes can be read");
	} else {
		doctor_set_finding(f, DOCTOR_LIMIT,
				   "%s has no %s%s%s: I/O and memory of other users' processes are "
				   "not recorded",
				   recording_process_name(m), traces ? "" : "CAP_SYS_PTRACE",
				   traces || opens ? "" : " and no ",
				   opens ? "" : "CAP_DAC_READ_SEARCH");
		set_capabilities_remedy(m, f);
	}
}

/* ---- the journal ---- */

struct journal {
	const char *dir; /* the directory that is examined */
	char hidden[256]; /* one that this process cannot read; "": none */
	bool is_readable; /* one can be read */
};

/* Looks for the journal of the system. Other files are the journals of single users. */
static int find_system_journal(void *ctx, const char *name, unsigned char type)
{
	struct journal *j = ctx;
	char path[256], file[256];

	if (fs_join(path, sizeof(path), j->dir, name) ||
	    fs_join(file, sizeof(file), path, "system.journal"))
		return 0;
	if (!faccessat(AT_FDCWD, file, R_OK, AT_EACCESS))
		j->is_readable = true;
	else if (errno == EACCES)
		snprintf(j->hidden, sizeof(j->hidden), "%s", file);
	return 0;
}

void check_journal(struct doctor_machine *m, struct doctor_finding *f)
{
	struct journal j = {.is_readable = false};

	for (const char *const *dir = m->journals; *dir; dir++) {
		j.dir = *dir;
		if (fs_each(*dir, find_system_journal, &j) == -EACCES)
			snprintf(j.hidden, sizeof(j.hidden), "%s", *dir);
	}
	if (!j.is_readable && !j.hidden[0]) {
		doctor_set_finding(
			f, DOCTOR_LIMIT,
			"there is no systemd journal in %s or %s: linux.systemd_journald "
			"records nothing",
			m->journals[0], m->journals[1]);
		doctor_suggest(f, "systemctl", "sudo systemctl restart systemd-journald");
	} else if (doctor_uses_service(m)) {
		report_unknown_rights(f);
	} else if (j.is_readable || doctor_recorder_capabilities(m) & READS_FILES) {
		doctor_set_finding(f, DOCTOR_OK, "the systemd journal can be read");
	} else {
		doctor_set_finding(f, DOCTOR_LIMIT,
				   "this user may not read the systemd journal (%s): "
				   "linux.systemd_journald records at most the user's own entries",
				   j.hidden);
		doctor_set_remedy(f, "sudo usermod -aG systemd-journal $USER  # then log in again");
	}
}

/* Mechanisms that prevent even root from tracing: lockdown, security modules, containers. */

void check_lockdown(struct doctor_machine *m, struct doctor_finding *f)
{
	char modes[128];

	/* "none [integrity] confidentiality" */
	if (doctor_read_line(m->sys, "kernel/security/lockdown", modes, sizeof(modes)) ||
	    strstr(modes, "[none]"))
		doctor_set_finding(f, DOCTOR_OK, "the kernel is not locked down");
	else if (strstr(modes, "[integrity]"))
		doctor_set_finding(
			f, DOCTOR_NOTE,
			"lockdown=integrity: probes that write memory are refused, recordings "
			"are not affected");
	else {
		doctor_set_finding(f, DOCTOR_FAULT,
				   "lockdown=confidentiality: the kernel denies tracefs, kprobes "
				   "and BPF even to root, so no kernel event can be recorded");
		doctor_set_remedy(f, "sudo sed -i 's/lockdown=confidentiality/lockdown=integrity/' "
				     "/etc/default/grub && sudo update-grub && sudo reboot");
	}
}

/* Returns the verdict about a policy that confines this process: a fault if tracefs is refused
 * although the capabilities of this process suffice. */
static enum doctor_verdict confinement_verdict(const struct doctor_machine *m)
{
	bool suffices = doctor_read_capabilities(m, 0, "CapEff") & (1ull << CAP_DAC_OVERRIDE);

	return suffices && !doctor_uses_service(m) && !doctor_can_make_instances(m) ? DOCTOR_FAULT
										    : DOCTOR_LIMIT;
}

void check_selinux(struct doctor_machine *m, struct doctor_finding *f)
{
	char enforce[8], domain[128];

	doctor_read_line(m->sys, "fs/selinux/enforce", enforce, sizeof(enforce));
	if (strcmp(enforce, "1") != 0) {
		doctor_set_finding(f, DOCTOR_OK, "SELinux is not enforcing");
		return;
	}
	doctor_read_line(m->proc, "self/attr/current", domain, sizeof(domain));
	if (strstr(domain, "unconfined")) {
		doctor_set_finding(f, DOCTOR_OK, "SELinux does not confine this user (%s)", domain);
		return;
	}
	doctor_set_finding(f, confinement_verdict(m),
			   "SELinux confines this user (%s) and may deny access to tracefs and "
			   "BPF; the audit log lists denials",
			   domain);
	doctor_set_remedy(f, "sudo ausearch -m avc -ts recent -c sonda-probes");
}

void check_apparmor(struct doctor_machine *m, struct doctor_finding *f)
{
	char profile[128];

	if (doctor_read_line(m->proc, "self/attr/apparmor/current", profile, sizeof(profile)))
		doctor_read_line(m->proc, "self/attr/current", profile, sizeof(profile));
	if (!strstr(profile, "(enforce)")) {
		doctor_set_finding(f, DOCTOR_OK, "AppArmor does not confine this process");
		return;
	}
	profile[strcspn(profile, " ")] = '\0';
	doctor_set_finding(f, confinement_verdict(m),
			   "AppArmor confines this process (profile %s) and may deny access to "
			   "tracefs and BPF",
			   profile);
	doctor_set_remedy(f, "sudo aa-complain %s", profile);
}

/* ---- containers ---- */

/* Inode numbers of the machine's own namespaces (include/linux/proc_ns.h: PROC_*_INIT_INO). */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu
#define INITIAL_USER_NAMESPACE 0xEFFFFFFDu

/* Returns true if this process is in another namespace than the machine's own. */
static bool is_in_other_namespace(const struct doctor_machine *m, const char *name, ino_t initial)
{
	char path[512];
	struct stat st;

	return !fs_join(path, sizeof(path), m->proc, name) && !stat(path, &st) &&
	       st.st_ino != initial;
}

void check_container(struct doctor_machine *m, struct doctor_finding *f)
{
	if (is_in_other_namespace(m, "self/ns/user", INITIAL_USER_NAMESPACE) &&
	    !doctor_uses_service(m)) {
		doctor_set_finding(f, doctor_can_make_instances(m) ? DOCTOR_LIMIT : DOCTOR_FAULT,
				   "this is a user namespace (a rootless container), in which root "
				   "may not trace the machine");
		doctor_set_remedy(f, "sudo docker run --privileged --userns=host --pid=host "
				     "-v /sys/kernel/tracing:/sys/kernel/tracing IMAGE");
	} else if (is_in_other_namespace(m, "self/ns/pid", INITIAL_PID_NAMESPACE) &&
		   !doctor_uses_service(m)) {
		doctor_set_finding(f, DOCTOR_LIMIT,
				   "this is a PID namespace (a container): kernel events have host "
				   "PIDs, so process names and -p do not match them");
		doctor_set_remedy(f, "docker run --privileged --pid=host "
				     "-v /sys/kernel/tracing:/sys/kernel/tracing IMAGE");
	} else {
		doctor_set_finding(f, DOCTOR_OK,
				   "not in a container, or in one with the host's PIDs");
	}
}
