/* SPDX-License-Identifier: MIT */
/* Opens the device, makes one of each object, and sleeps: app_device_idle SECONDS. */
#include "tests/lib/c/rc.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct end *e = end_local();

	end_open(e);
	if (end_create(e, &rc_defaults))
		die("cannot create a QP");
	printf("ready\n");
	fflush(stdout);
	sleep(argc > 1 ? (unsigned int)atoi(argv[1]) : 1);
	return 0;
}
