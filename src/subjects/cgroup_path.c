/* SPDX-License-Identifier: Apache-2.0 */
#include "subjects/cgroup_path.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"

#define ID_LEN 64 /* hexadecimal digits */

static bool is_hex(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!(s.p[i] >= '0' && s.p[i] <= '9') && !(s.p[i] >= 'a' && s.p[i] <= 'f'))
			return false;
	return s.len > 0;
}

static bool is_id(struct span s)
{
	return s.len == ID_LEN && is_hex(s);
}

static bool is_not_empty(struct span s)
{
	return s.len > 0;
}

static bool is_number(struct span s)
{
	return s.len > 0 && s.len < 10 && strspn(s.p, "0123456789") >= s.len;
}

/* The name of a container's own group. The part between prefix and suffix must be `is`. The
 * parent's name is `below` (NULL: any). One table for the drivers "systemd" and "cgroupfs" of each
 * runtime. */
static const struct container_rule {
	const char *below, *prefix, *suffix;
	bool (*is)(struct span middle);
	enum cgroup_kind kind;
	enum cgroup_runtime runtime;
} container_rules[] = {
	{NULL, "docker-", ".scope", is_id, CGROUP_CONTAINER, RUNTIME_DOCKER},
	{NULL, "cri-containerd-", ".scope", is_id, CGROUP_CONTAINER, RUNTIME_CRI_CONTAINERD},
	{NULL, "crio-", ".scope", is_id, CGROUP_CONTAINER, RUNTIME_CRIO},
	{NULL, "nerdctl-", ".scope", is_id, CGROUP_CONTAINER, RUNTIME_CONTAINERD},
	{NULL, "libpod-payload-", "", is_id, CGROUP_CONTAINER, RUNTIME_PODMAN},
	{NULL, "libpod-", ".scope", is_id, CGROUP_CONTAINER, RUNTIME_PODMAN},
	{NULL, "libpod-", "", is_id, CGROUP_CONTAINER, RUNTIME_PODMAN},
	{"docker", "", "", is_id, CGROUP_CONTAINER, RUNTIME_DOCKER},
	{"buildkit", "", "", is_not_empty, CGROUP_CONTAINER, RUNTIME_BUILDKIT},
	{"lxc", "", "", is_number, CGROUP_CONTAINER, RUNTIME_LXC}, /* Proxmox */
	{NULL, "lxc.payload.", "", is_not_empty, CGROUP_CONTAINER, RUNTIME_LXC},
	{NULL, "systemd-nspawn@", ".service", is_not_empty, CGROUP_CONTAINER, RUNTIME_NSPAWN},
	{NULL, "machine-qemu\\x2d", ".scope", is_not_empty, CGROUP_MACHINE, RUNTIME_LIBVIRT},
	{NULL, "machine-lxc\\x2d", ".scope", is_not_empty, CGROUP_CONTAINER, RUNTIME_LIBVIRT},
	{"machine.slice", "machine-", ".scope", is_not_empty, CGROUP_CONTAINER, RUNTIME_NSPAWN},
};

/* Cuts a prefix and a suffix off s. Returns false if s lacks one of them. */
static bool cut_affixes(struct span s, const char *prefix, const char *suffix, struct span *ret)
{
	size_t before = strlen(prefix);

	if (s.len < before + strlen(suffix) || memcmp(s.p, prefix, before) != 0 ||
	    !span_ends(s, suffix))
		return false;
	*ret = (struct span){s.p + before, s.len - before - strlen(suffix)};
	return true;
}

/* Cuts "N\x2d" off, the number that libvirt puts before the name of a domain. */
static struct span cut_domain_number(struct span s)
{
	size_t digits = 0;

	while (digits < s.len && s.p[digits] >= '0' && s.p[digits] <= '9')
		digits++;
	if (digits && s.len > digits + 4 && memcmp(s.p + digits, "\\x2d", 4) == 0)
		return (struct span){s.p + digits + 4, s.len - digits - 4};
	return s;
}

/* Returns true if the group `name` is a container, and sets it. */
static bool place_find_container(struct cgroup_place *p, struct span parent, struct span name)
{
	struct span middle;

	for (size_t i = 0; i < ARRAY_SIZE(container_rules); i++) {
		const struct container_rule *r = &container_rules[i];

		if ((r->below && !span_is(parent, r->below)) ||
		    !cut_affixes(name, r->prefix, r->suffix, &middle) || !r->is(middle))
			continue;
		p->kind = r->kind;
		p->runtime = r->runtime;
		p->container = r->runtime == RUNTIME_LIBVIRT ? cut_domain_number(middle) : middle;
		p->scope = name;
		return true;
	}
	/* The cgroupfs driver of Kubernetes; the groups of its pods have nothing but containers. */
	if (p->kind == CGROUP_POD && is_id(name)) {
		p->kind = CGROUP_CONTAINER;
		p->runtime = RUNTIME_KUBERNETES;
		p->container = p->scope = name;
		return true;
	}
	return false;
}

/* Writes the uid of "podUID", or of "kubepods-QOS-podUID.slice" in which '_' stands for '-'. */
static bool find_pod_uid(struct span name, char ret[CGROUP_POD_UID_SIZE])
{
	char uid[CGROUP_POD_UID_SIZE] = "";
	struct span slice;

	if (cut_affixes(name, "", ".slice", &slice)) {
		const char *pods = memmem(slice.p, slice.len, "kubepods", strlen("kubepods")), *at;

		/* The kubelet may be configured to put a prefix before "kubepods". */
		if (!pods)
			return false;
		at = memmem(pods, (size_t)(slice.p + slice.len - pods), "-pod", strlen("-pod"));
		if (!at)
			return false;
		at += strlen("-pod");
		name = (struct span){at, (size_t)(slice.p + slice.len - at)};
	} else if (!cut_affixes(name, "pod", "", &name)) {
		return false;
	}
	if (name.len != 32 && name.len != 36)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		bool is_dash = name.len == 36 && (i == 8 || i == 13 || i == 18 || i == 23);

		uid[i] = name.p[i] == '_' ? '-' : name.p[i];
		if (is_dash ? uid[i] != '-' : !is_hex((struct span){&uid[i], 1}))
			return false;
	}
	memcpy(ret, uid, sizeof(uid));
	return true;
}

/* Returns true if the name is that of a pod. Sets the uid of the pod if the name contains it. */
static bool place_find_pod(struct cgroup_place *p, struct span name)
{
	struct span id;

	if (cut_affixes(name, "machine-libpod_pod_", ".slice", &id) ||
	    cut_affixes(name, "user-libpod_pod_", ".slice", &id))
		return is_id(id);
	return find_pod_uid(name, p->pod_uid);
}

static void place_find_user(struct cgroup_place *p, struct span name)
{
	struct span number;

	if (cut_affixes(name, "user@", ".service", &number) && is_number(number))
		(void)span_number(number, &p->uid);
}

static bool is_unit(struct span name)
{
	return span_ends(name, ".service") || span_ends(name, ".scope");
}

/* Returns true for the group of conmon, which starts a container and is not in it. */
static bool is_conmon_group(struct span name)
{
	struct span id;

	return (cut_affixes(name, "crio-conmon-", ".scope", &id) && is_id(id)) ||
	       (cut_affixes(name, "libpod-conmon-", ".scope", &id) && is_id(id));
}

static void place_find_outside_container(struct cgroup_place *p, struct span parent,
					 struct span name)
{
	if (!is_conmon_group(name) && place_find_container(p, parent, name))
		return;
	place_find_user(p, name);
	if (place_find_pod(p, name)) {
		p->kind = CGROUP_POD;
	} else if (is_unit(name)) {
		p->kind = CGROUP_UNIT;
		p->unit = name;
	} else if (span_ends(name, ".slice")) {
		p->kind = CGROUP_SLICE;
		p->unit = (struct span){0};
	}
}

/* Guesses that "/NAMESPACE/NAME" is a container of containerd: ctr makes such groups, but other
 * programs make them, too. */
static void place_guess_containerd(struct cgroup_place *p, const struct span *parts, size_t n)
{
	if (p->kind != CGROUP_OTHER || n < 2 || memchr(parts[0].p, '.', parts[0].len))
		return;
	p->is_guess = true;
	p->runtime = RUNTIME_CONTAINERD;
	p->namespace = parts[0];
	p->container = p->scope = parts[1];
}

void cgroup_path_parse(const char *path, struct cgroup_place *ret)
{
	struct span parts[2] = {0}, parent = {0}, name;
	size_t n = 0;

	*ret = (struct cgroup_place){0};
	for (const char *at = path; *(at += strspn(at, "/")); at += name.len, n++) {
		name = (struct span){at, strcspn(at, "/")};
		if (n < ARRAY_SIZE(parts))
			parts[n] = name;
		if (!ret->container.p) {
			place_find_outside_container(ret, parent, name);
		} else if (ret->runtime == RUNTIME_NSPAWN && parent.p == ret->scope.p &&
			   span_is(name, "supervisor")) {
			/* systemd-nspawn itself: not in the container that it runs. */
			*ret = (struct cgroup_place){.kind = CGROUP_UNIT, .unit = ret->scope};
			break;
		} else if (is_unit(name)) {
			ret->unit = name;
		}
		parent = name;
	}
	place_guess_containerd(ret, parts, n);
}

const char *cgroup_runtime_name(enum cgroup_runtime runtime)
{
	static const char *const names[RUNTIME_END] = {
		[RUNTIME_NONE] = "",
		[RUNTIME_DOCKER] = "docker",
		[RUNTIME_CONTAINERD] = "containerd",
		[RUNTIME_CRI_CONTAINERD] = "cri-containerd",
		[RUNTIME_CRIO] = "cri-o",
		[RUNTIME_KUBERNETES] = "kubernetes",
		[RUNTIME_PODMAN] = "podman",
		[RUNTIME_BUILDKIT] = "buildkit",
		[RUNTIME_LXC] = "lxc",
		[RUNTIME_NSPAWN] = "nspawn",
		[RUNTIME_LIBVIRT] = "libvirt",
	};

	return names[runtime];
}

const char *cgroup_kind_name(enum cgroup_kind kind)
{
	static const char *const names[] = {
		[CGROUP_OTHER] = "group",	  [CGROUP_SLICE] = "slice",
		[CGROUP_UNIT] = "unit",		  [CGROUP_POD] = "pod",
		[CGROUP_CONTAINER] = "container", [CGROUP_MACHINE] = "machine",
	};

	return names[kind];
}

bool cgroup_path_unescape(struct span name, char *ret, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < name.len; i++) {
		struct span digits = {name.p + i + 2, 2};
		char c = name.p[i];

		if (c == '\\' && i + 3 < name.len && name.p[i + 1] == 'x' && is_hex(digits)) {
			unsigned high = (unsigned char)digits.p[0],
				 low = (unsigned char)digits.p[1];

			high = high <= '9' ? high - '0' : high - 'a' + 10;
			low = low <= '9' ? low - '0' : low - 'a' + 10;
			c = (char)(high << 4 | low);
			i += 3;
		}
		if (len + 1 >= size)
			return false;
		ret[len++] = c;
	}
	if (size)
		ret[len] = '\0';
	return size > 0;
}
