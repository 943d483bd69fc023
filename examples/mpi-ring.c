/* SPDX-License-Identifier: MIT */
/*
 * Each process sends messages of growing size to the next one of a ring and checks what it
 * receives from the previous one; then all add up their ranks. docs/guide/applications.md
 * starts it with Open MPI and MPICH.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (1 << 20)

/* Whether `size` bytes from the previous process are those that it sent. */
static int ring_pass(char *out, char *in, int size, int rank, int ranks)
{
	int from = (rank + ranks - 1) % ranks;

	memset(out, rank + 1, size);
	memset(in, 0, size);
	MPI_Sendrecv(out, size, MPI_CHAR, (rank + 1) % ranks, 0, in, size, MPI_CHAR, from, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < size; i++)
		if (in[i] != (char)(from + 1))
			return 0;
	return 1;
}

int main(int argc, char **argv)
{
	int rank, ranks, good = 1, all_good, sum;
	char *out = malloc(MAX_BYTES), *in = malloc(MAX_BYTES);

	if (!out || !in)
		return 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int size = 1; size <= MAX_BYTES; size *= 4)
		good &= ring_pass(out, in, size, rank, ranks);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	good &= sum == ranks * (ranks - 1) / 2;
	MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	if (rank == 0)
		printf("ring of %d: %s\n", ranks, all_good ? "good" : "bad data");
	MPI_Finalize();
	free(out);
	free(in);
	return !all_good;
}
