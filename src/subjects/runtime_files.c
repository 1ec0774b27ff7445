/* SPDX-License-Identifier: Apache-2.0 */
#include "subjects/runtime_files.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/json_read.h"
#include "base/text/str.h"

#define BIT(runtime) (1u << (runtime))
#define KUBERNETES                                                                                 \
	(BIT(RUNTIME_CRI_CONTAINERD) | BIT(RUNTIME_CRIO) | BIT(RUNTIME_KUBERNETES) |               \
	 BIT(RUNTIME_DOCKER))
#define MACHINES (BIT(RUNTIME_NSPAWN) | BIT(RUNTIME_LIBVIRT))

enum owner { OWNER_SYSTEM, OWNER_USER };

/* In the order in which they are tried. {i} is the id, {n} the namespace, {s} the scope; paths of
 * users are below their home directory. */
static const struct file_rule {
	unsigned runtimes; /* bits */
	enum owner owner;
	enum runtime_file file;
	const char *path;
} file_rules[] = {
	{KUBERNETES, OWNER_SYSTEM, RUNTIME_FILE_CONTAINER_LOGS, "/var/log/containers"},
	{BIT(RUNTIME_DOCKER) | BIT(RUNTIME_KUBERNETES), OWNER_SYSTEM, RUNTIME_FILE_DOCKER,
	 "/var/lib/docker/containers/{i}/config.v2.json"},
	{BIT(RUNTIME_DOCKER), OWNER_USER, RUNTIME_FILE_DOCKER,
	 "/.local/share/docker/containers/{i}/config.v2.json"},
	{BIT(RUNTIME_CRI_CONTAINERD) | BIT(RUNTIME_KUBERNETES), OWNER_SYSTEM, RUNTIME_FILE_OCI,
	 "/run/containerd/io.containerd.runtime.v2.task/k8s.io/{i}/config.json"},
	{BIT(RUNTIME_CRI_CONTAINERD) | BIT(RUNTIME_KUBERNETES), OWNER_SYSTEM, RUNTIME_FILE_OCI,
	 "/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/{i}/config.json"},
	{BIT(RUNTIME_CRIO) | BIT(RUNTIME_KUBERNETES), OWNER_SYSTEM, RUNTIME_FILE_OCI,
	 "/run/containers/storage/overlay-containers/{i}/userdata/config.json"},
	{BIT(RUNTIME_CONTAINERD), OWNER_SYSTEM, RUNTIME_FILE_OCI,
	 "/run/containerd/io.containerd.runtime.v2.task/{n}/{i}/config.json"},
	{BIT(RUNTIME_PODMAN), OWNER_SYSTEM, RUNTIME_FILE_PODMAN,
	 "/var/lib/containers/storage/overlay-containers/containers.json"},
	{BIT(RUNTIME_PODMAN), OWNER_SYSTEM, RUNTIME_FILE_PODMAN,
	 "/var/lib/containers/storage/overlay-containers/volatile-containers.json"},
	{BIT(RUNTIME_PODMAN), OWNER_SYSTEM, RUNTIME_FILE_PODMAN,
	 "/var/lib/containers/storage/vfs-containers/containers.json"},
	{BIT(RUNTIME_PODMAN), OWNER_SYSTEM, RUNTIME_FILE_PODMAN,
	 "/var/lib/containers/storage/btrfs-containers/containers.json"},
	{BIT(RUNTIME_PODMAN), OWNER_USER, RUNTIME_FILE_PODMAN,
	 "/.local/share/containers/storage/overlay-containers/containers.json"},
	{BIT(RUNTIME_PODMAN), OWNER_USER, RUNTIME_FILE_PODMAN,
	 "/.local/share/containers/storage/overlay-containers/volatile-containers.json"},
	{BIT(RUNTIME_PODMAN), OWNER_USER, RUNTIME_FILE_PODMAN,
	 "/.local/share/containers/storage/vfs-containers/containers.json"},
	{MACHINES, OWNER_SYSTEM, RUNTIME_FILE_MACHINE, "/run/systemd/machines/unit:{s}"},
};

static const struct file_rule pod_rule = {BIT(RUNTIME_KUBERNETES), OWNER_SYSTEM,
					  RUNTIME_FILE_POD_LOGS, "/var/log/pods"};

/* ---- paths ---- */

/* Returns true if s is a single component of a path: neither "." nor "..", and without a slash. */
static bool is_path_component(const char *s)
{
	return *s && !strchr(s, '/') && strcmp(s, ".") != 0 && strcmp(s, "..") != 0;
}

/* Appends to the path. Returns false if it does not fit. */
static bool path_append(char *path, size_t size, const char *text, size_t len)
{
	size_t at = strlen(path);

	if (len >= size - at)
		return false;
	memcpy(path + at, text, len);
	path[at + len] = '\0';
	return true;
}

static bool path_fill_pattern(const struct container_key *k, const char *pattern, char *path,
			      size_t size)
{
	while (*pattern) {
		size_t plain = strcspn(pattern, "{");
		const char *part;

		if (!path_append(path, size, pattern, plain))
			return false;
		pattern += plain;
		if (!*pattern)
			break;
		part = pattern[1] == 'i' ? k->id : pattern[1] == 's' ? k->scope : k->namespace;
		if (pattern[1] == 'n' && !*part)
			part = "default";
		if (!is_path_component(part) || !path_append(path, size, part, strlen(part)))
			return false;
		pattern += strlen("{i}");
	}
	return true;
}

enum runtime_file runtime_file_path(const struct container_key *k, unsigned n, const char *root,
				    const char *home, char *ret, size_t size)
{
	const struct file_rule *r = NULL;
	unsigned at = 0;

	if (k->kind == CGROUP_POD)
		r = n == 0 ? &pod_rule : NULL;
	else if (k->runtime < RUNTIME_END)
		for (size_t i = 0; i < ARRAY_SIZE(file_rules) && !r; i++)
			if (file_rules[i].runtimes & BIT(k->runtime) && at++ == n)
				r = &file_rules[i];
	if (!r)
		return RUNTIME_FILE_NONE;
	ret[0] = '\0';
	if (!path_append(ret, size, root, strlen(root)) ||
	    (r->owner == OWNER_USER &&
	     (!k->uid || home[0] != '/' || !path_append(ret, size, home, strlen(home)))) ||
	    !path_fill_pattern(k, r->path, ret, size))
		ret[0] = '\0';
	return r->file;
}

/* ---- names ---- */

bool container_name_is_valid(const char *name)
{
	size_t len = strnlen(name, CONTAINER_NAME_SIZE), at = 0, n;

	if (len == 0 || len == CONTAINER_NAME_SIZE)
		return false;
	for (; at < len; at += n) {
		n = str_printable_len(name + at, len - at);
		if (!n)
			return false;
	}
	return true;
}

/* Sets a name that is unset, if the new one is valid. */
static void set_name_if_unset(char *to, const char *name)
{
	if (!*to && container_name_is_valid(name))
		memcpy(to, name, strlen(name) + 1);
}

static void set_pod_uid(struct container_names *to, const char *uid)
{
	if (!*to->pod_uid && container_name_is_valid(uid) && strlen(uid) < sizeof(to->pod_uid))
		memcpy(to->pod_uid, uid, strlen(uid) + 1);
}

/* Sets the name that a known annotation or label contains. Ignores others. */
static void set_annotation(struct container_names *to, const char *key, const char *value)
{
	static const struct {
		const char *key;
		size_t field;
	} keys[] = {
		{"io.kubernetes.cri.container-name", offsetof(struct container_names, name)},
		{"io.kubernetes.cri.sandbox-name", offsetof(struct container_names, pod)},
		{"io.kubernetes.cri.sandbox-namespace",
		 offsetof(struct container_names, namespace)},
		{"io.kubernetes.cri.image-name", offsetof(struct container_names, image)},
		{"io.kubernetes.container.name", offsetof(struct container_names, name)},
		{"io.kubernetes.pod.name", offsetof(struct container_names, pod)},
		{"io.kubernetes.pod.namespace", offsetof(struct container_names, namespace)},
		{"io.kubernetes.cri-o.ImageName", offsetof(struct container_names, image)},
		{"nerdctl/name", offsetof(struct container_names, name)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(key, keys[i].key) == 0)
			set_name_if_unset((char *)to + keys[i].field, value);
	if (strcmp(key, "io.kubernetes.cri.sandbox-uid") == 0 ||
	    strcmp(key, "io.kubernetes.pod.uid") == 0)
		set_pod_uid(to, value);
}

static void read_annotations(struct json_reader *r, struct container_names *to)
{
	char key[64], value[CONTAINER_NAME_SIZE];

	if (!json_open(r, '{')) {
		json_skip(r);
		return;
	}
	while (json_next_member(r, key, sizeof(key))) {
		if (json_take_string(r, value, sizeof(value)))
			set_annotation(to, key, value);
		else
			json_skip(r);
	}
}

static void read_docker_config(struct json_reader *r, struct container_names *to,
			       struct container_names *labels)
{
	char key[16], value[CONTAINER_NAME_SIZE];

	if (!json_open(r, '{')) {
		json_skip(r);
		return;
	}
	while (json_next_member(r, key, sizeof(key))) {
		if (strcmp(key, "Labels") == 0)
			read_annotations(r, labels);
		else if (strcmp(key, "Image") == 0 && json_take_string(r, value, sizeof(value)))
			set_name_if_unset(to->image, value);
		else
			json_skip(r);
	}
}

/* Reads a file of docker. It is the container's own: its directory has the id. Labels count only if
 * Kubernetes has made the container, because others come from its image. Returns false if the file
 * is malformed. */
static bool parse_docker(struct json_reader *r, struct container_names *to)
{
	char key[16], name[CONTAINER_NAME_SIZE + 1] = "";
	struct container_names labels = {0};

	if (!json_open(r, '{'))
		return false;
	while (json_next_member(r, key, sizeof(key))) {
		if (strcmp(key, "Config") == 0)
			read_docker_config(r, to, &labels);
		else if (strcmp(key, "Name") != 0 || !json_take_string(r, name, sizeof(name)))
			json_skip(r);
	}
	if (str_starts(name, "/k8s_")) {
		set_name_if_unset(to->name, labels.name);
		set_name_if_unset(to->pod, labels.pod);
		set_name_if_unset(to->namespace, labels.namespace);
		set_pod_uid(to, labels.pod_uid);
	}
	set_name_if_unset(to->name, name[0] == '/' ? name + 1 : name);
	return json_end(r);
}

static bool parse_oci(struct json_reader *r, struct container_names *to)
{
	char key[16];

	if (!json_open(r, '{'))
		return false;
	while (json_next_member(r, key, sizeof(key))) {
		if (strcmp(key, "annotations") == 0)
			read_annotations(r, to);
		else
			json_skip(r);
	}
	return json_end(r);
}

/* Reads podman's metadata: the name of the image, which podman keeps as JSON in a string. */
static void read_podman_metadata(const char *text, struct container_names *to)
{
	char key[16], value[CONTAINER_NAME_SIZE];
	struct json_reader r;

	json_reader_init(&r, text, strlen(text));
	if (!json_open(&r, '{'))
		return;
	while (json_next_member(&r, key, sizeof(key))) {
		if (strcmp(key, "image-name") == 0 && json_take_string(&r, value, sizeof(value)))
			set_name_if_unset(to->image, value);
		else
			json_skip(&r);
	}
}

static void read_first_name(struct json_reader *r, struct container_names *to)
{
	char name[CONTAINER_NAME_SIZE];

	if (!json_open(r, '[')) {
		json_skip(r);
		return;
	}
	while (json_next_element(r)) {
		if (json_take_string(r, name, sizeof(name)))
			set_name_if_unset(to->name, name);
		else
			json_skip(r);
	}
}

/* Reads an element of the list. Returns true, and adds its names to *to, if it has the id. */
static bool read_podman_container(struct json_reader *r, const char *id, struct container_names *to)
{
	char key[16], is[CONTAINER_NAME_SIZE] = "", metadata[4096];
	struct container_names names = {0};

	if (!json_open(r, '{')) {
		json_skip(r);
		return false;
	}
	while (json_next_member(r, key, sizeof(key))) {
		if (strcmp(key, "names") == 0)
			read_first_name(r, &names);
		else if (strcmp(key, "metadata") == 0 &&
			 json_take_string(r, metadata, sizeof(metadata)))
			read_podman_metadata(metadata, &names);
		else if (strcmp(key, "id") != 0 || !json_take_string(r, is, sizeof(is)))
			json_skip(r);
	}
	if (strcmp(is, id) != 0)
		return false;
	set_name_if_unset(to->name, names.name);
	set_name_if_unset(to->image, names.image);
	return true;
}

static bool parse_podman(struct json_reader *r, const char *id, struct container_names *to)
{
	bool found = false;

	if (!json_open(r, '['))
		return false;
	while (json_next_element(r))
		found |= read_podman_container(r, id, to);
	return json_end(r) && found;
}

static bool parse_machine(struct span text, struct container_names *to)
{
	char name[CONTAINER_NAME_SIZE];
	struct span line;

	while (span_next_line(&text, &line)) {
		if (line.len <= strlen("NAME=") || memcmp(line.p, "NAME=", strlen("NAME=")) != 0 ||
		    line.len - strlen("NAME=") >= sizeof(name))
			continue;
		memcpy(name, line.p + strlen("NAME="), line.len - strlen("NAME="));
		name[line.len - strlen("NAME=")] = '\0';
		set_name_if_unset(to->name, name);
		return true;
	}
	return false;
}

bool runtime_file_parse(enum runtime_file f, struct span text, const char *id,
			struct container_names *ret)
{
	struct container_names names = *ret;
	struct json_reader r;
	bool good = false;

	json_reader_init(&r, text.p, text.len);
	if (f == RUNTIME_FILE_DOCKER)
		good = parse_docker(&r, &names);
	else if (f == RUNTIME_FILE_OCI)
		good = parse_oci(&r, &names);
	else if (f == RUNTIME_FILE_PODMAN)
		good = parse_podman(&r, id, &names);
	else if (f == RUNTIME_FILE_MACHINE)
		good = parse_machine(text, &names);
	if (good)
		*ret = names;
	return good;
}

/* Cuts the text up to the character off s, as a name. Returns false if there is none. */
static bool cut_name_part(const char **s, char end, char ret[CONTAINER_NAME_SIZE])
{
	const char *at = strchr(*s, end);

	if (!at || (size_t)(at - *s) >= CONTAINER_NAME_SIZE)
		return false;
	memcpy(ret, *s, (size_t)(at - *s));
	ret[at - *s] = '\0';
	*s = at + 1;
	return container_name_is_valid(ret);
}

/* Reads names from a file name like POD_NAMESPACE_CONTAINER-ID.log. Returns true if the id is this
 * one. */
static bool parse_container_log(const char *entry, const char *id, struct container_names *to)
{
	char pod[CONTAINER_NAME_SIZE], namespace[CONTAINER_NAME_SIZE], name[CONTAINER_NAME_SIZE];
	size_t len = strlen(entry), end = strlen(id) + strlen("-.log"), before;

	if (len <= end || !str_ends(entry, ".log") ||
	    strncmp(entry + len - strlen(".log") - strlen(id), id, strlen(id)) != 0 ||
	    entry[len - end] != '-')
		return false;
	if (!cut_name_part(&entry, '_', pod) || !cut_name_part(&entry, '_', namespace) ||
	    strlen(entry) <= end)
		return false;
	before = strlen(entry) - end;
	if (before >= sizeof(name))
		return false;
	memcpy(name, entry, before);
	name[before] = '\0';
	set_name_if_unset(to->pod, pod);
	set_name_if_unset(to->namespace, namespace);
	set_name_if_unset(to->name, name);
	return true;
}

/* Reads names from a directory's name like NAMESPACE_POD_UID. Returns true if the UID is this
 * one. */
static bool parse_pod_log(const char *entry, const char *uid, struct container_names *to)
{
	char namespace[CONTAINER_NAME_SIZE], pod[CONTAINER_NAME_SIZE];

	if (!cut_name_part(&entry, '_', namespace) || !cut_name_part(&entry, '_', pod) ||
	    strcmp(entry, uid) != 0)
		return false;
	set_name_if_unset(to->namespace, namespace);
	set_name_if_unset(to->pod, pod);
	set_pod_uid(to, uid);
	return true;
}

bool runtime_file_parse_entry(enum runtime_file f, const char *entry, const char *id,
			      struct container_names *ret)
{
	if (f == RUNTIME_FILE_CONTAINER_LOGS)
		return parse_container_log(entry, id, ret);
	return f == RUNTIME_FILE_POD_LOGS && parse_pod_log(entry, id, ret);
}
