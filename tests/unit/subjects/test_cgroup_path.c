/* SPDX-License-Identifier: Apache-2.0 */
#include "subjects/cgroup_path.h"
#include "unit/test.h"

#define A64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B64 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "11111111-2222-3333-4444-555555555555"
#define UID_ "11111111_2222_3333_4444_555555555555"
#define HASH "0123456789abcdef0123456789abcdef"

/* kind, runtime, container, unit, pod uid, user; the fields that are missing are empty. */
static const struct {
	const char *path, *said;
} paths[] = {
	{"/", "group"},
	{"/system.slice", "slice"},
	{"/system.slice/nginx.service", "unit unit=nginx.service"},
	{"/system.slice/nginx.service/worker", "unit unit=nginx.service"},
	{"/system.slice/system-getty.slice/getty@tty1.service", "unit unit=getty@tty1.service"},
	{"/system.slice/dev-disk\\x2d1.service", "unit unit=dev-disk\\x2d1.service"},
	{"/init.scope", "unit unit=init.scope"},
	{"/user.slice/user-1000.slice/session-3.scope", "unit unit=session-3.scope"},
	{"/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-xterm-1.scope",
	 "unit unit=app-gnome-xterm-1.scope user=1000"},
	{"/user.slice/user-1000.slice/user@1000.service/app.slice", "slice user=1000"},
	/* docker */
	{"/docker/" A64, "container docker id=" A64},
	{"/docker/" A64 "/sub/group", "container docker id=" A64},
	{"/docker/" A64 "/system.slice/cron.service",
	 "container docker id=" A64 " unit=cron.service"},
	{"/docker", "group"},
	{"/docker/0123", "group guess=docker/0123"},
	{"/system.slice/docker-" A64 ".scope", "container docker id=" A64},
	{"/user.slice/user-7.slice/user@7.service/user.slice/docker-" A64 ".scope",
	 "container docker id=" A64 " user=7"},
	{"/docker/buildkit/abcdef", "container buildkit id=abcdef"},
	/* the outermost container */
	{"/docker/" A64 "/docker/" B64, "container docker id=" A64},
	{"/docker/" A64 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
	 ".slice/cri-containerd-" B64 ".scope",
	 "container docker id=" A64 " unit=cri-containerd-" B64 ".scope"},
	{"/machine.slice/systemd-nspawn@web.service/payload/system.slice/nginx.service",
	 "container nspawn id=web unit=nginx.service"},
	/* Kubernetes */
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	 ".slice/cri-containerd-" A64 ".scope",
	 "container cri-containerd id=" A64 " pod=" UID},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" A64 ".scope/container",
	 "container cri-o id=" A64 " pod=" UID},
	{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice",
	 "pod pod=" UID},
	{"/kubepods.slice/kubepods-pod" HASH ".slice/docker-" A64 ".scope",
	 "container docker id=" A64 " pod=" HASH},
	{"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
	 ".slice/cri-containerd-" A64 ".scope",
	 "container cri-containerd id=" A64 " pod=" UID},
	{"/kubepods/burstable/pod" UID "/" A64, "container kubernetes id=" A64 " pod=" UID},
	{"/kubepods/pod" UID "/" A64, "container kubernetes id=" A64 " pod=" UID},
	{"/kubepods/pod" UID, "pod pod=" UID},
	{"/kubepods/burstable", "group guess=kubepods/burstable"},
	{"/kubepods.slice/kubepods-podNOT_A_UID.slice", "slice"},
	{"/kubepods.slice/kubepods-pod.slice", "slice"},
	{"/system.slice/crio-conmon-" A64 ".scope", "unit unit=crio-conmon-" A64 ".scope"},
	/* podman */
	{"/machine.slice/libpod-" A64 ".scope/container", "container podman id=" A64},
	{"/machine.slice/libpod-conmon-" A64 ".scope", "unit unit=libpod-conmon-" A64 ".scope"},
	{"/machine.slice/machine-libpod_pod_" B64 ".slice", "pod"},
	{"/machine.slice/machine-libpod_pod_" B64 ".slice/libpod-" A64 ".scope",
	 "container podman id=" A64},
	{"/libpod_parent/libpod-" A64, "container podman id=" A64},
	{"/system.slice/web.service/libpod-payload-" A64,
	 "container podman id=" A64 " unit=web.service"},
	{"/system.slice/web.service/runtime", "unit unit=web.service"},
	{"/user.slice/user-7.slice/user@7.service/user.slice/libpod-" A64 ".scope/container",
	 "container podman id=" A64 " user=7"},
	/* the rest */
	{"/default/my container", "group guess=default/my container"},
	{"/default/my/sub", "group guess=default/my"},
	{"/system.slice/nerdctl-" A64 ".scope", "container containerd id=" A64},
	{"/lxc.payload.web", "container lxc id=web"},
	{"/lxc.payload.web/system.slice/cron.service", "container lxc id=web unit=cron.service"},
	{"/lxc.monitor.web", "group"},
	{"/lxc/104", "container lxc id=104"},
	{"/lxc/104/ns", "container lxc id=104"},
	{"/machine.slice/systemd-nspawn@web.service/payload", "container nspawn id=web"},
	{"/machine.slice/systemd-nspawn@web.service/supervisor",
	 "unit unit=systemd-nspawn@web.service"},
	{"/machine.slice/machine-web\\x2d1.scope/payload", "container nspawn id=web\\x2d1"},
	{"/machine.slice/machine-qemu\\x2d1\\x2dvm\\x2da.scope/libvirt/vcpu0",
	 "machine libvirt id=vm\\x2da"},
	{"/machine.slice/machine-qemu\\x2d12.scope", "machine libvirt id=12"},
};

static void put(char *to, const char *key, struct span s)
{
	if (s.len)
		sprintf(to + strlen(to), " %s=%.*s", key, (int)s.len, s.p);
}

TEST(what_paths_say)
{
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct cgroup_place p;
		char said[512] = "";

		cgroup_path_parse(paths[i].path, &p);
		strcpy(said, cgroup_kind_name(p.kind));
		if (p.is_guess) {
			put(said, "guess", p.namespace);
			sprintf(said + strlen(said), "/%.*s", (int)p.container.len, p.container.p);
		} else {
			if (p.runtime)
				sprintf(said + strlen(said), " %s", cgroup_runtime_name(p.runtime));
			put(said, "id", p.container);
		}
		put(said, "unit", p.unit);
		put(said, "pod", (struct span){p.pod_uid, strlen(p.pod_uid)});
		if (p.uid)
			sprintf(said + strlen(said), " user=%u", p.uid);
		if (strcmp(said, paths[i].said) != 0)
			fail_msg("%s: \"%s\", not \"%s\"", paths[i].path, said, paths[i].said);
	}
}

/* Names are bytes: the parser must neither read beyond them nor take them for something else. */
TEST(odd_paths)
{
	static const char *const odd[] = {"//",
					  "/a//b",
					  "/\xff\xfe/\n",
					  "/ docker-.scope",
					  "/docker-" A64,
					  "/pod",
					  "/machine.slice/machine-.scope",
					  "/user@99999999999.service",
					  "/user@x.service"};
	static char deep[4096];
	struct cgroup_place p;

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		cgroup_path_parse(odd[i], &p);
		assert_true(p.kind != CGROUP_CONTAINER);
		assert_int_equal(p.uid, 0);
	}
	for (size_t i = 0; i + 2 < sizeof(deep); i += 2)
		memcpy(deep + i, "/d", 2);
	cgroup_path_parse(deep, &p);
	assert_int_equal(p.kind, CGROUP_OTHER);
}

TEST(escapes_of_systemd)
{
	static const struct {
		const char *escaped, *plain;
	} names[] = {{"a", "a"},
		     {"a\\x2db", "a-b"},
		     {"\\x2d", "-"},
		     {"a\\x2", "a\\x2"},
		     {"\\xzz", "\\xzz"}};
	char out[16];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct span s = {names[i].escaped, strlen(names[i].escaped)};

		assert_true(cgroup_path_unescape(s, out, sizeof(out)));
		assert_string_equal(out, names[i].plain);
	}
	assert_false(cgroup_path_unescape((struct span){A64, 64}, out, sizeof(out)));
}
