/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"

/*
 * The checks of sonda doctor, one function each. A check looks at one requirement of a recording.
 * It reports the finding, its effect on a recording, and the command that removes an obstacle.
 */

enum doctor_verdict {
	DOCTOR_OK,
	DOCTOR_NOTE, /* recording works; worth knowing */
	DOCTOR_LIMIT, /* something cannot be recorded, or costs more than it should */
	DOCTOR_FAULT, /* kernel events cannot be recorded */
};

struct doctor_finding {
	enum doctor_verdict verdict;
	struct err_text text; /* the finding and its effect; without a full stop */
	struct err_text remedy; /* one command; "": none is needed, or none helps */
};

/* The command that installs a kernel with all options. */
#if defined(__aarch64__)
#define OTHER_KERNEL "sudo apt install linux-image-arm64 && sudo reboot"
#else
#define OTHER_KERNEL "sudo apt install linux-image-amd64 && sudo reboot"
#endif

/* How the service answered. */
enum doctor_service {
	DOCTOR_SERVICE_UNKNOWN, /* not requested yet */
	DOCTOR_SERVICE_NONE, /* nothing listens */
	DOCTOR_SERVICE_USABLE,
	DOCTOR_SERVICE_UNUSABLE, /* the service refuses this user, or does not answer */
};

/* The machine that is checked. Strings are borrowed; tests pass other roots. */
struct doctor_machine {
	const char *proc; /* "/proc" */
	const char *sys; /* "/sys" */
	const char *boot; /* "/boot" */
	const char *dir; /* where the trace would be written */
	const char *const *tracefs; /* possible mount points, best first; ends with NULL */
	const char *const *journals; /* directories of the systemd journal; ends with NULL */
	const char *socket; /* socket of consumers; NULL: the default */
	uid_t uid;
	/* how the service answered; set by check_service(), or by the caller */
	enum doctor_service service;
	bool has_ftrace; /* a producer of the service offers linux.ftrace */
	pid_t probes; /* pid of that producer, if it is on this machine; 0: unknown */
	const char *refused; /* lines about what a recording lacks, which check_options() explains;
			      * NULL: check_options() checks all options */
};

/* The first sets the verdict and the text of the finding, the second its remedy. */
void doctor_set_finding(struct doctor_finding *f, enum doctor_verdict verdict, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void doctor_set_remedy(struct doctor_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets the remedy if this machine has the program that the command needs. */
void doctor_suggest(struct doctor_finding *f, const char *program, const char *command);

/* Reads the first line of root/name. Returns 0 or -errno; buf is "" then. */
int doctor_read_line(const char *root, const char *name, char *buf, size_t size);
/* Returns a capability mask (a line of /proc/PID/status such as "CapEff"); 0 if it cannot be read.
 * pid 0: this process. */
uint64_t doctor_read_capabilities(const struct doctor_machine *m, pid_t pid, const char *line);
/* Returns the capabilities that sonda-probes gets from its executable file
 * (program_capabilities()). */
uint64_t doctor_probes_capabilities(void);
/* Returns the first mount point on which a tracefs is mounted; NULL: none. */
const char *doctor_tracefs_root(const struct doctor_machine *m);
/* Returns true if a service records: the rights of this process are then not needed. */
bool doctor_uses_service(const struct doctor_machine *m);
/* Returns true if this process may create tracefs instances, or if no tracefs is mounted or it is
 * mounted read-only: rights are not the obstacle then. */
bool doctor_can_make_instances(const struct doctor_machine *m);
/* Returns the capabilities of the sonda-probes that would record: that of the service, or the one
 * that this user would start; 0 if they are unknown. */
uint64_t doctor_recorder_capabilities(const struct doctor_machine *m);

/* Each check fills in f, which is zeroed before the call. */
typedef void doctor_check_fn(struct doctor_machine *m, struct doctor_finding *f);
doctor_check_fn check_kernel;
doctor_check_fn check_programs;
doctor_check_fn check_service;
doctor_check_fn check_probes;
doctor_check_fn check_rights;
doctor_check_fn check_tracefs;
doctor_check_fn check_tracers;
doctor_check_fn check_options;
doctor_check_fn check_btf;
doctor_check_fn check_bpf;
doctor_check_fn check_symbols;
doctor_check_fn check_stacks;
doctor_check_fn check_files;
doctor_check_fn check_journal;
doctor_check_fn check_lockdown;
doctor_check_fn check_selinux;
doctor_check_fn check_apparmor;
doctor_check_fn check_container;
doctor_check_fn check_clock;
doctor_check_fn check_disk;
doctor_check_fn check_memory;
doctor_check_fn check_crash;
