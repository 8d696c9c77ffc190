/* A client program, built against the files of `make install`: prints the peak in bytes. */
#include <inttypes.h>
#include <stdio.h>

#include <gpuprof.h>

int main(int argc, char **argv)
{
	struct gp_recording *recording;
	struct gp_damage why;
	struct gp_peak peak;
	if (argc != 2 || gp_recording_open(argv[1], &recording, &why) != GP_OK)
		return 1;
	if (gp_peak_build(recording, GP_AT_PEAK, 0, &peak) != GP_OK || peak.holders == 0)
		return 2;
	printf("%" PRIu64 "\n", peak.holder[0].peak_bytes);
	gp_peak_free(&peak);
	gp_recording_close(recording);
	return 0;
}
