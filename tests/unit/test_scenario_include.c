/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Topologies in several files, as the commands read them: the names of included files begin at the
 * folder of the first one, and a file that cannot be read is named with the line that asks for it.
 * scenario/fabric/file.h
 */
#include "cmocka_env.h"
#include "scenario/fabric/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static void path_of(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", folder, name);
}

static void file_write(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	path_of(path, sizeof path, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int begin(void **state)
{
	char path[256];

	(void)state;
	snprintf(folder, sizeof folder, "/tmp/verbena-include.XXXXXX");
	assert_non_null(mkdtemp(folder));
	path_of(path, sizeof path, "parts");
	assert_int_equal(mkdir(path, 0700), 0);
	return 0;
}

static int end(void **state)
{
	static const char *const names[] = {"net",  "parts/hosts", "parts/more",
					    "pipe", "parts",       ""};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char path[256];

		path_of(path, sizeof path, names[i]);
		(void)remove(path);
	}
	return 0;
}

static int topology_read(struct vb_topo *topo, char *why, size_t size)
{
	char path[256];

	path_of(path, sizeof path, "net");
	return vb_fabric_read_topology(topo, path, why, size);
}

/* From any folder, also in files that are included themselves, or by the whole path. */
static void topology__of_several_files(void **state)
{
	char text[256], why[256] = "";
	struct vb_topo topo;

	(void)state;
	file_write("parts/hosts", "Ca 1 \"H-0\"\ninclude \"parts/more\"\n");
	file_write("parts/more", "Ca 1 \"H-1\"\n");
	file_write("net", "Switch 4 \"S\"\n[1] \"H-0\"[1]\n[2] \"H-1\"[1]\n"
			  "include \"parts/hosts\"\n");
	if (topology_read(&topo, why, sizeof why))
		fail_msg("%s", why);
	assert_int_equal(topo.node_cnt, 3);
	assert_int_equal(topo.link_cnt, 2);
	vb_topo_free(&topo);

	snprintf(text, sizeof text, "Switch 4 \"S\"\n[2] \"H-1\"[1]\ninclude \"%s/parts/more\"\n",
		 folder);
	file_write("net", text);
	assert_int_equal(topology_read(&topo, why, sizeof why), 0);
	assert_int_equal(topo.node_cnt, 2);
	vb_topo_free(&topo);
}

static void expect_error(const char *text, int err, const char *end_of_why)
{
	char why[512] = "", want[512];
	struct vb_topo topo;

	file_write("net", text);
	assert_int_equal(topology_read(&topo, why, sizeof why), err);
	snprintf(want, sizeof want, "%s/%s", folder, end_of_why);
	assert_string_equal(why, want);
}

/* A folder, or a pipe that nobody writes into; a file that includes itself; what is wrong in
 * a file that is included. */
static void topology__refuses_files(void **state)
{
	char path[256], why[256] = "";
	struct vb_topo topo;

	(void)state;
	path_of(path, sizeof path, "pipe");
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_error("include \"none\"\n", -ENOENT,
		     "net, line 1, column 10: the file \"none\" cannot be read");
	expect_error("\ninclude \"parts\"\n", -EINVAL,
		     "net, line 2, column 10: the file \"parts\" cannot be read");
	expect_error("include \"pipe\"\n", -EINVAL,
		     "net, line 1, column 10: the file \"pipe\" cannot be read");
	file_write("net", "include \"net\"\n");
	assert_int_equal(topology_read(&topo, why, sizeof why), -EINVAL);
	assert_string_equal(
	    why, "net, line 1, column 10: files are included 8 deep and 1024 in all at most");
	file_write("parts/more", "\nCa 1 \"H-1\n");
	file_write("net", "Switch 4 \"S\"\ninclude \"parts/more\"\n");
	assert_int_equal(topology_read(&topo, why, sizeof why), -EINVAL);
	assert_memory_equal(why, "parts/more, line 2, column ", 27);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(topology__of_several_files, begin, end),
	    cmocka_unit_test_setup_teardown(topology__refuses_files, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
