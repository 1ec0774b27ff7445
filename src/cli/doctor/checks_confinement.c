/* SPDX-License-Identifier: Apache-2.0 */
/* What prevents even root from tracing: lockdown, security modules, containers. */

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "cli/doctor/doctor_check.h"

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
		doctor_set_finding(
			f, DOCTOR_FAULT,
			"lockdown=confidentiality: the kernel refuses tracefs, kprobes and BPF "
			"to root too, so no kernel event can be recorded");
		doctor_set_remedy(f, "sudo sed -i 's/lockdown=confidentiality/lockdown=integrity/' "
				     "/etc/default/grub && sudo update-grub && sudo reboot");
	}
}

/* Returns the verdict about a policy that confines this process: a fault if tracefs is refused
 * although the capabilities of this process suffice. */
static enum doctor_verdict confinement_verdict(const struct doctor_machine *m)
{
	bool suffices = doctor_read_capabilities(m, 0, "CapEff") & (1ull << CAP_DAC_OVERRIDE);

	return suffices && !doctor_uses_service(m) && !doctor_may_make_instances(m) ? DOCTOR_FAULT
										    : DOCTOR_LIMIT;
}

void check_selinux(struct doctor_machine *m, struct doctor_finding *f)
{
	char enforce[8], domain[128];

	doctor_read_line(m->sys, "fs/selinux/enforce", enforce, sizeof(enforce));
	if (strcmp(enforce, "1") != 0) {
		doctor_set_finding(f, DOCTOR_OK, "SELinux does not enforce a policy");
		return;
	}
	doctor_read_line(m->proc, "self/attr/current", domain, sizeof(domain));
	if (strstr(domain, "unconfined")) {
		doctor_set_finding(f, DOCTOR_OK, "SELinux does not confine this user (%s)", domain);
		return;
	}
	doctor_set_finding(
		f, confinement_verdict(m),
		"SELinux confines this user (%s), which may refuse tracefs and BPF: what it "
		"refuses is in the audit log",
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
	doctor_set_finding(
		f, confinement_verdict(m),
		"AppArmor confines this process (profile %s), which may refuse tracefs and BPF",
		profile);
	doctor_set_remedy(f, "sudo aa-complain %s", profile);
}

/* ---- containers ---- */

/* Inode numbers of the machine's own namespaces (include/linux/proc_ns.h: PROC_*_INIT_INO). */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu
#define INITIAL_USER_NAMESPACE 0xEFFFFFFDu

/* Returns true if this process is in another namespace than the machine's own. */
static bool is_inside(const struct doctor_machine *m, const char *name, ino_t initial)
{
	char path[512];
	struct stat st;

	return !fs_join(path, sizeof(path), m->proc, name) && !stat(path, &st) &&
	       st.st_ino != initial;
}

void check_container(struct doctor_machine *m, struct doctor_finding *f)
{
	if (is_inside(m, "self/ns/user", INITIAL_USER_NAMESPACE) && !doctor_uses_service(m)) {
		doctor_set_finding(
			f, doctor_may_make_instances(m) ? DOCTOR_LIMIT : DOCTOR_FAULT,
			"this is a user namespace (a container without privileges): its root "
			"may not trace the machine");
		doctor_set_remedy(f, "docker run --privileged --pid=host "
				     "-v /sys/kernel/tracing:/sys/kernel/tracing IMAGE");
	} else if (is_inside(m, "self/ns/pid", INITIAL_PID_NAMESPACE) && !doctor_uses_service(m)) {
		doctor_set_finding(
			f, DOCTOR_LIMIT,
			"this is a PID namespace (a container): kernel events have the PIDs of "
			"the host, so names of processes and -p do not fit them");
		doctor_set_remedy(f, "docker run --privileged --pid=host "
				     "-v /sys/kernel/tracing:/sys/kernel/tracing IMAGE");
	} else {
		doctor_set_finding(f, DOCTOR_OK,
				   "this is not a container, or one with the host's PIDs");
	}
}
