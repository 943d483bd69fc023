/* SPDX-License-Identifier: MIT */
/* Whether the file of a fabric's socket is still its own. */
#include "fabric/server/server.h"
#include "tests/lib/c/cu.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/rdmaemu-socket-watch.XXXXXX";

static void file_make(const char *path, struct stat *st)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	CU_ASSERT_TRUE_FATAL(fd >= 0 && !fstat(fd, st));
	close(fd);
}

static void test_a_file_is_its_owners_until_removed_or_replaced(void)
{
	struct stat own, other;

	file_make("socket", &own);
	CU_ASSERT_TRUE(server_file_is_own("socket", &own));
	file_make("other", &other);
	CU_ASSERT_FALSE(server_file_is_own("other", &own));
	CU_ASSERT_EQUAL(rename("other", "socket"), 0);
	CU_ASSERT_FALSE(server_file_is_own("socket", &own));
	CU_ASSERT_TRUE(server_file_is_own("socket", &other));
	CU_ASSERT_EQUAL(unlink("socket"), 0);
	CU_ASSERT_FALSE(server_file_is_own("socket", &other));
}

/* "." leads to a directory that was removed, as a path may lead to a file during its removal. */
static void test_a_path_that_leads_to_a_removed_file_is_nobodys(void)
{
	struct stat own;

	CU_ASSERT_EQUAL_FATAL(stat(".", &own), 0);
	CU_ASSERT_TRUE(server_file_is_own(".", &own));
	CU_ASSERT_EQUAL_FATAL(rmdir(dir), 0);
	CU_ASSERT_EQUAL_FATAL(stat(".", &own), 0);
	CU_ASSERT_FALSE(server_file_is_own(".", &own));
	CU_ASSERT_EQUAL(chdir("/"), 0);
}

static const struct cu_test tests[] = {
	{ "a file is its owner's until it is removed or replaced",
	  test_a_file_is_its_owners_until_removed_or_replaced },
	{ "a path that leads to a removed file is nobody's",
	  test_a_path_that_leads_to_a_removed_file_is_nobodys },
	{ NULL, NULL },
};

int main(void)
{
	if (!mkdtemp(dir) || chdir(dir)) {
		perror(dir);
		return 1;
	}
	return cu_run("socket_watch", tests);
}
