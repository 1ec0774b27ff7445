/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/host_program.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/version.h"
#include "base/system/multicall.h"
#include "base/text/str.h"
#include "cli/terminal/programs.h"

#define HEADERS_MAX 64 /* program headers that are looked at */

/* Machines, by their names in uname(2) and their identification in ELF files. */
static const struct {
	const char *name;
	unsigned char class;
	unsigned char data;
	uint16_t number;
} machines[] = {
	{"x86_64", ELFCLASS64, ELFDATA2LSB, EM_X86_64},
	{"aarch64", ELFCLASS64, ELFDATA2LSB, EM_AARCH64},
	{"riscv64", ELFCLASS64, ELFDATA2LSB, EM_RISCV},
	{"ppc64le", ELFCLASS64, ELFDATA2LSB, EM_PPC64},
	{"loongarch64", ELFCLASS64, ELFDATA2LSB, 258},
	{"s390x", ELFCLASS64, ELFDATA2MSB, EM_S390},
};

/* Returns the name of the machine that the program is for, or NULL. */
static const char *elf_machine(const Elf64_Ehdr *h)
{
	bool is_little = h->e_ident[EI_DATA] == ELFDATA2LSB;
	uint16_t number = is_little ? le16toh(h->e_machine) : be16toh(h->e_machine);

	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (number == machines[i].number && h->e_ident[EI_CLASS] == machines[i].class &&
		    h->e_ident[EI_DATA] == machines[i].data)
			return machines[i].name;
	return NULL;
}

/* Returns true if the program, which is for this machine's byte order, needs a loader. */
static bool elf_needs_loader(int fd, const Elf64_Ehdr *h)
{
	Elf64_Phdr p[HEADERS_MAX];
	size_t n = MIN(h->e_phnum, HEADERS_MAX);
	ssize_t got = pread(fd, p, n * sizeof(*p), (off_t)h->e_phoff);

	for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(*p); i++)
		if (p[i].p_type == PT_INTERP)
			return true;
	return false;
}

static int host_program_check(int fd, const char *path, const char *machine, struct err_text *e)
{
	const char *is_for;
	Elf64_Ehdr h;

	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
		return err_set(e, -ENOEXEC, "%s is not an ELF program", path);
	is_for = elf_machine(&h);
	if (!is_for || strcmp(is_for, machine) != 0)
		return err_set(
			e, -ENOEXEC,
			"the remote machine is %.40s, but %s was built for %s; install "
			"sonda " SONDA_VERSION
			" there, or set SONDA_STATIC to the path of a static sonda for %.40s",
			machine, path, is_for ? is_for : "another architecture", machine);
	if (h.e_ident[EI_DATA] == (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB) &&
	    elf_needs_loader(fd, &h))
		return err_set(e, -ENOEXEC,
			       "%s needs shared libraries; build a static program with make static",
			       path);
	return 0;
}

/* Writes the path of the program to copy. Returns false if there is none. */
static bool host_program_find(const char *machine, char path[static PATH_MAX])
{
	const char *named = getenv("SONDA_STATIC");
	char dir[PATH_MAX];
	ssize_t n;

	if (named && *named) {
		snprintf(path, PATH_MAX, "%s", named);
		return true;
	}
	if (multicall_contains("sondad")) {
		snprintf(path, PATH_MAX, "%s", OURSELVES);
		return true;
	}
	n = readlink(OURSELVES, dir, sizeof(dir) - 1);
	dir[MAX(n, 0)] = '\0';
	for (int i = 0; i < 2; i++) { /* the program's own name, and bin */
		char *slash = strrchr(dir, '/');

		if (!slash)
			return false;
		*slash = '\0';
	}
	snprintf(path, PATH_MAX, "%.2000s/lib/sonda/sonda-static-%.32s", dir, machine);
	if (!strchr(machine, '/') && access(path, R_OK) == 0)
		return true;
	snprintf(path, PATH_MAX, "%.2000s/static/sonda", dir);
	return access(path, R_OK) == 0;
}

int host_program_open(const char *machine, uint64_t *ret_size, struct err_text *e)
{
	_cleanup_(closep) int fd = -1;
	char path[PATH_MAX];
	struct stat st;
	int r;

	if (!host_program_find(machine, path))
		return err_set(
			e, -ENOENT,
			"no static program to copy; install sonda " SONDA_VERSION
			" there, or build one with make static and set SONDA_STATIC to its path");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, -errno, "cannot read %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, -ENOEXEC, "%s is not an ELF program", path);
	r = host_program_check(fd, strcmp(path, OURSELVES) ? path : "this sonda", machine, e);
	if (r)
		return r;
	*ret_size = (uint64_t)st.st_size;
	return TAKE_FD(fd);
}
