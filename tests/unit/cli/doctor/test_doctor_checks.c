/* SPDX-License-Identifier: Apache-2.0 */
/* Each check on machines that are made of files. */
#include "unit/cli/doctor/fake_machine.h"
#include "unit/fixture.h"

static struct fake_machine x;

/* The only program that PATH has. */
static void install_only(const char *program)
{
	char name[64], path[256];

	snprintf(name, sizeof(name), "bin-%s/%s", program, program);
	fake_machine_file(&x, name, "");
	snprintf(path, sizeof(path), "%s/%s", (char *)x.dir, name);
	chmod(path, 0755);
	*strrchr(path, '/') = '\0';
	setenv("PATH", path, 1);
}

SETUP
{
	memset(&x, 0, sizeof(x));
	fake_machine_make(&x);
	install_only("apt");
}

TEARDOWN
{
	fake_machine_remove(&x);
}

/* Runs a check; its verdict must be this, its text and its remedy contain these. */
static void finds(doctor_check_fn *check, enum doctor_verdict verdict, const char *text,
		  const char *remedy)
{
	struct doctor_finding f = {0};

	check(&x.m, &f);
	if (f.verdict != verdict || !strstr(f.text.text, text) || !strstr(f.remedy.text, remedy))
		fail_msg("%d: %s; run: %s", f.verdict, f.text.text, f.remedy.text);
	/* What is wrong has a command, what is in order has none. */
	assert_int_equal(f.remedy.text[0] != 0, *remedy != 0);
}

FIXTURE_TEST(test_a_kernel_is_named_and_an_old_one_noted)
{
	finds(check_kernel, DOCTOR_FAULT, "procfs is not mounted", "mount -t proc");
	fake_machine_file(&x, "proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
	finds(check_kernel, DOCTOR_OK, "Linux 6.1.0-18-amd64", "");
	fake_machine_file(&x, "proc/sys/kernel/osrelease", "5.4.0\n");
	finds(check_kernel, DOCTOR_NOTE, "older than 5.10", "apt install");
}

FIXTURE_TEST(test_the_ring_that_survives_a_crash)
{
	static const char ring[] = "tracing/instances/sonda_crash/";
	char name[128];

	fake_machine_file(&x, "proc/sys/kernel/osrelease", "6.1.0\n");
	finds(check_crash, DOCTOR_OK, "Linux 6.12 or later", "");
	fake_machine_file(&x, "proc/sys/kernel/osrelease", "6.12.1\n");
	finds(check_crash, DOCTOR_OK, "command line does not reserve", "");
	fake_machine_file(&x, "proc/cmdline",
			  "quiet trace_instance=sonda_crash^traceoff@sonda_crash");
	finds(check_crash, DOCTOR_NOTE, "the kernel did not create it", "");
	snprintf(name, sizeof(name), "%stracing_on", ring);
	fake_machine_file(&x, name, "0\n");
	finds(check_crash, DOCTOR_NOTE, "ordinary memory", "");
	snprintf(name, sizeof(name), "%slast_boot_info", ring);
	fake_machine_file(&x, name, "0\t[kernel]\n");
	finds(check_crash, DOCTOR_NOTE, "the ring is stopped", "recorder enable --crash");
	snprintf(name, sizeof(name), "%stracing_on", ring);
	fake_machine_file(&x, name, "1\n");
	finds(check_crash, DOCTOR_OK, "armed", "");
}

FIXTURE_TEST(test_lockdown)
{
	finds(check_lockdown, DOCTOR_OK, "not locked down", "");
	fake_machine_file(&x, "sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	finds(check_lockdown, DOCTOR_OK, "not locked down", "");
	fake_machine_file(&x, "sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	finds(check_lockdown, DOCTOR_NOTE, "lockdown=integrity", "");
	fake_machine_file(&x, "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	finds(check_lockdown, DOCTOR_FAULT, "denies tracefs", "lockdown=integrity");
}

FIXTURE_TEST(test_selinux_that_confines_this_user)
{
	finds(check_selinux, DOCTOR_OK, "is not enforcing", "");
	fake_machine_file(&x, "sys/fs/selinux/enforce", "1");
	fake_machine_file(&x, "proc/self/attr/current",
			  "unconfined_u:unconfined_r:unconfined_t:s0");
	finds(check_selinux, DOCTOR_OK, "does not confine", "");
	fake_machine_file(&x, "proc/self/attr/current", "system_u:system_r:sonda_t:s0");
	finds(check_selinux, DOCTOR_LIMIT, "sonda_t", "ausearch");
}

FIXTURE_TEST(test_apparmor_that_confines_this_process)
{
	fake_machine_file(&x, "proc/self/attr/current", "unconfined\n");
	finds(check_apparmor, DOCTOR_OK, "does not confine", "");
	fake_machine_file(&x, "proc/self/attr/current", "docker-default (enforce)\n");
	finds(check_apparmor, DOCTOR_LIMIT, "profile docker-default)",
	      "aa-complain docker-default");
}

/* A file that is not executable is refused to all capabilities, as what a policy refuses. */
FIXTURE_TEST(test_a_policy_that_refuses_tracefs_to_root)
{
	fake_machine_file(&x, "tracing/instances", "");
	fake_machine_file(&x, "proc/self/status", "Name:\tsonda\nCapEff:\t000001ffffffffff\n");
	fake_machine_file(&x, "sys/fs/selinux/enforce", "1");
	fake_machine_file(&x, "proc/self/attr/current", "docker-default (enforce)\n");
	finds(check_selinux, DOCTOR_FAULT, "may deny access to tracefs", "ausearch");
	finds(check_apparmor, DOCTOR_FAULT, "may deny access to tracefs",
	      "aa-complain docker-default");
	fake_machine_file(&x, "proc/self/status", "Name:\tsonda\nCapEff:\t0000000000000000\n");
	finds(check_apparmor, DOCTOR_LIMIT, "may deny access to tracefs",
	      "aa-complain docker-default");
}

/* A file of another inode than that of the machine's own namespace. */
FIXTURE_TEST(test_a_container_has_namespaces_of_its_own)
{
	finds(check_container, DOCTOR_OK, "not in a container", "");
	fake_machine_file(&x, "proc/self/ns/pid", "");
	finds(check_container, DOCTOR_LIMIT, "PID namespace", "--pid=host");
	fake_machine_file(&x, "proc/self/ns/user", "");
	finds(check_container, DOCTOR_LIMIT, "user namespace", "--privileged");
	x.m.service = DOCTOR_SERVICE_USABLE;
	finds(check_container, DOCTOR_OK, "", "");
}

FIXTURE_TEST(test_a_slow_clock)
{
	finds(check_clock, DOCTOR_OK, "unknown", "");
	fake_machine_file(&x, "sys/devices/system/clocksource/clocksource0/current_clocksource",
			  "hpet\n");
	fake_machine_file(&x, "sys/devices/system/clocksource/clocksource0/available_clocksource",
			  "tsc hpet acpi_pm\n");
	finds(check_clock, DOCTOR_LIMIT, "clocksource is hpet", "echo tsc");
	fake_machine_file(&x, "sys/devices/system/clocksource/clocksource0/current_clocksource",
			  "tsc\n");
	finds(check_clock, DOCTOR_OK, "clocksource is tsc", "");
}

FIXTURE_TEST(test_little_memory)
{
	finds(check_memory, DOCTOR_OK, "unknown", "");
	fake_machine_file(&x, "proc/meminfo", "MemTotal: 65536 kB\nMemAvailable: 32768 kB\n");
	finds(check_memory, DOCTOR_LIMIT, "32 MiB of memory is available", "-B 512kb");
	fake_machine_file(&x, "proc/meminfo", "MemAvailable: 999999999 kB\n");
	finds(check_memory, DOCTOR_OK, "available", "");
	fake_machine_file(&x, "proc/self/cgroup", "0::/box\n");
	fake_machine_file(&x, "sys/fs/cgroup/box/memory.max", "33554432\n");
	finds(check_memory, DOCTOR_LIMIT, "this process's control group is limited to 32 MiB",
	      "-b 8mb");
	x.m.service = DOCTOR_SERVICE_USABLE;
	finds(check_memory, DOCTOR_OK, "available", "");
}

FIXTURE_TEST(test_a_dir_that_is_not_there_has_no_room)
{
	struct doctor_finding f = {0};

	x.m.dir = "/nonexistent";
	check_disk(&x.m, &f);
	assert_int_equal(f.verdict, DOCTOR_FAULT);
	assert_non_null(strstr(f.text.text, "/nonexistent: No such file"));
}

FIXTURE_TEST(test_no_btf)
{
	finds(check_btf, DOCTOR_LIMIT, "CONFIG_DEBUG_INFO_BTF", "apt install");
	fake_machine_file(&x, "sys/kernel/btf/vmlinux", "");
	finds(check_btf, DOCTOR_OK, "the kernel has BTF", "");
}

FIXTURE_TEST(test_options_by_their_files_and_by_the_config)
{
	finds(check_options, DOCTOR_NOTE, "unknown", "sudo sonda doctor options");
	fake_machine_file(&x, "proc/sys/kernel/osrelease", "6.1.0\n");
	fake_machine_file(&x, "boot/config-6.1.0",
			  "CONFIG_UPROBE_EVENTS=y\n# CONFIG_KPROBE_EVENTS is not set\n");
	finds(check_options, DOCTOR_LIMIT, "CONFIG_KPROBE_EVENTS (--kprobe)", "apt install");
	fake_machine_file(&x, "tracing/instances", NULL);
	fake_machine_file(&x, "tracing/kprobe_events", "");
	finds(check_options, DOCTOR_LIMIT, "lacks CONFIG_UPROBE_EVENTS (--uprobe)", "apt install");
}

FIXTURE_TEST(test_tracefs_that_is_not_mounted_or_cannot_be_there)
{
	finds(check_tracefs, DOCTOR_FAULT, "sysfs is not mounted", "mount -t sysfs");
	fake_machine_file(&x, "sys/kernel", NULL);
	finds(check_tracefs, DOCTOR_FAULT, "CONFIG_FTRACE", "apt install");
	fake_machine_file(&x, "tracing", NULL);
	fake_machine_file(&x, "proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
	finds(check_tracefs, DOCTOR_FAULT, "tracefs is not mounted", "mount -t tracefs");
	fake_machine_file(&x, "proc/self/status", "Name:\tx\nCapEff:\t0000000000200000\n");
	finds(check_tracefs, DOCTOR_LIMIT, "sonda-probes mounts it privately", "mount -t tracefs");
	fake_machine_file(&x, "tracing/instances", NULL);
	finds(check_tracefs, DOCTOR_OK, "may create instances", "");
}

FIXTURE_TEST(test_capabilities_that_lack)
{
	fake_machine_file(&x, "tracing/instances", NULL);
	fake_machine_file(&x, "proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
	finds(check_rights, DOCTOR_OK, "all capabilities", "");
	fake_machine_file(&x, "proc/self/status", "Name:\tx\nCapEff:\t00000000a80425fb\n");
	finds(check_rights, DOCTOR_LIMIT, "CAP_BPF (eBPF counters), CAP_PERFMON", "Cap");
}

FIXTURE_TEST(test_other_tracers_are_named)
{
	fake_machine_file(&x, "tracing/instances", NULL);
	fake_machine_file(&x, "tracing/current_tracer", "nop\n");
	fake_machine_file(&x, "tracing/set_event", "");
	fake_machine_file(&x, "tracing/instances/sonda-1-2/current_tracer", "nop\n");
	fake_machine_file(&x, "tracing/instances/sonda-1-2/set_event", "sched:sched_switch\n");
	finds(check_tracers, DOCTOR_OK, "no other program", "");
	fake_machine_file(&x, "tracing/instances/mine/current_tracer", "nop\n");
	fake_machine_file(&x, "tracing/instances/mine/set_event", "a:b\nc:d\n");
	finds(check_tracers, DOCTOR_NOTE, "instance mine (2 events)", "rmdir");
	fake_machine_file(&x, "tracing/current_tracer", "function\n");
	finds(check_tracers, DOCTOR_LIMIT, "the top level (tracer function)", "echo nop");
}

#define CAPS(mask) "Name:\tx\nCapEff:\t" mask "\n"

/* Bits: 1 CAP_DAC_OVERRIDE, 2 CAP_DAC_READ_SEARCH, 19 CAP_SYS_PTRACE, 21 CAP_SYS_ADMIN, 34
 * CAP_SYSLOG. */
FIXTURE_TEST(test_who_sees_names_of_kernel_functions)
{
	static const struct {
		const char *caps, *kptr_restrict, *perf_event_paranoid;
		enum doctor_verdict verdict;
		const char *text, *remedy;
	} cases[] = {
		{CAPS("0"), "0", "1", DOCTOR_OK, "can be read", ""},
		{CAPS("0"), "0", "2", DOCTOR_LIMIT, "no CAP_SYSLOG", "Cap"},
		{CAPS("0"), "1", "1", DOCTOR_LIMIT, "no CAP_SYSLOG", "Cap"},
		{CAPS("400000000"), "1", "2", DOCTOR_OK, "can be read", ""},
		{CAPS("400000000"), "2", "2", DOCTOR_LIMIT, "kptr_restrict is 2: ", "=1"},
		{CAPS("400200000"), "2", "2", DOCTOR_OK, "can be read", ""},
		{CAPS("200000"), "2", "2", DOCTOR_LIMIT, "no CAP_SYSLOG", "Cap"},
		{CAPS("200000"), "2", "1", DOCTOR_OK, "can be read", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fake_machine_file(&x, "proc/self/status", cases[i].caps);
		fake_machine_file(&x, "proc/sys/kernel/kptr_restrict", cases[i].kptr_restrict);
		fake_machine_file(&x, "proc/sys/kernel/perf_event_paranoid",
				  cases[i].perf_event_paranoid);
		finds(check_symbols, cases[i].verdict, cases[i].text, cases[i].remedy);
	}
}

/* Bit 38: CAP_PERFMON. */
FIXTURE_TEST(test_who_may_sample_call_stacks)
{
	static const struct {
		const char *caps, *paranoid;
		enum doctor_verdict verdict;
		const char *text, *remedy;
	} cases[] = {
		{CAPS("0"), "0", DOCTOR_OK, "can be sampled", ""},
		{CAPS("0"), "1", DOCTOR_LIMIT, "no CAP_PERFMON", "Cap"},
		{CAPS("4000000000"), "3", DOCTOR_OK, "can be sampled", ""},
		{CAPS("200000"), "3", DOCTOR_OK, "can be sampled", ""},
	};

	fake_machine_file(&x, "proc/self/status", CAPS("4000000000"));
	finds(check_stacks, DOCTOR_LIMIT, "CONFIG_PERF_EVENTS", "linux-image");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fake_machine_file(&x, "proc/self/status", cases[i].caps);
		fake_machine_file(&x, "proc/sys/kernel/perf_event_paranoid", cases[i].paranoid);
		finds(check_stacks, cases[i].verdict, cases[i].text, cases[i].remedy);
	}
}

FIXTURE_TEST(test_files_of_other_users)
{
	fake_machine_file(&x, "proc/self/status", CAPS("0"));
	finds(check_files, DOCTOR_LIMIT, "no CAP_SYS_PTRACE and no CAP_DAC_READ_SEARCH", "Cap");
	fake_machine_file(&x, "proc/self/status", CAPS("80000"));
	finds(check_files, DOCTOR_LIMIT,
	      "no CAP_DAC_READ_SEARCH: I/O and memory of other users' processes", "Cap");
	fake_machine_file(&x, "proc/self/status", CAPS("2"));
	finds(check_files, DOCTOR_LIMIT,
	      "no CAP_SYS_PTRACE: I/O and memory of other users' processes", "Cap");
	fake_machine_file(&x, "proc/self/status", CAPS("80002"));
	finds(check_files, DOCTOR_OK, "can be read", "");
}

FIXTURE_TEST(test_a_journal_that_is_not_there)
{
	finds(check_journal, DOCTOR_LIMIT, "no systemd journal", "");
	install_only("systemctl");
	finds(check_journal, DOCTOR_LIMIT, "no systemd journal", "systemd-journald");
	fake_machine_file(&x, "journal/0123/user-1000.journal", "");
	finds(check_journal, DOCTOR_LIMIT, "no systemd journal", "systemd-journald");
	fake_machine_file(&x, "journal/0123/system.journal", "");
	finds(check_journal, DOCTOR_OK, "can be read", "");
}

FIXTURE_TEST(test_of_what_is_refused_only_its_options_are_named)
{
	fake_machine_file(&x, "tracing/instances", NULL);
	x.m.refused = "ftrace option kprobe_events: the kernel has no kprobe_events\n";
	finds(check_options, DOCTOR_LIMIT, "the kernel lacks CONFIG_KPROBE_EVENTS (--kprobe)",
	      "apt install");
	x.m.refused = "event 'a/b' does not exist\n";
	finds(check_options, DOCTOR_OK, "", "");
}
