/* SPDX-License-Identifier: Apache-2.0 */
/* The files of runtimes: short ones in their formats, and hostile ones. */
#include "subjects/runtime_files.h"
#include "unit/test.h"

#define A64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "11111111-2222-3333-4444-555555555555"
#define JSON_A64 "\"" A64 "\""

/* said: name|image|pod|namespace|pod uid; NULL: the container is not in the file. */
static const struct {
	enum runtime_file file;
	const char *text, *said;
} files[] = {
	{RUNTIME_FILE_DOCKER,
	 "{\"StreamConfig\":{},\"State\":{\"Running\":true,\"Pid\":1},\"ID\":" JSON_A64
	 ",\"Path\":\"/bin/"
	 "sh\",\"Args\":[\"-c\"],\"Config\":{\"Hostname\":\"h\",\"Image\":\"nginx:1\","
	 "\"Labels\":{\"io.kubernetes.pod.name\":\"spoofed\",\"maintainer\":\"x\"}},\"Name\":\"/"
	 "web\"}",
	 "web|nginx:1|||"},
	{RUNTIME_FILE_DOCKER,
	 "{\"Name\":\"/"
	 "k8s_app_p_n_u_0\",\"Config\":{\"Labels\":{\"io.kubernetes.container.name\":\"app\","
	 "\"io.kubernetes.pod.name\":\"p\",\"io.kubernetes.pod.namespace\":\"n\","
	 "\"io.kubernetes.pod.uid\":\"" UID "\"},\"Image\":\"sha256:1\"}}",
	 "app|sha256:1|p|n|" UID},
	{RUNTIME_FILE_DOCKER, "{\"Name\":\"/web\",\"Config\":null}", "web||||"},
	{RUNTIME_FILE_DOCKER, "{\"Name\":\"/we\\u001b[31mb\",\"Config\":{\"Image\":\"i\"}}",
	 "|i|||"},
	{RUNTIME_FILE_DOCKER, "{\"Name\":[\"/web\"],\"Config\":[]}", "||||"},
	{RUNTIME_FILE_DOCKER, "{\"Name\":\"/web\"", NULL}, /* it is being written */
	{RUNTIME_FILE_DOCKER, "", NULL},
	{RUNTIME_FILE_DOCKER, "null", NULL},
	{RUNTIME_FILE_OCI,
	 "{\"ociVersion\":\"1.0.2\",\"process\":{\"args\":[\"a\"]},\"annotations\":{"
	 "\"io.kubernetes.cri.container-name\":\"app\",\"io.kubernetes.cri.container-type\":"
	 "\"container\","
	 "\"io.kubernetes.cri.image-name\":\"reg/app:2\",\"io.kubernetes.cri.sandbox-id\":\"x\","
	 "\"io.kubernetes.cri.sandbox-name\":\"p-1\",\"io.kubernetes.cri.sandbox-namespace\":"
	 "\"prod\","
	 "\"io.kubernetes.cri.sandbox-uid\":\"" UID "\"},\"linux\":{\"cgroupsPath\":\"/x\"}}",
	 "app|reg/app:2|p-1|prod|" UID},
	{RUNTIME_FILE_OCI,
	 "{\"annotations\":{\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod.name\":"
	 "\"p\","
	 "\"io.kubernetes.pod.namespace\":\"n\",\"io.kubernetes.cri-o.ImageName\":\"i\","
	 "\"io.kubernetes.cri-o.Labels\":\"{}\"}}",
	 "app|i|p|n|"},
	{RUNTIME_FILE_OCI, "{\"annotations\":{\"nerdctl/name\":\"n1\"}}", "n1||||"},
	{RUNTIME_FILE_OCI, "{\"hostname\":\"x\"}", "||||"},
	{RUNTIME_FILE_PODMAN,
	 "[{\"id\":\"other\",\"names\":[\"other\"],\"metadata\":\"{}\"},{\"id\":" JSON_A64
	 ",\"names\":[\"db\",\"alias\"],\"image\":\"digest\",\"layer\":\"l\",\"metadata\":"
	 "\"{\\\"image-name\\\":\\\"postgres:16\\\",\\\"name\\\":\\\"db\\\"}\",\"created\":"
	 "\"2026\"}]",
	 "db|postgres:16|||"},
	{RUNTIME_FILE_PODMAN, "[{\"names\":[\"db\"],\"metadata\":\"{\",\"id\":" JSON_A64 "}]",
	 "db||||"},
	{RUNTIME_FILE_PODMAN, "[{\"id\":\"other\"}]", NULL},
	{RUNTIME_FILE_PODMAN, "[1,[],\"x\"]", NULL},
	{RUNTIME_FILE_MACHINE, "# a comment\nNAME=web-1\nSCOPE=machine-web.scope\nLEADER=12\n",
	 "web-1||||"},
	{RUNTIME_FILE_MACHINE, "SCOPE=x\nNAME=", NULL},
};

static void say(const struct container_names *n, char *to)
{
	sprintf(to, "%s|%s|%s|%s|%s", n->name, n->image, n->pod, n->namespace, n->pod_uid);
}

TEST(what_files_say)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct span text = {files[i].text, strlen(files[i].text)};
		struct container_names n = {0};
		char said[1200];
		bool found = runtime_file_parse(files[i].file, text, A64, &n);

		say(&n, said);
		if (found != (files[i].said != NULL) || strcmp(said, files[i].said ?: "||||") != 0)
			fail_msg("%s: %d \"%s\"", files[i].text, found, said);
	}
}

TEST(what_file_names_say)
{
	static const struct {
		enum runtime_file file;
		const char *entry, *id, *said;
	} entries[] = {
		{RUNTIME_FILE_CONTAINER_LOGS, "pod-1_prod_app-2-" A64 ".log", A64,
		 "app-2||pod-1|prod|"},
		{RUNTIME_FILE_CONTAINER_LOGS, "pod-1_prod_app-" A64 ".log", UID, NULL},
		{RUNTIME_FILE_CONTAINER_LOGS, "prod_app-" A64 ".log", A64, NULL},
		{RUNTIME_FILE_CONTAINER_LOGS, "-" A64 ".log", A64, NULL},
		{RUNTIME_FILE_CONTAINER_LOGS, "_-" A64 ".log", A64, NULL},
		{RUNTIME_FILE_CONTAINER_LOGS, "a_b-" A64 ".log", A64, NULL},
		{RUNTIME_FILE_CONTAINER_LOGS, A64 ".log", A64, NULL},
		{RUNTIME_FILE_CONTAINER_LOGS, ".log", "", NULL},
		{RUNTIME_FILE_POD_LOGS, "prod_pod-1_" UID, UID, "||pod-1|prod|" UID},
		{RUNTIME_FILE_POD_LOGS, "prod_pod-1_" UID "x", UID, NULL},
		{RUNTIME_FILE_POD_LOGS, "prod_" UID, UID, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		struct container_names n = {0};
		char said[1200];
		bool found = runtime_file_parse_entry(entries[i].file, entries[i].entry,
						      entries[i].id, &n);

		say(&n, said);
		if (found != (entries[i].said != NULL) ||
		    strcmp(said, entries[i].said ?: "||||") != 0)
			fail_msg("%s: %d \"%s\"", entries[i].entry, found, said);
	}
}

/* What an earlier file has said stays. */
TEST(names_of_several_files)
{
	static const char text[] = "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"x\","
				   "\"io.kubernetes.cri.image-name\":\"image\"}}";
	struct container_names n = {.name = "app"};
	char said[1200];

	assert_true(
		runtime_file_parse(RUNTIME_FILE_OCI, (struct span){text, strlen(text)}, A64, &n));
	say(&n, said);
	assert_string_equal(said, "app|image|||");
}

TEST(which_names_are_valid)
{
	char longest[CONTAINER_NAME_SIZE + 1];

	assert_true(container_name_is_valid("web"));
	assert_true(container_name_is_valid("b\u00fccher \U0001f600"));
	assert_false(container_name_is_valid(""));
	assert_false(container_name_is_valid("a\nb"));
	assert_false(container_name_is_valid("\x1b[31m"));
	assert_false(container_name_is_valid("\xff"));
	assert_false(container_name_is_valid("a\u202e"
					     "b"));
	memset(longest, 'x', sizeof(longest));
	longest[256] = '\0';
	assert_true(container_name_is_valid(longest));
	longest[256] = 'x';
	longest[257] = '\0';
	assert_false(container_name_is_valid(longest));
}

TEST(paths_of_files)
{
	struct container_key k = {
		.kind = CGROUP_CONTAINER, .runtime = RUNTIME_PODMAN, .uid = 7, .id = A64};
	char path[256], small[32];
	unsigned n = 0, n_home = 0;
	enum runtime_file f;

	while ((f = runtime_file_path(&k, n, "/r", "/home/u", path, sizeof(path)))) {
		assert_int_equal(f, RUNTIME_FILE_PODMAN);
		n_home += strncmp(path, "/r/home/u/.local/share/containers/", 34) == 0;
		n++;
	}
	assert_int_equal(n, 7);
	assert_int_equal(n_home, 3);
	k.runtime = RUNTIME_DOCKER;
	assert_int_equal(runtime_file_path(&k, 1, "", "", path, sizeof(path)), RUNTIME_FILE_DOCKER);
	assert_string_equal(path, "/var/lib/docker/containers/" A64 "/config.v2.json");
	assert_int_equal(runtime_file_path(&k, 1, "", "", small, sizeof(small)),
			 RUNTIME_FILE_DOCKER);
	assert_string_equal(small, "");
	/* A group may have such names; no path has them as a part. */
	static const char *const elsewhere[] = {"..", ".", "a/b", ""};
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++) {
		strcpy(k.id, elsewhere[i]);
		runtime_file_path(&k, 1, "", "", path, sizeof(path));
		assert_string_equal(path, "");
	}
	k = (struct container_key){
		.kind = CGROUP_CONTAINER, .runtime = RUNTIME_CONTAINERD, .id = "c"};
	runtime_file_path(&k, 0, "", "", path, sizeof(path));
	assert_string_equal(path,
			    "/run/containerd/io.containerd.runtime.v2.task/default/c/config.json");
	k = (struct container_key){.kind = CGROUP_POD, .runtime = RUNTIME_KUBERNETES, .id = UID};
	assert_int_equal(runtime_file_path(&k, 0, "", "", path, sizeof(path)),
			 RUNTIME_FILE_POD_LOGS);
	assert_int_equal(runtime_file_path(&k, 1, "", "", path, sizeof(path)), RUNTIME_FILE_NONE);
	k.kind = CGROUP_CONTAINER;
	k.runtime = 99;
	assert_int_equal(runtime_file_path(&k, 0, "", "", path, sizeof(path)), RUNTIME_FILE_NONE);
}
