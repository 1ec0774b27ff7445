/* SPDX-License-Identifier: Apache-2.0 */
/* The tables are those of the installed libseccomp; newer system calls are listed below. */
#include "base/system/syscall_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <seccomp.h>

#include "base/core/mem.h"
#include "base/text/str.h"

#define NUMBERS_END 1024 /* above the last number of every table */

/* From scripts/syscall.tbl of the kernel, and syscall_64.tbl of x86. Calls from 424 on have the
 * same number on all architectures, except on those with an offset (numbers_are_common()). */
static const struct {
	const char *name;
	uint32_t nr;
	uint32_t arch; /* the only architecture with this call; 0: all have it */
} recent[] = {
	{"uretprobe", 335, SCMP_ARCH_X86_64},
	{"uprobe", 336, SCMP_ARCH_X86_64},
	{"cachestat", 451, 0},
	{"fchmodat2", 452, 0},
	{"map_shadow_stack", 453, 0},
	{"futex_wake", 454, 0},
	{"futex_wait", 455, 0},
	{"futex_requeue", 456, 0},
	{"statmount", 457, 0},
	{"listmount", 458, 0},
	{"lsm_get_self_attr", 459, 0},
	{"lsm_set_self_attr", 460, 0},
	{"lsm_list_modules", 461, 0},
	{"mseal", 462, 0},
	{"setxattrat", 463, 0},
	{"getxattrat", 464, 0},
	{"listxattrat", 465, 0},
	{"removexattrat", 466, 0},
	{"open_tree_attr", 467, 0},
	{"file_getattr", 468, 0},
	{"file_setattr", 469, 0},
	{"listns", 470, 0},
	{"rseq_slice_yield", 471, 0},
};

/* Kernel functions whose names differ from those of their system calls. Events of the group
 * syscalls are named after the functions. */
static const struct {
	const char *function;
	const char *name;
} functions[] = {
	{"newstat", "stat"},   {"newfstat", "fstat"}, {"newlstat", "lstat"},
	{"newuname", "uname"}, {"umount", "umount2"}, {"sendfile64", "sendfile"},
};

/* Returns the architecture of the 32-bit programs that a 64-bit kernel runs; 0: none. */
static uint32_t find_compat_arch(uint32_t arch)
{
	switch (arch) {
	case SCMP_ARCH_X86_64:
		return SCMP_ARCH_X86;
	case SCMP_ARCH_AARCH64:
		return SCMP_ARCH_ARM;
	case SCMP_ARCH_PPC64:
		return SCMP_ARCH_PPC;
	case SCMP_ARCH_S390X:
		return SCMP_ARCH_S390;
	default:
		return 0;
	}
}

static bool numbers_are_common(uint32_t arch)
{
	switch (arch) {
	case SCMP_ARCH_MIPS:
	case SCMP_ARCH_MIPSEL:
	case SCMP_ARCH_MIPS64:
	case SCMP_ARCH_MIPSEL64:
	case SCMP_ARCH_MIPS64N32:
	case SCMP_ARCH_MIPSEL64N32:
		return false;
	default:
		return true;
	}
}

/* Returns the number of a name without prefix, or a negative value. */
static int syscall_names_resolve_number(uint32_t arch, const char *name)
{
	int nr = __NR_SCMP_ERROR;

	if (!arch)
		return nr;
	nr = seccomp_syscall_resolve_name_arch(arch, name);
	for (unsigned i = 0; nr < 0 && i < ARRAY_SIZE(functions); i++)
		if (!strcmp(name, functions[i].function))
			nr = seccomp_syscall_resolve_name_arch(arch, functions[i].name);
	for (unsigned i = 0; nr < 0 && numbers_are_common(arch) && i < ARRAY_SIZE(recent); i++)
		if (!strcmp(name, recent[i].name) && (!recent[i].arch || recent[i].arch == arch))
			nr = (int)recent[i].nr;
	return nr;
}

/* Returns NULL if no name is near. */
static const char *find_nearest(uint32_t arch, const char *name, char best[static STR_NEAREST_SIZE])
{
	struct str_nearest n;

	str_nearest_init(&n, name);
	for (int nr = 0; nr < NUMBERS_END; nr++) {
		_cleanup_(freep) char *candidate = seccomp_syscall_resolve_num_arch(arch, nr);

		if (candidate)
			str_nearest_try_copy(&n, candidate, best);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(recent); i++)
		str_nearest_try_copy(&n, recent[i].name, best);
	return str_nearest_get(&n);
}

int syscall_name_resolve(const char *name, uint32_t *ret_nr, char nearest[static SYSCALL_NAME_MAX])
{
	uint32_t native = seccomp_arch_native(), arch = native;
	char best[STR_NEAREST_SIZE];
	const char *bare, *meant;
	size_t prefix = 0;
	int nr;

	if (str_starts(name, "compat_sys_")) {
		arch = find_compat_arch(native);
		prefix = strlen("compat_sys_");
	} else if (str_starts(name, "sys_")) {
		prefix = strlen("sys_");
	}
	bare = name + prefix;
	nr = syscall_names_resolve_number(arch, bare);
	if (nr >= 0) {
		*ret_nr = (uint32_t)nr;
		return 0;
	}
	*nearest = '\0';
	/* System calls of 32-bit programs only. */
	if (arch == native && syscall_names_resolve_number(find_compat_arch(native), bare) >= 0) {
		snprintf(nearest, SYSCALL_NAME_MAX, "compat_sys_%s", bare);
		return -ENOENT;
	}
	meant = arch ? find_nearest(arch, bare, best) : NULL;
	if (meant)
		snprintf(nearest, SYSCALL_NAME_MAX, "%.*s%s", (int)prefix, name, meant);
	return -ENOENT;
}

int syscall_number(const char *name, bool compat)
{
	uint32_t native = seccomp_arch_native();

	return syscall_names_resolve_number(compat ? find_compat_arch(native) : native, name);
}

/* Copies the name to ret, cut to len bytes. Zeroes the rest of ret. Returns 0 or -ENOMEM. */
static int syscall_names_resolve_name(uint32_t arch, uint32_t nr, char *ret, size_t len)
{
	_cleanup_(freep) char *name = NULL;
	const char *found;
	int error;

	errno = 0;
	found = name = arch ? seccomp_syscall_resolve_num_arch(arch, (int)nr) : NULL;
	error = name ? 0 : errno; /* that of strdup(): an unknown number sets none */
	for (unsigned i = 0; arch && !found && i < ARRAY_SIZE(recent); i++)
		if (recent[i].nr == nr && (!recent[i].arch || recent[i].arch == arch) &&
		    numbers_are_common(arch))
			found = recent[i].name;
	memset(ret, 0, len);
	if (found)
		memcpy(ret, found, MIN(len, strlen(found)));
	return error == ENOMEM ? -ENOMEM : 0;
}

void syscall_compat_name(uint32_t nr, char *ret, size_t len)
{
	syscall_names_resolve_name(find_compat_arch(seccomp_arch_native()), nr, ret, len);
}

/* Returns 0 for a machine that libseccomp does not know. */
static uint32_t resolve_arch(const char *machine)
{
	if (strlen(machine) == 4 && machine[0] == 'i' && !strcmp(machine + 2, "86")) /* i686 */
		return SCMP_ARCH_X86;
	if (str_starts(machine, "arm")) /* armv7l */
		return SCMP_ARCH_ARM;
	return seccomp_arch_resolve_name(machine);
}

int syscall_name(const char *machine, uint32_t nr, char ret[static SYSCALL_NAME_MAX])
{
	uint32_t arch = machine ? resolve_arch(machine) : seccomp_arch_native();

	ret[SYSCALL_NAME_MAX - 1] = '\0';
	return syscall_names_resolve_name(arch, nr, ret, SYSCALL_NAME_MAX - 1);
}
